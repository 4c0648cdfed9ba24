"""How wrong models are on workloads that they have not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.errors import UsageError
from gpoeo_env.records import Features
from gpoeo_env.signals import POWER
from gpoeo_env.trace.sweep import Sweep, SweepSet
from gpoeo_env.training import FittedModel, Trainer

__all__ = ["WorkloadErrors", "errors_of", "errors_on", "left_out_errors", "mean_errors"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class WorkloadErrors:
    """Errors of one workload's predicted ratios, |predicted / true - 1|, means over its pairs.

    Relative, because a ratio of 15 at the lowest memory clock that is missed by 3 % is missed no worse than one of 1.

    Attributes:
        workload: which.
        time: of the time ratio, a fraction.
        energy: of the energy ratio, a fraction.
    """

    workload: str
    time: float
    energy: float


def errors_on(trainer: Trainer, train: SweepSet, test: SweepSet, least_sm_mhz: float) -> list[WorkloadErrors]:
    """Fit once, and predict every workload of another set.

    Raises:
        UsageError: a workload is in both sets.
        ModelError: the models cannot be fitted, or the sets have different counters.
    """
    both = set(train.workloads) & set(test.workloads)
    if both:
        raise UsageError(f"a workload to predict was also learnt from: {min(both)}; take it out of one of the two")
    model = _fitted(trainer, train.sweeps)
    return [errors_of(model, sweep, least_sm_mhz) for sweep in test.sweeps]


def left_out_errors(trainer: Trainer, sweeps: SweepSet, least_sm_mhz: float) -> list[WorkloadErrors]:
    """Predict every workload by models that were fitted on all others.

    Raises:
        ModelError: the models cannot be fitted.
    """
    return [errors_of(_fitted(trainer, sweeps.others(sweep.workload)), sweep, least_sm_mhz) for sweep in sweeps.sweeps]


def errors_of(model: FittedModel, sweep: Sweep, least_sm_mhz: float = 0.0) -> WorkloadErrors:
    """Predict a workload from its counters at the reference, and compare with what was recorded.

    Args:
        model: fitted.
        sweep: what it has not seen.
        least_sm_mhz: errors count at this SM clock and above.
    """
    row = sweep.reference_row
    features = Features.of(
        {
            POWER.name: float(sweep.watts[row]),
            **dict(zip(sweep.counter_names, sweep.counters[row].tolist(), strict=True)),
        }
    )
    predicted = np.exp(model.log_ratios(features, sweep.clocks, sweep.reference))[:, 1:]
    counts = sweep.clocks.mhz[:, 0] >= least_sm_mhz
    time, energy = (
        float(np.mean(np.abs(guess[counts] / true[counts] - 1.0)))
        for guess, true in zip(predicted, (sweep.time_ratio, sweep.energy_ratio), strict=True)
    )
    return WorkloadErrors(sweep.workload, time, energy)


def mean_errors(rows: Sequence[WorkloadErrors]) -> tuple[float, float]:
    """Return the means of the time and energy errors over some workloads."""
    return float(np.mean([row.time for row in rows])), float(np.mean([row.energy for row in rows]))


def _fitted(trainer: Trainer, sweeps: Sequence[Sweep]) -> FittedModel:
    return trainer.fit(sweeps, seed=0, folds=2, advance=lambda: None)  # its own cross-validation is not looked at
