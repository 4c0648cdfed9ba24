"""The simulator held against measured sweeps: fit a workload to some clocks of a sweep, predict the others.

    rows = spread_rows(sweep, 5)
    fitted = calibrate(gpu, sweep, rows)
    fitted.time_error, fitted.power_error          # relative, at every pair of the sweep

A workload is one phase here: how long compute, DRAM and host take and how well the first two overlap (four numbers,
fitted to time), and how much its pipes, its SMs and its DRAM draw (three numbers, fitted to power). What all workloads
of a GPU share, voltage curve and standing power, can be fitted to the same clocks of several sweeps (`fitted_gpu`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.optimize import least_squares, lsq_linear, minimize, nnls

from gpoeo_env.errors import UsageError
from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.phases import Mix, Phase
from gpoeo_env.sim.physics.power import activity_of, power_parts, voltage
from gpoeo_env.sim.physics.thermal import steady_state
from gpoeo_env.sim.physics.timing import phase_times
from gpoeo_env.sim.workloads import Workload
from gpoeo_env.trace.sweep import Sweep

__all__ = ["Calibration", "calibrate", "fitted_gpu", "spread_rows"]

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

LEAST_ROWS = 3
PULL = 0.003
"""Weight that keeps a number from running off where the clocks do not tell it, relative to an error in time."""
EXPECTED = (0.5, 0.5, 0.05, 0.6)
"""Compute, DRAM and host time and overlap of a workload of which nothing is known."""
POWER_PULL = 100.0
"""The same for watts, in shares of the power limit."""
LEAST_S = 1e-6
MOST_OVERLAP = 0.95
HOST_OVERLAP = 0.3
FP32, MOST_TOGGLING = 0.5, 4.0
"""Utilisation that the pipes of a fitted workload are written with, and how much they may switch for it."""
CURVES = ((0.70, 0.55, 1.0), (0.75, 0.70, 1.5), (0.65, 0.60, 2.0))
"""Starts of the search for a voltage curve: floor over top voltage, end of the floor over the top clock, curvature."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A workload fitted to a sweep, and how far it is from what was measured.

    Attributes:
        workload: what the simulator can run; a unit of its work is the sweep's.
        rows: of the sweep, that were fitted to.
        time_error: predicted time ratio over measured time ratio - 1 at every pair, float64, shape (n_pairs,).
        power_error: predicted power over measured power - 1, likewise.
    """

    workload: Workload
    rows: Rows
    time_error: Array
    power_error: Array

    @property
    def held_out(self) -> Rows:
        """Rows that were not fitted to."""
        return np.setdiff1d(np.arange(len(self.time_error)), self.rows)


def spread_rows(sweep: Sweep, n: int) -> Rows:
    """Return n rows of a sweep, spread evenly over its SM clocks with both ends, and the reference.

    Raises:
        UsageError: there are too few rows to fit to, or to spread over.
    """
    if not LEAST_ROWS <= n <= len(sweep.clocks):
        raise UsageError(
            f"{sweep.workload!r}: fit to {LEAST_ROWS} clocks or more, and to no more than the {len(sweep.clocks)} "
            f"recorded ones; got {n}"
        )
    spread = np.linspace(0, len(sweep.clocks) - 1, n).round().astype(np.intp)
    if sweep.reference_row not in spread:
        spread[np.argmin(np.abs(spread - sweep.reference_row))] = sweep.reference_row
    return np.unique(spread)


def calibrate(gpu: Gpu, sweep: Sweep, rows: Rows) -> Calibration:
    """Fit a workload to some rows of a sweep.

    Args:
        gpu: whose constants hold; the sweep may have clocks that it does not offer.
        sweep: measured.
        rows: what may be looked at; the reference is one of them.
    """
    phase = _with_power(gpu, sweep, rows, _with_times(gpu, sweep, rows))
    sm_mhz, mem_mhz = _clocks(gpu, sweep)
    times = phase_times(gpu, phase, sm_mhz, mem_mhz)
    parts = power_parts(gpu, activity_of(phase, times), sm_mhz, mem_mhz, phase.mix.toggling)
    reference = sweep.reference_row
    return Calibration(
        workload=Workload(name=sweep.workload, family=f"fitted {sweep.workload}", phases=(phase,)),
        rows=rows,
        time_error=times.total_s / times.total_s[reference] / sweep.time_ratio - 1.0,
        power_error=steady_state(gpu, parts).watts / sweep.watts - 1.0,
    )


def fitted_gpu(gpu: Gpu, sweeps: Sequence[Sweep], n_rows: int) -> Gpu:
    """Fit voltage curve and standing power to `n_rows` clocks of several sweeps at once; the rest stays as it is.

    For each candidate curve, what is shared (leakage, clock tree, and the board with the memory that stands) and what
    each workload adds (pipes, SMs, DRAM) is linear in power, and found by non-negative least squares. SMs and DRAM draw
    at most what the workload that uses them most draws.
    """
    fits = [_Linear.of(gpu, sweep, spread_rows(sweep, n_rows)) for sweep in sweeps]
    best = min(
        (minimize(lambda x: _residual(gpu, fits, x)[0], start, method="Nelder-Mead") for start in CURVES),
        key=lambda found: float(found.fun),
    )
    solution = _residual(gpu, fits, best.x)[1]
    shared, (_, sm_w, dram_w) = solution[:3].tolist(), solution[3:].reshape(-1, 3).max(axis=0).tolist()
    floor, until, curvature = _bounded(best.x)
    top_mhz, curve = gpu.clocks.top.sm_mhz, gpu.voltage
    return gpu.model_copy(
        update={
            "voltage": curve.model_copy(
                update={
                    "floor_v": round(floor * curve.top_v, 3),
                    "floor_until_mhz": round(until * top_mhz, 0),
                    "curvature": round(curvature, 2),
                }
            ),
            "power": gpu.power.model_copy(
                update={
                    "board_w": round(shared[0] - min(gpu.power.mem_standing_w, 0.5 * shared[0]), 1),
                    "mem_standing_w": round(min(gpu.power.mem_standing_w, 0.5 * shared[0]), 1),
                    "leakage_w": round(shared[1], 1),
                    "clock_tree_w": round(shared[2], 1),
                    "sm_w": round(sm_w, 1),
                    "mem_access_w": round(dram_w, 1),
                }
            ),
        }
    )


def _clocks(gpu: Gpu, sweep: Sweep) -> tuple[Array, Array]:
    """Return SM and memory clocks; the highest memory clock of a sweep stands for the GPU's own, whatever its name."""
    sm_mhz, mem_mhz = sweep.clocks.mhz.T
    return sm_mhz, mem_mhz * gpu.clocks.top.mem_mhz / mem_mhz.max()


