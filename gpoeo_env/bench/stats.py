"""What many results of one policy come to."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gpoeo_env.bench.result import EpisodeResult
from gpoeo_env.objective import Objective

__all__ = ["Summary", "summarise"]


@dataclass(frozen=True, slots=True)
class Summary:
    """One policy over all its results; every workload and seed weighs the same. Ratios are fractions.

    Attributes:
        mean_saving, mean_slowdown: of the pairs finally held, noise-free.
        violation_rate: share of results whose held pair breaks the limit.
        mean_measurements: windows until the first hold.
        mean_search_windows: all windows that were not held, also after the first hold.
        first_oracle_ratio, first_violation_rate: as ``oracle_ratio`` and ``violation_rate``, of the pairs held first.
        oracle_ratio: mean saving / mean oracle saving; NaN where the oracle saves nothing, or something else than
            energy was to be minimised.
        worst_slowdown: the largest slowdown of a held pair.
        mean_run_saving, mean_run_slowdown: whole runs, search paid.
        mean_excess: of the pairs finally held, over those that break the limit; 0 where none does.
        run_violation_rate: share of whole runs that break the limit.
        mean_run_excess: over those.
        mean_run_edp_saving: share of the default's energy-delay product that whole runs save.
        mean_search_energy_frac: share of a run's energy spent before the first hold.
        mean_search_joules: likewise in joules.
        mean_decision_ms: processor time of the policy, milliseconds a decision.
        n: number of results.
        is_bound: the policy was told the truth.
    """

    mean_saving: float
    mean_slowdown: float
    violation_rate: float
    mean_measurements: float
    oracle_ratio: float
    mean_search_windows: float
    first_oracle_ratio: float
    first_violation_rate: float
    worst_slowdown: float
    mean_run_saving: float
    mean_run_slowdown: float
    mean_excess: float
    run_violation_rate: float
    mean_run_excess: float
    mean_run_edp_saving: float
    mean_search_energy_frac: float
    mean_search_joules: float
    mean_decision_ms: float
    n: int
    is_bound: bool


def summarise(results: Iterable[EpisodeResult]) -> dict[str, Summary]:
    """Return a summary by policy, in the order in which policies first appear."""
    by_policy: dict[str, list[EpisodeResult]] = {}
    for result in results:
        by_policy.setdefault(result.policy, []).append(result)
    return {policy: _summary_of(group) for policy, group in by_policy.items()}


def _summary_of(results: list[EpisodeResult]) -> Summary:
    mean_saving = _mean(result.saving for result in results)
    is_saving_the_aim = all(result.objective == Objective.ENERGY.value for result in results)
    mean_oracle = _mean(result.oracle_saving for result in results)
    if mean_oracle <= 0 or not is_saving_the_aim:
        mean_oracle = math.nan  # a share of nothing, or of something that was not sought
    return Summary(
        mean_saving=mean_saving,
        mean_slowdown=_mean(result.slowdown for result in results),
        violation_rate=_mean(result.violates for result in results),
        mean_measurements=_mean(result.measurements for result in results),
        oracle_ratio=mean_saving / mean_oracle,
        mean_search_windows=_mean(result.search_windows for result in results),
        first_oracle_ratio=_mean(result.first_saving for result in results) / mean_oracle,
        first_violation_rate=_mean(result.first_violates for result in results),
        worst_slowdown=max(result.slowdown for result in results),
        mean_run_saving=_mean(result.run_saving for result in results),
        mean_run_slowdown=_mean(result.run_slowdown for result in results),
        mean_excess=_mean_over_zero(result.excess for result in results),
        run_violation_rate=_mean(result.run_excess > 0 for result in results),
        mean_run_excess=_mean_over_zero(result.run_excess for result in results),
        mean_run_edp_saving=_mean(result.run_edp_saving for result in results),
        mean_search_energy_frac=_mean(result.search_energy_frac for result in results),
        mean_search_joules=_mean(result.search_joules for result in results),
        mean_decision_ms=1e3 * _mean(result.decision_cpu_s / max(1, result.windows - 1) for result in results),
        n=len(results),
        is_bound=any(result.is_bound for result in results),
    )


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(np.fromiter(values, dtype=np.float64)))


def _mean_over_zero(values: Iterable[float]) -> float:
    """Return the mean of the values above 0; 0 where there are none."""
    above = [value for value in values if value > 0]
    return _mean(above) if above else 0.0
