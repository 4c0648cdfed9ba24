"""Models of time and energy over all clock pairs, from counters read at the driver's default.

    model = EnergyTimeModel().fit(sweeps)
    log_ratios = model.log_ratios(features, clocks, base)    # of every action
    prior = model.predict(features, clocks, base)            # the same, with the covariance of their error

One model over all pairs shares what neighbouring clocks have in common (GPOEO paper, section IV, has one XGBoost model
for each clock and objective). What is predicted, and from what, says `gpoeo_policies.gpoeo.boosting`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.errors import ModelError, nearest_names
from gpoeo_env.records import Features
from gpoeo_env.trace.sweep import Sweep
from gpoeo_policies.gpoeo.belief import Prior
from gpoeo_policies.gpoeo.boosting import BoostedPhysics, BoostingSettings
from gpoeo_policies.gpoeo.prior import error_covariance, log_relative_clocks
from gpoeo_policies.gpoeo.samples import Sample, chosen_features
from gpoeo_policies.gpoeo.spread import ErrorPatterns

__all__ = ["FOLDS", "EnergyTimeModel", "HeldOutError"]

Array = NDArray[np.float64]

LEAST_WORKLOADS = 2
FOLDS = 5


def _no_progress() -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class HeldOutError:
    """Mean absolute errors of one workload's ratios over its clock pairs, by models that had not seen it."""

    workload: str
    time: float
    energy: float


class EnergyTimeModel:
    """Predicts ln time and ln energy ratios of every action, and how wrong it may be.

    Attributes:
        physics_: what predicts; None before `fit`.
        errors_: how wrong predictions were on workloads that a fit had not seen.
        held_out_: the same by workload, in the order of the sweeps; empty for a model that was read from a file.
        n_rows_: clock pairs of all workloads that were learned from; 0 likewise.
    """

    def __init__(self, settings: BoostingSettings | None = None, folds: int = FOLDS) -> None:
        """Take settings, and the number of groups of workloads that are held out in turn.

        `fit` or `from_parts` makes the model usable.
        """
        self.settings = settings or BoostingSettings()
        self.folds = folds
        self.physics_: BoostedPhysics | None = None
        self.errors_ = ErrorPatterns(np.zeros((1, 2)), np.zeros((1, 2, 1)))
        self.held_out_: tuple[HeldOutError, ...] = ()
        self.n_rows_ = 0

    def fit(self, sweeps: Sequence[Sweep], advance: Callable[[], None] = _no_progress) -> EnergyTimeModel:
        """Fit on sweeps, and measure the error on workloads that a fit did not see.

        Args:
            sweeps: of the same GPU, with the same counters.
            advance: is called after each of ``fits(len(sweeps))`` fits.

        Raises:
            ModelError: there are fewer than two workloads, or their counters differ.
        """
        if len(sweeps) < LEAST_WORKLOADS:
            raise ModelError(
                f"models need sweeps of at least {LEAST_WORKLOADS} workloads to learn from; there are {len(sweeps)}; "
                "record more, or search without a model (gpoeo,start=top)"
            )
        if len({sweep.counter_names for sweep in sweeps}) != 1:
            raise ModelError("models need sweeps with the same counters in the same order")
        names = chosen_features(sweeps)
        samples = [Sample.of(sweep, names) for sweep in sweeps]
        predicted = self._out_of_fold(samples, names, advance)
        seen = [(s.log_clocks, s.log_ratios - p) for s, p in zip(samples, predicted, strict=True)]
        self.errors_ = ErrorPatterns.of(seen)
        self.held_out_ = tuple(_held_out(s, p) for s, p in zip(samples, predicted, strict=True))
        self.n_rows_ = sum(len(sample.log_clocks) for sample in samples)
        self.physics_ = BoostedPhysics.fit(samples, names, self.settings)
        advance()
        return self

    def fits(self, n_workloads: int) -> int:
        """Return how many fits `fit` takes."""
        return min(self.folds, n_workloads) + 1

    @classmethod
    def from_parts(cls, settings: BoostingSettings, physics: BoostedPhysics, errors: ErrorPatterns) -> EnergyTimeModel:
        """Put a fitted model together again."""
        model = cls(settings)
        model.physics_, model.errors_ = physics, errors
        return model

    @property
    def physics(self) -> BoostedPhysics:
        """What predicts.

        Raises:
            ModelError: the model has not been fitted.
        """
        if self.physics_ is None:
            raise ModelError("this model has not been fitted; call fit() or load one")
        return self.physics_

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features that a prediction needs."""
        return self.physics.feature_names

    def log_ratios(self, features: Features, clocks: ClockTable, base: ClockPair) -> Array:
        """Return expected ln time and ln energy ratios of every action, float64, shape (2, clocks.n_actions).

        Args:
            features: of a reference window; found by name, in any order; NaN = missing.
            clocks: the device's table.
            base: the clocks that the driver's default stands for.

        Raises:
            ModelError: the model has not been fitted, or a feature it was fitted on is not among them.
        """
        return self.physics.log_ratios(log_relative_clocks(clocks, base), self._values(features))

    def predict(self, features: Features, clocks: ClockTable, base: ClockPair) -> Prior:
        """Return what `log_ratios` does, with the covariance of its error.

        Raises:
            ModelError: as there.
        """
        log_clocks = log_relative_clocks(clocks, base)
        mean = self.physics.log_ratios(log_clocks, self._values(features))
        return Prior(mean, error_covariance(self.errors_.at(log_clocks), log_clocks))

    def describe(self) -> dict[str, Any]:
        """Return all but the trees as plain data; `Any`: JSON."""
        return {
            "settings": asdict(self.settings),
            "feature_names": list(self.physics.feature_names),
            "typical_w": self.physics.typical_w,
            "time_law": None if self.physics.time_law is None else asdict(self.physics.time_law),
            "power_law": asdict(self.physics.law),
            "error_clocks": self.errors_.log_clocks.tolist(),
            "error_patterns": self.errors_.patterns.tolist(),
        }

    def _values(self, features: Features) -> Array:
        unknown = [name for name in self.feature_names if name not in features.names]
        if unknown:
            raise ModelError(
                f"the model was fitted on feature {unknown[0]!r}, which this device does not report "
                f"({nearest_names(unknown[0], features.names)}); fit a model on sweeps with this device's counters"
            )
        return np.array([features.get(name) for name in self.feature_names])

    def _out_of_fold(
        self, samples: Sequence[Sample], names: tuple[str, ...], advance: Callable[[], None]
    ) -> list[Array]:
        """Return each workload's ln ratios as predicted by models that were fitted without it, each shape (2, n)."""
        n_folds = min(self.folds, len(samples))
        fold_of = np.random.default_rng(self.settings.seed).permutation(len(samples)) % n_folds
        predicted = [np.empty(0)] * len(samples)
        for fold in range(n_folds):
            seen = [sample for sample, its_fold in zip(samples, fold_of, strict=True) if its_fold != fold]
            physics = BoostedPhysics.fit(seen, names, self.settings)
            for index in np.flatnonzero(fold_of == fold).tolist():
                predicted[index] = physics.log_ratios(samples[index].log_clocks, samples[index].features)
            advance()
        return predicted


def _held_out(sample: Sample, predicted: Array) -> HeldOutError:
    time, energy = np.abs(np.exp(predicted) - np.exp(sample.log_ratios)).mean(axis=1).tolist()
    return HeldOutError(sample.workload, time, energy)
