"""Simulated training workloads: what one iteration asks of the GPU, at the top clocks and without a power limit.

The named ones are plausible for training jobs of that name on a 350 W consumer card; they are not measurements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gpoeo_env.errors import UsageError

__all__ = ["Workload", "demo_workloads", "training_workloads"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One training loop; a unit of its work is one iteration.

    Attributes:
        name: unique within a device.
        compute_s: busy time of the arithmetic pipes in an iteration; positive.
        memory_s: busy time of DRAM.
        host_s: time of the host's own part: data, launches, synchronisation.
        overlap: how well compute and memory overlap, 0 (one after the other) to below 1 (the longer one counts).
        host_overlap: likewise, GPU and host.
        activity: share of the GPU's switching power that the pipes draw while they compute.
        bandwidth: share of peak bandwidth that DRAM reaches while it moves bytes.
        tensor: tensor pipe utilisation while computing.
        fp32: FP32 pipe utilisation while computing.
        occupancy: resident warps while a kernel runs, relative to the maximum.
        sm_fill: share of the SMs that a kernel fills.
        pcie_bytes: bytes received from the host in an iteration.
        power_swing: by how much power in the first half of the busy time lies above its mean, and in the second
            half below it, relative to what the work draws.
    """

    name: str
    compute_s: float
    memory_s: float
    host_s: float
    overlap: float
    host_overlap: float
    activity: float
    bandwidth: float
    tensor: float
    fp32: float
    occupancy: float
    sm_fill: float
    pcie_bytes: float
    power_swing: float

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            UsageError: one is out of its range.
        """
        if not (math.isfinite(self.compute_s) and self.compute_s > 0):
            raise UsageError(f"workload {self.name!r}: compute_s is a positive number; got {self.compute_s:g}")
        for name in ("memory_s", "host_s", "pcie_bytes"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise UsageError(f"workload {self.name!r}: {name} is 0 or more; got {value:g}")
        for name in ("activity", "bandwidth", "tensor", "fp32", "occupancy", "sm_fill"):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise UsageError(f"workload {self.name!r}: {name} is a fraction, 0 to 1; got {value:g}")
        for name in ("overlap", "host_overlap", "power_swing"):
            value = getattr(self, name)
            if not 0.0 <= value < 1.0:
                raise UsageError(f"workload {self.name!r}: {name} is a fraction, 0 <= {name} < 1; got {value:g}")


def demo_workloads() -> tuple[Workload, ...]:
    """Return named workloads from compute-bound over memory-bound to host-bound."""
    return (
        # Dense matrix products on the tensor cores, long kernels.
        _demo(
            "bert-base", (0.270, 0.120, 0.006), (0.65, 0.5), (0.80, 0.62, 0.16), (0.40, 0.98), pcie_mb=0.4, swing=0.20
        ),
        _demo(
            "gpt2-small", (0.380, 0.230, 0.008), (0.60, 0.5), (0.74, 0.55, 0.18), (0.36, 0.97), pcie_mb=0.3, swing=0.25
        ),
        # Convolutions with much activation traffic.
        _demo("resnet50", (0.145, 0.110, 0.010), (0.60, 0.6), (0.66, 0.42, 0.24), (0.45, 0.96), pcie_mb=40, swing=0.25),
        _demo("unet3d", (0.520, 0.430, 0.030), (0.55, 0.5), (0.72, 0.34, 0.42), (0.48, 0.95), pcie_mb=60, swing=0.30),
        # Depthwise convolutions and message passing: little arithmetic for the bytes.
        _demo(
            "mobilenet", (0.060, 0.120, 0.012), (0.65, 0.6), (0.42, 0.12, 0.34), (0.55, 0.92), pcie_mb=40, swing=0.15
        ),
        _demo("gcn", (0.032, 0.092, 0.010), (0.55, 0.4), (0.34, 0.02, 0.30), (0.52, 0.88), pcie_mb=1, swing=0.20),
        # Small kernels one after the other, launched by the host.
        _demo("lstm", (0.090, 0.085, 0.045), (0.45, 0.4), (0.40, 0.20, 0.26), (0.22, 0.62), pcie_mb=0.6, swing=0.15),
        _demo("dcgan", (0.036, 0.026, 0.022), (0.50, 0.5), (0.52, 0.18, 0.34), (0.34, 0.78), pcie_mb=6, swing=0.30),
        # The host feeds the GPU.
        _demo("dlrm", (0.016, 0.042, 0.058), (0.50, 0.6), (0.30, 0.04, 0.22), (0.38, 0.72), pcie_mb=30, swing=0.10),
        _demo("ppo", (0.030, 0.004, 0.110), (0.40, 0.3), (0.36, 0.05, 0.28), (0.20, 0.45), pcie_mb=2, swing=0.10),
    )


def training_workloads(n: int, seed: int) -> tuple[Workload, ...]:
    """Draw workloads to fit models on; names and numbers share nothing with `demo_workloads`.

    Args:
        n: how many; 1 or more.
        seed: 0 or more; equal seeds give equal workloads.

    Raises:
        UsageError: ``n`` or ``seed`` is out of its range.
    """
    if n < 1 or seed < 0:
        raise UsageError(f"draw 1 workload or more with a seed of 0 or more; got n={n}, seed={seed}")
    rng = np.random.default_rng(seed)
    return tuple(_drawn(f"drawn-{seed}-{index:03d}", rng) for index in range(n))


def _demo(
    name: str,
    seconds: tuple[float, float, float],
    overlaps: tuple[float, float],
    pipes: tuple[float, float, float],
    fill: tuple[float, float],
    *,
    pcie_mb: float,
    swing: float,
) -> Workload:
    """Build a workload from one line of numbers.

    Args:
        name: its name.
        seconds: compute, memory and host.
        overlaps: compute with memory, GPU with host.
        pipes: switching activity, tensor and FP32 utilisation while computing.
        fill: occupancy, share of the SMs.
        pcie_mb: megabytes from the host in an iteration.
        swing: of power within an iteration.
    """
    return Workload(
        name=name,
        compute_s=seconds[0],
        memory_s=seconds[1],
        host_s=seconds[2],
        overlap=overlaps[0],
        host_overlap=overlaps[1],
        activity=pipes[0],
        bandwidth=0.92,
        tensor=pipes[1],
        fp32=pipes[2],
        occupancy=fill[0],
        sm_fill=fill[1],
        pcie_bytes=1e6 * pcie_mb,
        power_swing=swing,
    )


def _drawn(name: str, rng: np.random.Generator) -> Workload:
    """Draw one workload: a length, how it splits between compute, memory and host, and what its pipes do."""
    gpu_s = math.exp(rng.uniform(math.log(0.03), math.log(0.6)))
    compute_share = rng.beta(1.3, 1.0)
    host_share = rng.choice([rng.uniform(0.0, 0.1), rng.uniform(0.1, 0.8)], p=[0.6, 0.4])
    tensor, fp32 = rng.uniform(0.0, 0.7), rng.uniform(0.05, 0.5)
    # Pipes that work switch; what the counters do not see (caches, integer, registers) varies.
    activity = 0.15 + 0.75 * tensor + 0.5 * fp32 + rng.normal(0.0, 0.06)
    return Workload(
        name=name,
        compute_s=gpu_s * max(0.05, compute_share),
        memory_s=gpu_s * max(0.05, 1.0 - compute_share),
        host_s=gpu_s * host_share / (1.0 - host_share),
        overlap=rng.uniform(0.3, 0.75),
        host_overlap=rng.uniform(0.2, 0.7),
        activity=float(np.clip(activity, 0.1, 0.9)),
        bandwidth=rng.uniform(0.82, 0.96),
        tensor=tensor,
        fp32=fp32,
        occupancy=rng.uniform(0.15, 0.7),
        sm_fill=rng.uniform(0.4, 1.0),
        pcie_bytes=math.exp(rng.uniform(math.log(1e5), math.log(1e8))),
        power_swing=rng.uniform(0.05, 0.35),
    )
