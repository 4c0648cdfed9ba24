"""Workloads drawn at random, to fit models on. Their families are kinds of work, and no other suite has them."""

from __future__ import annotations

import math

import numpy as np

from gpoeo_env.errors import UsageError
from gpoeo_env.sim.phases import Mix
from gpoeo_env.sim.suites.recipe import Recipe, phases_of
from gpoeo_env.sim.workloads import Workload

__all__ = ["drawn_workloads"]

FAMILIES = ("matrix", "stencil", "elementwise", "gather", "small kernels", "fed by the host")
"""What most of an iteration is; drawn workloads take them in turn."""


def drawn_workloads(n: int, seed: int) -> tuple[Workload, ...]:
    """Draw workloads.

    Args:
        n: how many; 1 or more.
        seed: 0 or more; equal seeds give equal workloads, and more of them begin with the same ones.

    Raises:
        UsageError: ``n`` or ``seed`` is out of its range.
    """
    if n < 1 or seed < 0:
        raise UsageError(f"draw 1 workload or more with a seed of 0 or more; got n={n}, seed={seed}")
    return tuple(_drawn(index, seed) for index in range(n))


def _drawn(index: int, seed: int) -> Workload:
    rng = np.random.default_rng([seed, index])
    family = FAMILIES[index % len(FAMILIES)]
    return Workload(
        name=f"drawn-{seed}-{index:03d}",
        family=f"drawn {family}",
        phases=phases_of(_recipe(family, rng)),
        jitter=rng.uniform(0.0, 0.03),
    )


def _recipe(family: str, rng: np.random.Generator) -> Recipe:
    """Draw one: a length, how it splits between the parts of the GPU and the host, and what its pipes do."""
    gpu_s = math.exp(rng.uniform(math.log(0.02), math.log(0.6)))
    compute, onchip, memory = _balance(family, rng)
    launch, stall = _host(family, rng)
    return Recipe(
        gpu_s=gpu_s,
        balance=(compute, onchip, memory),
        mix=_mix(family, rng),
        launch_s=gpu_s * launch,
        stall_s=gpu_s * stall,
        wait_s=gpu_s * _sometimes(0.2, rng.uniform(0.0, 0.3), rng),
        evaluate_every=int(_sometimes(0.3, rng.uniform(4.0, 50.0), rng)),
        overlap=rng.uniform(0.35, 0.75),
        host_overlap=rng.uniform(0.25, 0.7),
        pcie_mb=math.exp(rng.uniform(math.log(0.1), math.log(100))),
    )


def _balance(family: str, rng: np.random.Generator) -> tuple[float, float, float]:
    if family == "matrix":
        return 1.0, rng.uniform(0.2, 0.8), rng.uniform(0.1, 0.8)
    if family in ("elementwise", "gather"):
        return rng.uniform(0.15, 0.7), rng.uniform(0.2, 0.8), 1.0
    return rng.uniform(0.3, 1.0), rng.uniform(0.2, 0.9), rng.uniform(0.1, 1.0)


def _host(family: str, rng: np.random.Generator) -> tuple[float, float]:
    """Return launches and stalls relative to GPU time."""
    if family == "fed by the host":
        return rng.uniform(0.0, 0.5), rng.uniform(0.2, 3.0)
    if family == "small kernels":
        return rng.uniform(0.2, 1.2), _sometimes(0.5, rng.uniform(0.0, 0.5), rng)
    return rng.uniform(0.0, 0.15), _sometimes(0.3, rng.uniform(0.0, 0.3), rng)


def _sometimes(probability: float, value: float, rng: np.random.Generator) -> float:
    return value if rng.random() < probability else 0.0


def _mix(family: str, rng: np.random.Generator) -> Mix:
    most_tensor = {"matrix": 0.8, "stencil": 0.5, "small kernels": 0.4}.get(family, 0.2)
    is_small = family in ("small kernels", "fed by the host")
    return Mix(
        tensor=rng.uniform(0.0, most_tensor),
        fp32=rng.uniform(0.05, 0.5),
        fp16=_sometimes(0.3, rng.uniform(0.0, 0.15), rng),
        integer=rng.uniform(0.05, 0.4),
        onchip=rng.uniform(0.3, 0.8),
        bandwidth=rng.uniform(0.75, 0.95),
        occupancy=rng.uniform(0.15, 0.7),
        fill=rng.uniform(0.4, 0.9) if is_small else rng.uniform(0.75, 1.0),
        l1_hit=rng.uniform(0.1, 0.8),
        toggling=math.exp(rng.normal(0.0, 0.05)),
    )
