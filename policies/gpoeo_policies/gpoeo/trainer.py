"""The trainer behind ``gpoeo fit``: the entry point ``gpoeo`` of the group ``gpoeo.trainers``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.records import Features
from gpoeo_env.trace.sweep import Sweep
from gpoeo_env.training import FitReport, Importance, WorkloadError
from gpoeo_policies.gpoeo.boosting import BoostingSettings
from gpoeo_policies.gpoeo.bundle import save_model
from gpoeo_policies.gpoeo.models import EnergyTimeModel

__all__ = ["GpoeoTrainer", "TrainedModel", "build"]


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A fitted model with its report."""

    model: EnergyTimeModel
    report: FitReport

    def log_ratios(self, features: Features, clocks: ClockTable, base: ClockPair) -> NDArray[np.float64]:
        """Return what `EnergyTimeModel.log_ratios` does.

        Raises:
            ModelError: as there.
        """
        return self.model.log_ratios(features, clocks, base)

    def save(self, folder: Path) -> None:
        """Write the bundle that ``gpoeo,model=FOLDER`` reads.

        Raises:
            ModelError: the folder exists, or cannot be written.
        """
        save_model(self.model, folder)


class GpoeoTrainer:
    """Fits the boosted models of time and energy."""

    def steps(self, n_workloads: int, folds: int) -> int:
        """Return the number of fits: one a fold, and one to all."""
        return EnergyTimeModel(folds=folds).fits(n_workloads)

    def fit(self, sweeps: Sequence[Sweep], *, seed: int, folds: int, advance: Callable[[], None]) -> TrainedModel:
        """Fit to sweeps of one GPU.

        Raises:
            ModelError: there are fewer than two workloads, or their counters differ.
        """
        model = EnergyTimeModel(BoostingSettings(seed=seed), folds).fit(sweeps, advance)
        report = FitReport(
            errors=tuple(WorkloadError(held.workload, held.energy, held.time) for held in model.held_out_),
            importances=tuple(
                Importance(target, feature, share)
                for target, shares in model.physics.importances().items()
                for feature, share in shares.items()
            ),
            features=model.feature_names,
            n_workloads=len(sweeps),
            n_pairs=model.n_rows_,
            folds=min(folds, len(sweeps)),
            seed=seed,
        )
        return TrainedModel(model, report)


def build() -> GpoeoTrainer:
    """Return the trainer."""
    return GpoeoTrainer()
