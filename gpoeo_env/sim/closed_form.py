"""The operating point of a workload under every action of a GPU at once, without samples and without noise.

Sensors and noise come after it:

points = operating_points(load_gpu("rtx3080ti"), demo_workloads()[0])
points.seconds                             # of an iteration, by action; 0 is the driver's default
sweep_of(gpu, workload).energy_ratio.min()
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.clocks import RELEASE, ClockPair
from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.counters import GPM, CounterSet, counters_of
from gpoeo_env.sim.phases import Phase
from gpoeo_env.sim.physics.limits import rows_under_limits
from gpoeo_env.sim.physics.power import PowerParts, activity_of, power_parts
from gpoeo_env.sim.physics.thermal import SteadyState, steady_state
from gpoeo_env.sim.physics.timing import phase_times
from gpoeo_env.sim.workloads import Workload
from gpoeo_env.trace.sweep import Provenance, Sweep, SweepSet
from gpoeo_env.version import __version__

__all__ = ["OperatingPoints", "operating_points", "simulated_sweeps", "sweep_of"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class OperatingPoints:
    """What a workload does under every action of a GPU; row 0 is the driver's default, row i pair i - 1 of the table.

    Attributes:
        in_force: the clocks that really run.
        throttle_reasons: why they are below the request; empty = they are not.
        temperature_c: where the chip settles, float64, shape (n_actions,).
        watts_per_k: how power follows a temperature off that, float64, shape (n_actions,).
        every: phase p is part of every ``every[p]``-th iteration, int, shape (n_phases,).
        phase_seconds: each time that the phase runs, float64, shape (n_phases, n_actions).
        phase_gpu_seconds: the part of it that GPU work fills, at most ``phase_seconds``, likewise.
        phase_watts: mean over the phase, likewise.
        counters: which counters are read.
        phase_counters: means over the phase, float64, shape (n_phases, n_actions, len(counters.names)).
    """

    in_force: tuple[ClockPair, ...]
    throttle_reasons: tuple[tuple[str, ...], ...]
    temperature_c: Array
    watts_per_k: Array
    every: NDArray[np.intp]
    phase_seconds: Array
    phase_gpu_seconds: Array
    phase_watts: Array
    counters: CounterSet
    phase_counters: Array

    @cached_property
    def seconds(self) -> Array:
        """Seconds of a mean iteration, float64, shape (n_actions,)."""
        seconds: Array = self._weighted_seconds.sum(axis=0)
        return seconds

    @cached_property
    def watts(self) -> Array:
        """Mean board power, float64, shape (n_actions,)."""
        watts: Array = (self._weighted_seconds * self.phase_watts).sum(axis=0) / self.seconds
        return watts

    @cached_property
    def mean_counters(self) -> Array:
        """Counter means over an iteration, float64, shape (n_actions, n_counters)."""
        means = np.einsum("pa,pak->ak", self._weighted_seconds / self.seconds, self.phase_counters)
        most = [1.0 if unit == "1" else np.inf for unit in self.counters.units]
        bounded: Array = np.minimum(means, most)  # a sum of weights that add up to one may round to more
        return bounded

    @property
    def _weighted_seconds(self) -> Array:
        return self.phase_seconds / self.every[:, None]


def operating_points(gpu: Gpu, workload: Workload, counters: Sequence[str] = GPM) -> OperatingPoints:
    """Compute every action of a GPU under its power and temperature limits; a shift in mid-run is left out."""
    pairs = _Pairs.of(gpu, workload, tuple(counters))
    by_mem_clock = (len(gpu.clocks.mem_clocks), len(gpu.clocks.sm_clocks))
    watts, temperature_c = (values.reshape(by_mem_clock) for values in pairs.mean_state(gpu))
    limited = rows_under_limits(watts, gpu.power_limit_w, temperature_c, gpu.thermal.slowdown_c)
    first_row = by_mem_clock[1] * np.arange(by_mem_clock[0])[:, None]
    default_row = gpu.clocks.action_of(gpu.default_pair) - 1
    requested = np.concatenate(([default_row], np.arange(len(gpu.clocks))))
    rows = (limited.rows + first_row).ravel()[requested]
    phase_watts = pairs.state.watts[:, rows]
    phase_watts[:, RELEASE] = [
        _asleep(gpu, phase, float(watts)) for phase, watts in zip(workload.phases, phase_watts[:, RELEASE], strict=True)
    ]
    return OperatingPoints(
        in_force=tuple(gpu.clocks.pairs[row] for row in rows),
        throttle_reasons=tuple(limited.reasons(divmod(int(row), by_mem_clock[1])) for row in requested),
        temperature_c=temperature_c.ravel()[rows],
        watts_per_k=pairs.state.watts_per_k[0, rows],
        every=np.array([phase.every for phase in workload.phases]),
        phase_seconds=pairs.seconds[:, rows],
        phase_gpu_seconds=pairs.gpu_seconds[:, rows],
        phase_watts=phase_watts,
        counters=CounterSet.named(tuple(counters)),
        phase_counters=pairs.counters[:, rows],
    )


def sweep_of(gpu: Gpu, workload: Workload, counters: Sequence[str] = GPM) -> Sweep:
    """Return a workload's sweep over every pair of a GPU; a unit of work is one iteration."""
    points = operating_points(gpu, workload, counters)
    return Sweep(
        workload=workload.name,
        clocks=gpu.clocks,
        reference=gpu.default_pair,
        seconds=points.seconds[1:],
        joules=(points.seconds * points.watts)[1:],
        counter_names=points.counters.names,
        counters=points.mean_counters[1:],
    )


