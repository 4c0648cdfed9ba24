"""Trees over a physical form: what they predict is small where the clocks change little, whatever the workload.

    ln time   = ln time law(counters)  + distance * trees(clocks, counters)            distance = |ln s| + |ln m|
    ln energy = ln power law(time)     + distance * trees(clocks, counters, power)

The trees learn what the laws miss. Without counters of SMs and memory there is no time law: the trees learn how hard
time answers to a clock altogether. Both ratios are exactly 1 at the driver's default.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray

from gpoeo_policies.gpoeo.clock_grid import read_between, spaced
from gpoeo_policies.gpoeo.monotone import never_rising
from gpoeo_policies.gpoeo.power_law import Conditions, PowerLaw
from gpoeo_policies.gpoeo.roofline import ROOFLINE_NAMES, dram_share, knows_roofline, roofline
from gpoeo_policies.gpoeo.samples import Sample, rounded
from gpoeo_policies.gpoeo.time_law import Bounds, TimeLaw

__all__ = ["TARGETS", "BoostedPhysics", "BoostingSettings"]

Array = NDArray[np.float64]

TARGETS = ("time", "energy")
CLOCK_COLUMNS = ("sm_clock_ratio", "mem_clock_ratio")
LEAST_DISTANCE = 1e-3
"""Rows nearer to the default say nothing of how a ratio grows with distance."""
LEAST_LOG_RATIO, MOST_LOG_RATIO = -3.0, 4.0


@dataclass(frozen=True, slots=True)
class BoostingSettings:
    """How the trees grow; a few hundred to some ten thousand rows, a dozen to some dozen workloads.

    Found by cross-validation on microbenchmarks of a V100 (whole families left out) and leave-one-out on measured V100,
    A100 and GTX 1080 Ti sweeps. Without effect there: other losses, leaves of whole workloads, mixtures of workloads as
    further training data, more trees of a lower rate; worse: extra-random trees, Gaussian processes. Several members
    err no less on average than one, but a dozen workloads no longer hang on the seed: over seeds, the leave-one-out
    error of time on an A100 varies by 0.13 points with four members, by 0.27 with one.
    """

    members: int = 4
    rounds: int = 45
    learning_rate: float = 0.15
    leaves: int = 15
    least_rows_in_leaf: int = 10
    column_share: float = 0.7
    row_share: float = 0.8
    l2: float = 1.0
    seed: int = 0

    def rounds_of(self, target: str) -> int:
        """Return the number of trees; what a power law misses is small, and learned with half."""
        return self.rounds if target == "time" else max(1, self.rounds // 2)

    def parameters(self, target: str, member: int) -> dict[str, Any]:
        """Return LightGBM's parameters; `Any`: its own mapping of mixed values."""
        shrink = 1 if target == "time" else 2
        return {
            "objective": "regression",
            "learning_rate": self.learning_rate,
            "num_leaves": max(2, self.leaves // shrink),
            "min_data_in_leaf": self.least_rows_in_leaf * shrink,
            "min_data_in_bin": 1,
            "feature_fraction": self.column_share,
            "bagging_fraction": self.row_share,
            "bagging_freq": 1,
            "lambda_l2": self.l2,
            "seed": self.members * self.seed + member,
            "deterministic": True,
            "force_col_wise": True,
            "num_threads": 1,
            "verbosity": -1,
        }


@dataclass(frozen=True, slots=True)
class BoostedPhysics:
    """Two laws, and trees for what each of them misses.

    Attributes:
        feature_names: power first, then counters, as in every `Sample`.
        typical_w: stands in for a power that is missing.
        time_law: time from counters; None without counters of SMs and memory.
        law: energy from time.
        boosters: by target; what they answer is averaged.
    """

    feature_names: tuple[str, ...]
    typical_w: float
    time_law: TimeLaw | None
    law: PowerLaw
    boosters: dict[str, tuple[lightgbm.Booster, ...]]

    @classmethod
    def fit(cls, samples: Sequence[Sample], names: tuple[str, ...], settings: BoostingSettings) -> BoostedPhysics:
        """Fit the laws, then the trees to what they leave."""
        typical_w = float(np.nanmedian([sample.features[0] for sample in samples]))
        rows = _stacked([_conditions(s.log_clocks, s.features, names, typical_w) for s in samples])
        log_ratios = np.concatenate([sample.log_ratios for sample in samples], axis=1)
        weights = np.concatenate([np.full(len(s.log_clocks), 1.0 / len(s.log_clocks)) for s in samples])
        law = PowerLaw.fit(rows, log_ratios, weights)
        time_law = _time_law(samples, names, weights) if knows_roofline(names) else None
        lawful_time = np.concatenate([_lawful_time(time_law, s.log_clocks, s.features, names) for s in samples])
        lawful_energy = np.log(law.energy_ratio(np.exp(log_ratios[0]), rows))
        missed = log_ratios - np.array([lawful_time, lawful_energy])
        distance = np.concatenate([_distance(sample.log_clocks) for sample in samples])
        boosters = {}
        for index, target in enumerate(TARGETS):
            inputs = np.concatenate([_inputs(target, s.log_clocks, s.features, names) for s in samples])
            boosters[target] = _grown(inputs, missed[index], distance, settings, target)
        return cls(names, typical_w, time_law, law, boosters)

    def log_ratios(self, log_clocks: Array, features: Array) -> Array:
        """Return ln time and ln energy ratios, float64, shape (2, n).

        Args:
            log_clocks: ln of the clocks relative to the base pair, shape (n, 2).
            features: in the order of ``feature_names``; NaN = missing.
        """
        distance = _distance(log_clocks)
        answers = [distance * self._answer(target, log_clocks, features) for target in TARGETS]
        raw_time = _lawful_time(self.time_law, log_clocks, features, self.feature_names) + answers[0]
        log_time = never_rising(np.clip(raw_time, LEAST_LOG_RATIO, MOST_LOG_RATIO), log_clocks)
        rows = _conditions(log_clocks, features, self.feature_names, self.typical_w)
        return np.array([log_time, np.log(self.law.energy_ratio(np.exp(log_time), rows)) + answers[1]])

    def importances(self) -> dict[str, dict[str, float]]:
        """Return by target the share of each input in what the trees explain, the largest first."""
        shares = {}
        for target, boosters in self.boosters.items():
            gain = np.sum([booster.feature_importance("gain") for booster in boosters], axis=0)
            names = _columns(target, self.feature_names)
            order = np.argsort(-gain, kind="stable")
            shares[target] = {names[index]: float(gain[index] / max(gain.sum(), 1e-30)) for index in order}
        return shares

    def _answer(self, target: str, log_clocks: Array, features: Array) -> Array:
        some = log_clocks[spaced(log_clocks)]
        inputs = _inputs(target, some, features, self.feature_names)
        answers = [booster.predict(inputs, num_threads=1) for booster in self.boosters[target]]
        return read_between(some, np.mean(answers, axis=0), log_clocks)


def _grown(
    inputs: Array, missed: Array, distance: Array, settings: BoostingSettings, target: str
) -> tuple[lightgbm.Booster, ...]:
    """Return trees of what is missed per unit of distance; far rows know it better."""
    is_far = distance > LEAST_DISTANCE
    inputs, missed, distance = inputs[is_far], missed[is_far], distance[is_far]
    weights = rounded(distance**2 / (distance**2).mean())
    labels = rounded(missed / distance)
    members = []
    for member in range(settings.members):
        data = lightgbm.Dataset(inputs, labels, weight=weights, params={"verbosity": -1})
        parameters = settings.parameters(target, member)
        members.append(lightgbm.train(parameters, data, num_boost_round=settings.rounds_of(target)))
    return tuple(members)


def _distance(log_clocks: Array) -> Array:
    total: Array = np.abs(log_clocks).sum(axis=1)
    return total


def _knows_counters(names: Sequence[str]) -> bool:
    return len(names) > 1


def _columns(target: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the inputs; power tells of time only where nothing else tells workloads apart."""
    own = names[1:] if target == "time" and _knows_counters(names) else names
    return (*CLOCK_COLUMNS, *(ROOFLINE_NAMES if knows_roofline(names) else ()), *own)


def _inputs(target: str, log_clocks: Array, features: Array, names: Sequence[str]) -> Array:
    own = features[1:] if target == "time" and _knows_counters(names) else features
    values = rounded(np.concatenate((roofline(names, features), own)))
    table = np.empty((len(log_clocks), 2 + len(values)))
    table[:, :2] = rounded(np.exp(log_clocks))
    table[:, 2:] = values
    return table


def _conditions(log_clocks: Array, features: Array, names: Sequence[str], typical_w: float) -> Conditions:
    watts = features[0] if features[0] > 0 else typical_w
    clocks = np.exp(log_clocks)
    return Conditions(clocks[:, 0], clocks[:, 1], float(watts), dram_share(names, features))


def _stacked(parts: Sequence[Conditions]) -> Conditions:
    return Conditions(
        np.concatenate([part.sm for part in parts]),
        np.concatenate([part.mem for part in parts]),
        np.concatenate([np.full(len(part.sm), part.watts) for part in parts]),
        np.concatenate([np.full(len(part.sm), part.dram) for part in parts]),
    )


def _time_law(samples: Sequence[Sample], names: Sequence[str], weights: Array) -> TimeLaw:
    sizes = [len(sample.log_clocks) for sample in samples]
    busy, traffic, utilisation = np.array([_bounds(sample.features, names) for sample in samples]).T.repeat(
        sizes, axis=1
    )
    clocks = np.exp(np.concatenate([sample.log_clocks for sample in samples]))
    log_time = np.concatenate([sample.log_ratios[0] for sample in samples])
    return TimeLaw.fit(clocks, Bounds(busy, traffic, utilisation), log_time, weights)


def _lawful_time(law: TimeLaw | None, log_clocks: Array, features: Array, names: Sequence[str]) -> Array:
    if law is None:
        return np.zeros(len(log_clocks))
    return law.log_ratio(np.exp(log_clocks), Bounds(*_bounds(features, names)))


def _bounds(features: Array, names: Sequence[str]) -> tuple[float, float, float]:
    """Return how busy GPU and memory are, and how much traffic there is, as `Bounds` wants them."""
    return (
        _share("gpu_util", names, features, unknown=1.0),
        dram_share(names, features),
        _share("mem_util", names, features, unknown=0.0),
    )


def _share(name: str, names: Sequence[str], features: Array, *, unknown: float) -> float:
    value = features[names.index(name)] if name in names else np.nan
    return unknown if np.isnan(value) else float(value)
