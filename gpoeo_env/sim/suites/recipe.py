"""How a training iteration is made of phases: input, forward pass, backward pass, optimiser, waiting, evaluation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gpoeo_env.sim.phases import Mix, Phase

__all__ = ["Recipe", "phases_of"]

FORWARD, BACKWARD, OPTIMISER = 0.33, 0.60, 0.07
"""Shares of an iteration's GPU time: the backward pass computes two gradients for each forward product."""
BACKWARD_MEMORY = 1.15
"""DRAM time of the backward pass relative to its share: it reads what the forward pass has stored."""
EVALUATION_STEPS = 3.0
"""Length of an evaluation in forward passes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One line of numbers that describes a training loop.

    Attributes:
        gpu_s: seconds of the busiest GPU part in an iteration.
        balance: compute, on-chip and DRAM time relative to each other.
        mix: what the busy parts do.
        launch_s: host time that runs beside the kernels (launches, synchronisation).
        stall_s: time in which the GPU waits for input.
        wait_s: time in which it waits for other ranks.
        evaluate_every: iterations between two evaluations; 0 = never.
        overlap: how well the GPU parts overlap.
        host_overlap: how well launches hide behind kernels.
        pcie_mb: megabytes from the host in an iteration.
    """

    gpu_s: float
    balance: tuple[float, float, float]
    mix: Mix = field(default_factory=Mix)
    launch_s: float = 0.0
    stall_s: float = 0.0
    wait_s: float = 0.0
    evaluate_every: int = 0
    overlap: float = 0.6
    host_overlap: float = 0.5
    pcie_mb: float = 1.0


def phases_of(recipe: Recipe) -> tuple[Phase, ...]:
    """Return the phases of an iteration, in order."""
    largest = max(recipe.balance)
    compute_s, onchip_s, memory_s = (recipe.gpu_s * part / largest for part in recipe.balance)
    step = Phase(
        name="step",
        compute_s=compute_s,
        onchip_s=onchip_s,
        memory_s=memory_s,
        host_s=recipe.launch_s,
        overlap=recipe.overlap,
        host_overlap=recipe.host_overlap,
        mix=recipe.mix,
    )
    phases = [
        _scaled(step, "forward", FORWARD),
        _scaled(step, "backward", BACKWARD, memory=BACKWARD_MEMORY),
        _optimiser(step),
    ]
    if recipe.stall_s:
        phases.insert(0, Phase(name="input", host_s=recipe.stall_s, pcie_bytes=1e6 * recipe.pcie_mb))
    else:
        phases[0] = replace(phases[0], pcie_bytes=1e6 * recipe.pcie_mb)
    if recipe.wait_s:
        phases.append(Phase(name="all-reduce wait", host_s=recipe.wait_s))
    if recipe.evaluate_every:
        evaluation = _scaled(step, "evaluation", FORWARD * EVALUATION_STEPS)
        phases.append(replace(evaluation, every=recipe.evaluate_every))
    return tuple(phases)


def _scaled(step: Phase, name: str, share: float, memory: float = 1.0) -> Phase:
    return replace(
        step,
        name=name,
        compute_s=step.compute_s * share,
        onchip_s=step.onchip_s * share,
        memory_s=step.memory_s * share * memory,
        host_s=step.host_s * share,
    )


def _optimiser(step: Phase) -> Phase:
    """Return the weight update: element by element, and therefore bound by DRAM whatever the model."""
    busiest_s = OPTIMISER * max(step.compute_s, step.onchip_s, step.memory_s)
    mix = replace(step.mix, tensor=0.0, fp16=0.0, fp32=0.25, integer=0.2, occupancy=0.6, l1_hit=0.1)
    return replace(
        step,
        name="optimiser",
        compute_s=0.25 * busiest_s,
        onchip_s=0.3 * busiest_s,
        memory_s=busiest_s,
        host_s=OPTIMISER * step.host_s,
        mix=mix,
    )