def simulated_sweeps(gpu: Gpu, workloads: Sequence[Workload], source: str, counters: Sequence[str] = GPM) -> SweepSet:
    """Return the sweeps of some workloads, to fit models on; ``source`` says in words which workloads they are."""
    return SweepSet(
        gpu_name=gpu.full_name,
        sweeps=tuple(sweep_of(gpu, workload, counters) for workload in workloads),
        provenance=Provenance(
            source=f"simulated: {gpu.name}, {source}",
            created_utc=datetime.now(UTC).isoformat(timespec="seconds"),
            tool=f"gpoeo-env {__version__}",
            is_simulated=True,
            is_relative=False,
        ),
        counter_units=CounterSet.named(tuple(counters)).units,
    )


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Every pair of the table as requested, before any limit; arrays (n_phases, n_pairs[, n_counters])."""

    weights: Array
    seconds: Array
    gpu_seconds: Array
    state: SteadyState
    counters: Array

    @classmethod
    def of(cls, gpu: Gpu, workload: Workload, counters: tuple[str, ...]) -> _Pairs:
        """Evaluate each phase; all phases share the temperature that their mean power leads to."""
        sm_mhz, mem_mhz = gpu.clocks.mhz.T
        times = [phase_times(gpu, phase, sm_mhz, mem_mhz) for phase in workload.phases]
        activities = [activity_of(phase, time) for phase, time in zip(workload.phases, times, strict=True)]
        seconds = np.stack([time.total_s for time in times])
        weights = seconds / np.array([[phase.every] for phase in workload.phases])
        parts = [
            power_parts(gpu, activity, sm_mhz, mem_mhz, phase.mix.toggling)
            for phase, activity in zip(workload.phases, activities, strict=True)
        ]
        return cls(
            weights=weights / weights.sum(axis=0),
            seconds=seconds,
            gpu_seconds=np.stack([np.minimum(time.gpu_s, time.total_s) for time in times]),
            state=_shared_state(gpu, parts, weights / weights.sum(axis=0)),
            counters=np.stack(
                [counters_of(*seen, counters) for seen in zip(workload.phases, times, activities, strict=True)]
            ),
        )

    def mean_state(self, gpu: Gpu) -> tuple[Array, Array]:
        """Return mean power and temperature, float64, shape (n_pairs,) each."""
        watts = (self.weights * self.state.watts).sum(axis=0)
        return watts, gpu.thermal.ambient_c + gpu.thermal.resistance_k_per_w * watts


def _shared_state(gpu: Gpu, parts: Sequence[PowerParts], weights: Array) -> SteadyState:
    """Return the power of each phase at the temperature that all of them together lead to."""
    leakage_w = parts[0].leakage_w
    other_w = np.stack([part.other_w for part in parts])
    mean = steady_state(gpu, PowerParts(leakage_w, (weights * other_w).sum(axis=0)))
    warm_w = leakage_w + mean.watts_per_k * (mean.temperature_c - gpu.power.leakage_at_c)
    shape = other_w.shape
    return SteadyState(
        other_w + warm_w,
        np.broadcast_to(mean.temperature_c, shape),
        np.broadcast_to(mean.watts_per_k, shape),
    )


def _asleep(gpu: Gpu, phase: Phase, watts: float) -> float:
    """Return the mean power of a phase under the driver's default, which puts a GPU without kernels to sleep."""
    awake_s = gpu.power.idle_after_s
    if phase.uses_gpu or phase.host_s <= awake_s:
        return watts
    return (awake_s * watts + (phase.host_s - awake_s) * gpu.power.idle_w) / phase.host_s
