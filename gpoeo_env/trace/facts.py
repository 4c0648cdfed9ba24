"""What a set of sweeps says at a glance: how far the clocks reach, and what the best of them would save."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.clocks import ClockPair
from gpoeo_env.objective import Objective
from gpoeo_env.trace.sweep import Provenance, Sweep, SweepSet

__all__ = ["CounterFacts", "Span", "SweepFacts", "SweepSetFacts", "facts_of"]


@dataclass(frozen=True, slots=True)
class Span:
    """The least and the greatest of some values."""

    least: float
    most: float


@dataclass(frozen=True, slots=True)
class CounterFacts:
    """One counter: its unit ("?" = unknown), and the fraction of all rows in which it is missing."""

    name: str
    unit: str
    missing: float


@dataclass(frozen=True, slots=True)
class SweepFacts:
    """One workload's recording, summarised.

    Attributes:
        workload: its name.
        n_pairs: number of recorded clock pairs.
        reference: the pair that the ratios are relative to.
        time_ratio: time relative to the reference, over all pairs.
        energy_ratio: energy relative to the reference, over all pairs.
        best: the recorded pair with the least energy whose slowdown is within the limit.
        best_saving: fraction of the reference's energy that it saves.
        best_slowdown: fraction of the reference's time that it takes longer; negative where it is faster.
        has_pairs_above_reference: True where a recorded SM or memory clock is higher than the reference's.
    """

    workload: str
    n_pairs: int
    reference: ClockPair
    time_ratio: Span
    energy_ratio: Span
    best: ClockPair
    best_saving: float
    best_slowdown: float
    has_pairs_above_reference: bool


@dataclass(frozen=True, slots=True)
class SweepSetFacts:
    """A sweep file, summarised.

    Attributes:
        gpu_name: the GPU.
        provenance: where the sweeps come from; says whether they are simulated.
        sm_mhz: SM clocks of all workloads, ascending.
        mem_mhz: memory clocks of all workloads, ascending.
        counters: in file order.
        max_slowdown: limit of the best pairs, a fraction.
        workloads: in file order.
    """

    gpu_name: str
    provenance: Provenance
    sm_mhz: tuple[int, ...]
    mem_mhz: tuple[int, ...]
    counters: tuple[CounterFacts, ...]
    max_slowdown: float
    workloads: tuple[SweepFacts, ...]


def facts_of(sweeps: SweepSet, max_slowdown: float) -> SweepSetFacts:
    """Summarise a set of sweeps; a best pair is the best as recorded, measurement noise and all.

    Args:
        sweeps: the recordings.
        max_slowdown: limit for the best pairs, a fraction (0.05 means 5 %).

    Raises:
        ConfigError: the limit is out of range.
    """
    limit = Objective.ENERGY.check_limit(max_slowdown)
    return SweepSetFacts(
        gpu_name=sweeps.gpu_name,
        provenance=sweeps.provenance,
        sm_mhz=tuple(sorted({mhz for sweep in sweeps.sweeps for mhz in sweep.clocks.sm_clocks})),
        mem_mhz=tuple(sorted({mhz for sweep in sweeps.sweeps for mhz in sweep.clocks.mem_clocks})),
        counters=_counters(sweeps),
        max_slowdown=limit,
        workloads=tuple(_sweep_facts(sweep, limit) for sweep in sweeps.sweeps),
    )


def _counters(sweeps: SweepSet) -> tuple[CounterFacts, ...]:
    names = sweeps.sweeps[0].counter_names
    units = sweeps.counter_units or ("?",) * len(names)
    missing = np.isnan(np.concatenate([sweep.counters for sweep in sweeps.sweeps])).mean(axis=0)
    return tuple(CounterFacts(*facts) for facts in zip(names, units, missing.tolist(), strict=True))


def _sweep_facts(sweep: Sweep, limit: float) -> SweepFacts:
    time, energy = sweep.time_ratio, sweep.energy_ratio
    row = Objective.ENERGY.best(time, energy, limit)
    return SweepFacts(
        workload=sweep.workload,
        n_pairs=len(sweep.clocks),
        reference=sweep.reference,
        time_ratio=_span(time),
        energy_ratio=_span(energy),
        best=sweep.clocks.pairs[row],
        best_saving=1.0 - float(energy[row]),
        best_slowdown=float(time[row]) - 1.0,
        has_pairs_above_reference=any(
            pair.sm_mhz > sweep.reference.sm_mhz or pair.mem_mhz > sweep.reference.mem_mhz for pair in sweep.clocks
        ),
    )


def _span(values: NDArray[np.float64]) -> Span:
    return Span(float(values.min()), float(values.max()))