def _with_times(gpu: Gpu, sweep: Sweep, rows: Rows) -> Phase:
    """Fit compute, DRAM and host time and the overlap to the measured times."""
    sm_mhz, mem_mhz = (clocks[rows] for clocks in _clocks(gpu, sweep))
    measured = sweep.time_ratio[rows]

    def phase_of(numbers: Array) -> Phase:
        compute, memory, host, overlap = (float(number) for number in numbers)
        return Phase(
            name="all",
            compute_s=compute + LEAST_S,
            memory_s=memory,
            host_s=host,
            overlap=overlap,
            host_overlap=HOST_OVERLAP,
        )

    def misses(numbers: Array) -> Array:
        total_s = phase_times(gpu, phase_of(numbers), sm_mhz, mem_mhz).total_s
        return np.concatenate((total_s / measured - 1.0, PULL * (numbers - EXPECTED)))

    starts = ([0.9, 0.2, 0.05, 0.6], [0.5, 0.8, 0.05, 0.8], [0.3, 0.2, 0.7, 0.5])
    fits = [least_squares(misses, start, bounds=([0, 0, 0, 0], [2, 2, 2, MOST_OVERLAP])) for start in starts]
    return phase_of(min(fits, key=lambda fit: float(fit.cost)).x)


def _with_power(gpu: Gpu, sweep: Sweep, rows: Rows, phase: Phase) -> Phase:
    """Fit how much pipes and DRAM draw to what the standing power leaves of the measured power."""
    linear = _Linear.of(gpu, sweep, rows, phase)
    power = gpu.power
    standing = linear.shared(gpu) @ (power.board_w + power.mem_standing_w, power.leakage_w, power.clock_tree_w)
    columns, left = linear.own(gpu), (linear.watts - standing).clip(0.0)
    most = np.array([MOST_TOGGLING * FP32 * power.fp32_w, power.sm_w, power.mem_access_w])
    own_w = lsq_linear(columns / linear.watts[:, None], left / linear.watts, bounds=(0.0, most + 1e-9)).x
    toggling, fill, bandwidth = (own_w / (most + 1e-9) * (MOST_TOGGLING, 1.0, 1.0)).tolist()
    mix = Mix(fp32=FP32, integer=0.0, onchip=0.0, bandwidth=bandwidth, fill=fill, toggling=toggling)
    return replace(phase, mix=mix)


