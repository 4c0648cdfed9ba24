"""The physics of the simulated GPU: pure functions of clocks, vectorised.

Time: compute time falls with the SM clock, memory time with the memory clock, host time stays. They overlap in part.
Power: board + leakage (~ V^2) + switching (~ V^2 f x activity) + memory (~ clock, and ~ bytes moved); the power
limit lowers the SM clock. Every clock is in MHz, float64, any broadcast shape.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.workloads import Workload

__all__ = ["PowerParts", "Times", "blend", "iteration_times", "power_parts", "rows_under_limit", "voltage"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of one iteration, each float64 in the shape of the clocks.

    Attributes:
        compute_s: the pipes have instructions.
        memory_s: DRAM moves bytes.
        gpu_s: a kernel runs: both together, overlapped.
        total_s: the whole iteration, waiting for the host included.
    """

    compute_s: Array
    memory_s: Array
    gpu_s: Array
    total_s: Array

    @property
    def busy_frac(self) -> Array:
        """Share of the iteration in which a kernel runs."""
        return np.minimum(1.0, self.gpu_s / self.total_s)


@dataclass(frozen=True, slots=True)
class PowerParts:
    """Mean watts over one iteration, each float64 in the shape of the clocks.

    Attributes:
        standing_w: drawn at these clocks even without work.
        working_w: what the work adds.
    """

    standing_w: Array
    working_w: Array

    @property
    def total_w(self) -> Array:
        """Board power."""
        return self.standing_w + self.working_w


def blend(one_s: Array, other_s: Array, overlap: float) -> Array:
    """Return the time of two activities that overlap in part.

    A power mean: the sum without overlap, towards the longer of the two as ``overlap`` nears 1, smooth between
    (an iteration holds kernels of many intensities, so real curves have no corner).
    """
    exponent = 1.0 / (1.0 - overlap)
    longer = np.maximum(one_s, other_s)
    shorter = np.minimum(one_s, other_s)
    return longer * (1.0 + (shorter / longer) ** exponent) ** (1.0 / exponent)


def iteration_times(gpu: Gpu, workload: Workload, sm_mhz: Array, mem_mhz: Array) -> Times:
    """Return how long one iteration takes at some clocks."""
    top = gpu.clocks.top
    compute_s = workload.compute_s * top.sm_mhz / sm_mhz
    memory_s = workload.memory_s * top.mem_mhz / mem_mhz
    gpu_s = blend(compute_s, memory_s, workload.overlap)
    total_s = blend(gpu_s, np.full_like(gpu_s, workload.host_s), workload.host_overlap)
    return Times(compute_s, memory_s, gpu_s, total_s)


def voltage(gpu: Gpu, sm_mhz: Array) -> Array:
    """Return the core voltage in volts."""
    curve = gpu.voltage
    rise = (sm_mhz - curve.floor_until_mhz) / (gpu.clocks.top.sm_mhz - curve.floor_until_mhz)
    return curve.floor_v + (curve.top_v - curve.floor_v) * np.maximum(rise, 0.0) ** curve.curvature


def power_parts(gpu: Gpu, workload: Workload, sm_mhz: Array, mem_mhz: Array, times: Times) -> PowerParts:
    """Return what the board draws at some clocks, given how long the iteration takes there."""
    power, top = gpu.power, gpu.clocks.top
    voltage_squared = (voltage(gpu, sm_mhz) / gpu.voltage.top_v) ** 2
    full_switching_w = power.switching_w * voltage_squared * sm_mhz / top.sm_mhz
    compute_frac = times.compute_s / times.total_s
    activity = power.clocking_share * times.busy_frac + workload.activity * compute_frac
    bytes_moved = workload.bandwidth * workload.memory_s / times.total_s
    return PowerParts(
        standing_w=power.board_w + power.leakage_w * voltage_squared + power.mem_standing_w * mem_mhz / top.mem_mhz,
        working_w=full_switching_w * activity + power.mem_access_w * bytes_moved,
    )


def rows_under_limit(watts: Array, limit_w: float) -> NDArray[np.intp]:
    """Return, for each requested SM clock, the index of the clock that the power limit leaves.

    Args:
        watts: board power by SM clock, ascending along the last axis; rises with the clock.
        limit_w: board power limit.

    Returns:
        Shape of ``watts``; the highest clock at or under the request that keeps the limit, the lowest of all
        where none does.
    """
    highest = np.maximum(np.count_nonzero(watts <= limit_w, axis=-1, keepdims=True) - 1, 0)
    rows: NDArray[np.intp] = np.minimum(np.arange(watts.shape[-1]), highest)
    return rows
