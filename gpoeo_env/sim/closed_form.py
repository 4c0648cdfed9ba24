"""The operating point of a workload at every clock pair at once, without samples and without noise.

sweep = sweep_of(load_gpu("rtx3080ti"), demo_workloads()[0])
sweep.energy_ratio.min()
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.clocks import ClockPair
from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.physics import PowerParts, Times, iteration_times, power_parts, rows_under_limit
from gpoeo_env.sim.workloads import Workload, training_workloads
from gpoeo_env.trace.sweep import Provenance, Sweep, SweepSet
from gpoeo_env.version import __version__

__all__ = ["COUNTER_NAMES", "COUNTER_UNITS", "OperatingPoints", "operating_points", "sweep_of", "training_sweeps"]

Array = NDArray[np.float64]

COUNTER_NAMES = (
    "sm_active",
    "sm_occupancy",
    "tensor_active",
    "fp32_active",
    "dram_active",
    "gpu_util",
    "mem_util",
    "pcie_rx_bytes",
)
COUNTER_UNITS = (*("1",) * 7, "B/s")


@dataclass(frozen=True, slots=True)
class OperatingPoints:
    """What a workload does at every pair of a GPU's table; arrays are float64, shape (len(table),), in its order.

    Attributes:
        sm_mhz: SM clock that really runs, at or under the requested one.
        mem_mhz: memory clock.
        is_capped: whether the power limit lowered the SM clock.
        seconds: per iteration.
        watts: mean board power.
        standing_w: the part of it drawn even while no kernel runs.
        busy_frac: share of the time in which a kernel runs.
        counters: means over an iteration, shape (len(table), len(COUNTER_NAMES)).
    """

    sm_mhz: Array
    mem_mhz: Array
    is_capped: NDArray[np.bool_]
    seconds: Array
    watts: Array
    standing_w: Array
    busy_frac: Array
    counters: Array

    def pair_at(self, row: int) -> ClockPair:
        """Return the clocks that really run when the pair of a row is locked."""
        return ClockPair(round(self.sm_mhz[row]), round(self.mem_mhz[row]))


def operating_points(gpu: Gpu, workload: Workload) -> OperatingPoints:
    """Compute every pair of a GPU's table under its power limit."""
    requested_mhz, mem_mhz = gpu.clocks.mhz.T
    _, uncapped = _evaluate(gpu, workload, requested_mhz, mem_mhz)
    by_mem_clock = (len(gpu.clocks.mem_clocks), len(gpu.clocks.sm_clocks))
    rows = rows_under_limit(uncapped.total_w.reshape(by_mem_clock), gpu.power_limit_w)
    sm_mhz = np.array(gpu.clocks.sm_clocks, dtype=np.float64)[rows].ravel()
    times, power = _evaluate(gpu, workload, sm_mhz, mem_mhz)
    return OperatingPoints(
        sm_mhz=sm_mhz,
        mem_mhz=mem_mhz,
        is_capped=sm_mhz < requested_mhz,
        seconds=times.total_s,
        watts=power.total_w,
        standing_w=power.standing_w,
        busy_frac=times.busy_frac,
        counters=_counters(workload, times),
    )


def sweep_of(gpu: Gpu, workload: Workload) -> Sweep:
    """Return a workload's sweep over every pair of a GPU; a unit of work is one iteration."""
    points = operating_points(gpu, workload)
    return Sweep(
        workload=workload.name,
        clocks=gpu.clocks,
        reference=gpu.default_pair,
        seconds=points.seconds,
        joules=points.seconds * points.watts,
        counter_names=COUNTER_NAMES,
        counters=points.counters,
    )


def training_sweeps(gpu: Gpu, n: int = 40, seed: int = 0) -> SweepSet:
    """Return sweeps of drawn workloads, to fit models on; they share nothing with the demonstrated ones.

    Raises:
        UsageError: ``n`` or ``seed`` is out of its range.
    """
    return SweepSet(
        gpu_name=gpu.full_name,
        sweeps=tuple(sweep_of(gpu, workload) for workload in training_workloads(n, seed)),
        provenance=Provenance(
            source=f"simulated: {gpu.name}, {n} drawn workloads, seed {seed}",
            created_utc=datetime.now(UTC).isoformat(timespec="seconds"),
            tool=f"gpoeo-env {__version__}",
            is_simulated=True,
            is_relative=False,
        ),
        counter_units=COUNTER_UNITS,
    )


def _evaluate(gpu: Gpu, workload: Workload, sm_mhz: Array, mem_mhz: Array) -> tuple[Times, PowerParts]:
    times = iteration_times(gpu, workload, sm_mhz, mem_mhz)
    return times, power_parts(gpu, workload, sm_mhz, mem_mhz, times)


def _counters(workload: Workload, times: Times) -> Array:
    """Return the counters in the order of `COUNTER_NAMES`, as DCGM and NVML define them."""
    compute_frac = times.compute_s / times.total_s
    memory_frac = times.memory_s / times.total_s
    sm_active = workload.sm_fill * times.busy_frac
    return np.column_stack(
        (
            sm_active,
            workload.occupancy * sm_active,
            workload.tensor * compute_frac,
            workload.fp32 * compute_frac,
            workload.bandwidth * memory_frac,
            times.busy_frac,
            memory_frac,
            workload.pcie_bytes / times.total_s,
        )
    )
