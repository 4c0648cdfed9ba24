"""Boosted models of time and energy over all clock pairs, from counters read at the driver's default.

    model = EnergyTimeModel().fit(sweeps)
    prior = model.predict(features, clocks, base)     # ratios of every action, with their covariance

Two LightGBM regressors predict ln(time ratio) and ln(energy ratio) from the clocks relative to the base pair and
the features of the reference window (GPOEO paper, section IV, there one model a clock and objective with XGBoost;
one model over all pairs shares what neighbouring clocks have in common). Time never rises with either clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.errors import ModelError, nearest_names
from gpoeo_env.records import Features
from gpoeo_env.signals import ENERGY, MEM_CLOCK, POWER, SM_CLOCK, WORK
from gpoeo_env.trace.sweep import Sweep
from gpoeo_policies.gpoeo.belief import Prior
from gpoeo_policies.gpoeo.prior import error_covariance, log_relative_clocks

__all__ = ["BoostingSettings", "EnergyTimeModel"]

Array = NDArray[np.float64]

CLOCK_COLUMNS = ("sm_clock_ratio", "mem_clock_ratio")
TARGETS = ("time", "energy")
_OWN_SIGNALS = {signal.name for signal in (ENERGY, WORK, POWER, SM_CLOCK, MEM_CLOCK)}
LEAST_WORKLOADS = 2
FOLDS = 5


@dataclass(frozen=True, slots=True)
class BoostingSettings:
    """How the trees grow; a few hundred to some ten thousand rows, a dozen to some dozen workloads.

    Found by leave-one-workload-out error on measured V100, A100 and GTX 1080 Ti sweeps. Without effect there: other
    losses, extra-random trees, ensembles, half the columns a tree.
    """

    rounds: int = 300
    learning_rate: float = 0.05
    leaves: int = 15
    least_rows_in_leaf: int = 10
    column_share: float = 0.7
    row_share: float = 0.8
    l2: float = 1.0
    seed: int = 0

    def parameters(self, n_features: int, *, falls_with_clocks: bool) -> dict[str, Any]:
        """Return LightGBM's parameters; `Any`: its own mapping of mixed values."""
        clock_sign = -1 if falls_with_clocks else 0
        return {
            "objective": "regression",
            "learning_rate": self.learning_rate,
            "num_leaves": self.leaves,
            "min_data_in_leaf": self.least_rows_in_leaf,
            "min_data_in_bin": 1,
            "feature_fraction": self.column_share,
            "bagging_fraction": self.row_share,
            "bagging_freq": 1,
            "lambda_l2": self.l2,
            "monotone_constraints": [clock_sign] * len(CLOCK_COLUMNS) + [0] * n_features,
            "seed": self.seed,
            "deterministic": True,
            "force_col_wise": True,
            "num_threads": 1,
            "verbosity": -1,
        }


