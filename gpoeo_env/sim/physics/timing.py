"""Time of a phase at some clocks.

Compute time is inverse to the SM clock, DRAM time to the memory clock; on-chip time follows the SM clock in part,
because L2 and crossbar have a clock domain of their own. The parts overlap: an iteration holds kernels of many
intensities, so measured curves have no corner where the bound changes.
Every clock is in MHz, float64, any broadcast shape.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.phases import Phase

__all__ = ["PhaseTimes", "blend", "phase_times"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PhaseTimes:
    """Seconds of one phase, each float64 in the shape of the clocks.

    Attributes:
        compute_s: the pipes have instructions.
        onchip_s: L1, shared memory or L2 serve them.
        memory_s: DRAM moves bytes.
        gpu_s: a kernel runs: the three together, overlapped.
        total_s: the whole phase, waiting for the host included.
    """

    compute_s: Array
    onchip_s: Array
    memory_s: Array
    gpu_s: Array
    total_s: Array

    @property
    def busy_frac(self) -> Array:
        """Share of the phase in which a kernel runs."""
        return np.minimum(1.0, self.gpu_s / self.total_s)


def phase_times(gpu: Gpu, phase: Phase, sm_mhz: Array, mem_mhz: Array) -> PhaseTimes:
    """Return how long a phase takes at some clocks."""
    top, floor = gpu.clocks.top, gpu.throughput.onchip_floor
    speed = sm_mhz / top.sm_mhz
    compute_s = phase.compute_s / speed
    onchip_s = phase.onchip_s / (floor + (1.0 - floor) * speed)
    memory_s = phase.memory_s * top.mem_mhz / mem_mhz
    gpu_s = blend((compute_s, onchip_s, memory_s), phase.overlap)
    total_s = blend((gpu_s, np.full_like(gpu_s, phase.host_s)), phase.host_overlap)
    compute_s, onchip_s, memory_s = np.broadcast_arrays(compute_s, onchip_s, memory_s)
    return PhaseTimes(compute_s, onchip_s, memory_s, gpu_s, total_s)


def blend(parts: tuple[Array, ...], overlap: float) -> Array:
    """Return the time of activities that overlap in part.

    A power mean: the sum without overlap, towards the longest as ``overlap`` nears 1, and smooth between.
    """
    exponent = 1.0 / (1.0 - overlap)
    stacked = np.stack(np.broadcast_arrays(*parts))
    longest = np.maximum(stacked.max(axis=0), np.finfo(np.float64).tiny)
    blended: Array = longest * ((stacked / longest) ** exponent).sum(axis=0) ** (1.0 / exponent)
    return blended