@dataclass(frozen=True, slots=True)
class _Linear:
    """What power is linear in at some rows of one sweep, once its times are known.

    Attributes:
        watts: measured, float64, shape (n,).
        sm_mhz: SM clock, likewise.
        busy: share of the time in which a kernel runs.
        compute: share in which the pipes compute.
        memory: share in which DRAM moves bytes.
    """

    watts: Array
    sm_mhz: Array
    busy: Array
    compute: Array
    memory: Array
    squared: Array

    @classmethod
    def of(cls, gpu: Gpu, sweep: Sweep, rows: Rows, phase: Phase | None = None) -> _Linear:
        sm_mhz, mem_mhz = (clocks[rows] for clocks in _clocks(gpu, sweep))
        times = phase_times(gpu, phase or _with_times(gpu, sweep, rows), sm_mhz, mem_mhz)
        squared = (voltage(gpu, sm_mhz) / gpu.voltage.top_v) ** 2
        shares = (times.compute_s / times.total_s, times.memory_s / times.total_s)
        return cls(sweep.watts[rows], sm_mhz, times.busy_frac, *shares, squared)

    def under(self, gpu: Gpu, curve: tuple[float, float, float]) -> _Linear:
        """Return the same under another voltage curve."""
        floor, until, curvature = curve
        speed = self.sm_mhz / gpu.clocks.top.sm_mhz
        relative = floor + (1.0 - floor) * np.maximum((speed - until) / (1.0 - until), 0.0) ** curvature
        return replace(self, squared=relative**2)

    def shared(self, gpu: Gpu) -> Array:
        """Return the columns of what all workloads share: board, leakage, clock tree; shape (n, 3)."""
        return np.column_stack((np.ones_like(self.watts), self.squared, self._switching(gpu)))

    def own(self, gpu: Gpu) -> Array:
        """Return the columns of what a workload adds: pipes, SMs, DRAM; shape (n, 3)."""
        switching = self._switching(gpu)
        return np.column_stack((switching * self.compute, switching * self.busy, self.memory))

    def _switching(self, gpu: Gpu) -> Array:
        return self.squared * self.sm_mhz / gpu.clocks.top.sm_mhz


def _bounded(numbers: Array) -> tuple[float, float, float]:
    return (
        float(np.clip(numbers[0], 0.4, 0.98)),
        float(np.clip(numbers[1], 0.2, 0.95)),
        float(np.clip(numbers[2], 1.0, 3.0)),
    )


def _residual(gpu: Gpu, fits: Sequence[_Linear], numbers: Array) -> tuple[float, Array]:
    """Return the relative misfit of all sweeps under a voltage curve, and the shared watts."""
    fits = [fit.under(gpu, _bounded(numbers)) for fit in fits]
    watts = np.concatenate([fit.watts for fit in fits])
    own = block_diag(*(fit.own(gpu) for fit in fits))
    columns = np.hstack((np.concatenate([fit.shared(gpu) for fit in fits]), own)) / watts[:, None]
    pull = PULL / gpu.power_limit_w * np.eye(columns.shape[1])
    wanted = np.concatenate((np.ones_like(watts), np.zeros(len(pull))))
    solution, residual = nnls(np.vstack((columns, POWER_PULL * pull)), wanted)
    outside = float(np.abs(numbers - np.array(_bounded(numbers))).sum())
    return float(residual) + outside, solution