class EnergyTimeModel:
    """Predicts ln time and ln energy ratios of every action, and how wrong it may be."""

    def __init__(self, settings: BoostingSettings | None = None) -> None:
        """Take settings; `fit` or `from_parts` makes the model usable."""
        self.settings = settings or BoostingSettings()
        self.feature_names_: tuple[str, ...] = ()
        self.boosters_: dict[str, lightgbm.Booster] = {}
        self.error_clocks_: Array = np.empty((0, 2))
        self.errors_: Array = np.empty((0, 2, 0))

    def fit(self, sweeps: Sequence[Sweep]) -> EnergyTimeModel:
        """Fit on sweeps, and measure the error on workloads that a fit did not see.

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
        samples = [_Samples.of(sweep) for sweep in sweeps]
        self.feature_names_ = _feature_names(sweeps[0])
        self.error_clocks_ = np.unique(np.concatenate([s.log_clocks for s in samples]).round(9), axis=0)
        self.errors_ = self._errors_out_of_fold(samples)
        self.boosters_ = self._boosters(samples)
        return self

    @classmethod
    def from_parts(
        cls,
        settings: BoostingSettings,
        feature_names: tuple[str, ...],
        boosters: dict[str, lightgbm.Booster],
        error_clocks: Array,
        errors: Array,
    ) -> EnergyTimeModel:
        """Put a fitted model together again."""
        model = cls(settings)
        model.feature_names_, model.boosters_ = feature_names, boosters
        model.error_clocks_, model.errors_ = error_clocks, errors
        return model

    def predict(self, features: Features, clocks: ClockTable, base: ClockPair) -> Prior:
        """Return expected log ratios of every action of a table, with the covariance of their error.

        Args:
            features: of a reference window; found by name, in any order; NaN = missing.
            clocks: the device's table.
            base: the clocks that the driver's default stands for.

        Raises:
            ModelError: the model has not been fitted, or a feature it was fitted on is not among them.
        """
        if not self.boosters_:
            raise ModelError("this model has not been fitted; call fit() or load one")
        log_clocks = log_relative_clocks(clocks, base)
        mean = _log_ratios(self.boosters_, log_clocks, self._values(features))
        errors = self.errors_[:, :, _nearest(self.error_clocks_, log_clocks)]
        covariance = error_covariance(errors, log_clocks)
        return Prior(mean, covariance)

    def _values(self, features: Features) -> Array:
        unknown = [name for name in self.feature_names_ if name not in features.names]
        if unknown:
            raise ModelError(
                f"the model was fitted on feature {unknown[0]!r}, which this device does not report "
                f"({nearest_names(unknown[0], features.names)}); fit a model on sweeps with this device's counters"
            )
        return np.array([features.get(name) for name in self.feature_names_])

    def _boosters(self, samples: Sequence[_Samples]) -> dict[str, lightgbm.Booster]:
        columns = [*CLOCK_COLUMNS, *(f"feature_{index}" for index in range(len(self.feature_names_)))]
        rows = np.concatenate([s.rows() for s in samples])
        boosters = {}
        for index, target in enumerate(TARGETS):
            labels = np.concatenate([s.log_ratios[index] for s in samples])
            data = lightgbm.Dataset(rows, labels, feature_name=columns, params={"verbosity": -1})
            parameters = self.settings.parameters(len(self.feature_names_), falls_with_clocks=target == "time")
            boosters[target] = lightgbm.train(parameters, data, num_boost_round=self.settings.rounds)
        return boosters

    def _errors_out_of_fold(self, samples: Sequence[_Samples]) -> Array:
        """Return each workload's errors by models that were fitted without it, shape (n_workloads, 2, n_clocks)."""
        n_folds = min(FOLDS, len(samples))
        fold_of = np.random.default_rng(self.settings.seed).permutation(len(samples)) % n_folds
        errors = np.empty((len(samples), 2, len(self.error_clocks_)))
        for fold in range(n_folds):
            boosters = self._boosters([s for s, f in zip(samples, fold_of, strict=True) if f != fold])
            for index in np.flatnonzero(fold_of == fold).tolist():
                sample = samples[index]
                error = sample.log_ratios - _log_ratios(boosters, sample.log_clocks, sample.features)
                errors[index] = error[:, _nearest(sample.log_clocks, self.error_clocks_)]
        return errors

    def describe(self) -> dict[str, Any]:
        """Return all but the trees as plain data; `Any`: JSON."""
        return {
            "settings": asdict(self.settings),
            "feature_names": list(self.feature_names_),
            "error_clocks": self.error_clocks_.tolist(),
            "errors": self.errors_.tolist(),
        }


@dataclass(frozen=True, slots=True)
class _Samples:
    """One workload as rows for a fit: clocks (n, 2), log ratios (2, n) and the features at the reference (k,)."""

    log_clocks: Array
    log_ratios: Array
    features: Array

    @classmethod
    def of(cls, sweep: Sweep) -> _Samples:
        return cls(
            log_clocks=log_relative_clocks(sweep.clocks, sweep.reference)[1:],
            log_ratios=np.log([sweep.time_ratio, sweep.energy_ratio]),
            features=np.concatenate(
                ([sweep.watts[sweep.reference_row]], sweep.counters[sweep.reference_row, _counter_columns(sweep)])
            ),
        )

    def rows(self) -> Array:
        return _rows(self.log_clocks, self.features)


def _feature_names(sweep: Sweep) -> tuple[str, ...]:
    """Return the features of a reference window: its power, which every device reports, and the counters."""
    return (POWER.name, *(sweep.counter_names[column] for column in _counter_columns(sweep)))


def _counter_columns(sweep: Sweep) -> list[int]:
    """Return the counters proper: what a device reports in its own right is no counter of a recording."""
    return [column for column, name in enumerate(sweep.counter_names) if name not in _OWN_SIGNALS]


def _rows(log_clocks: Array, features: Array) -> Array:
    return np.column_stack((np.exp(log_clocks), np.broadcast_to(features, (len(log_clocks), len(features)))))


def _log_ratios(boosters: dict[str, lightgbm.Booster], log_clocks: Array, features: Array) -> Array:
    """Return ln time and ln energy, shape (2, n), shifted so that the base clocks predict exactly no change."""
    rows = _rows(np.concatenate((np.zeros((1, 2)), log_clocks)), features)
    predicted = np.array([boosters[target].predict(rows, num_threads=1) for target in TARGETS])
    shifted: Array = predicted[:, 1:] - predicted[:, :1]
    return shifted


def _nearest(known: Array, wanted: Array) -> NDArray[np.intp]:
    """Return for each wanted pair of log clocks the index of the nearest known one."""
    distance = np.abs(wanted[:, None, :] - known[None, :, :]).sum(axis=2)
    nearest: NDArray[np.intp] = np.argmin(distance, axis=1)
    return nearest
