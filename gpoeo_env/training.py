"""What fits models to sweeps: the seam behind ``gpoeo fit``.

The core knows no model library. A *trainer* is found by entry point (group ``gpoeo.trainers``), fits a model to sweeps,
and says how wrong it is on workloads that it did not see:

    trainer = trainer_named("gpoeo")
    model = trainer.fit(sweeps.sweeps, seed=0, folds=5, advance=lambda: None)
    print(model.report.energy_error)
    model.save(Path("v100.model"))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.errors import TraceError, repeated
from gpoeo_env.records import Features
from gpoeo_env.registry import TRAINERS, load
from gpoeo_env.trace.sweep import Provenance, Sweep, SweepSet

__all__ = ["FitReport", "FittedModel", "Importance", "Trainer", "WorkloadError", "combined", "trainer_named"]


@dataclass(frozen=True, slots=True)
class WorkloadError:
    """Mean absolute errors of one workload's energy and time ratios, by models that were fitted without it.

    A ratio is relative to the reference pair: 0.03 is three points of a percentage.
    """

    workload: str
    energy: float
    time: float


@dataclass(frozen=True, slots=True)
class Importance:
    """Share of one input in what a model explains of a target, 0..1, by gain."""

    target: str
    feature: str
    share: float


@dataclass(frozen=True, slots=True)
class FitReport:
    """What a fit learned from, and how well it carries over.

    Attributes:
        errors: of each workload, from cross-validation in which whole workloads are held out, in order of the sweeps.
        importances: by target, the largest first.
        features: names of what a prediction needs.
        n_workloads: number of workloads.
        n_pairs: clock pairs of all workloads that were learned from.
        folds: groups of workloads that were held out in turn.
        seed: of everything random.
    """

    errors: tuple[WorkloadError, ...]
    importances: tuple[Importance, ...]
    features: tuple[str, ...]
    n_workloads: int
    n_pairs: int
    folds: int
    seed: int

    @property
    def energy_error(self) -> float:
        """Mean over the workloads of the error in energy."""
        return sum(error.energy for error in self.errors) / len(self.errors)

    @property
    def time_error(self) -> float:
        """Mean over the workloads of the error in time."""
        return sum(error.time for error in self.errors) / len(self.errors)


class FittedModel(Protocol):
    """A model that knows how good it is."""

    @property
    def report(self) -> FitReport:
        """How it was fitted."""

    def log_ratios(self, features: Features, clocks: ClockTable, base: ClockPair) -> NDArray[np.float64]:
        """Return expected ln time and ln energy ratios of every action, float64, shape (2, clocks.n_actions).

        Args:
            features: of a reference window; found by name, in any order; NaN = missing.
            clocks: the device's table.
            base: the clocks that the driver's default stands for.

        Raises:
            ModelError: a feature that the model was fitted on is not among them.
        """

    def save(self, folder: Path) -> None:
        """Write it.

        Raises:
            ModelError: the folder exists, or cannot be written.
        """


class Trainer(Protocol):
    """Fits models."""

    def steps(self, n_workloads: int, folds: int) -> int:
        """Return how often `fit` will call ``advance``."""

    def fit(self, sweeps: Sequence[Sweep], *, seed: int, folds: int, advance: Callable[[], None]) -> FittedModel:
        """Fit to sweeps of one GPU with the same counters; equal sweeps and seeds give equal models.

        Raises:
            ModelError: the sweeps cannot be learned from.
        """


def trainer_named(name: str) -> Trainer:
    """Return a registered trainer.

    Raises:
        UnknownNameError: there is none of that name; the message names the nearest.
        InstallationError: it cannot be loaded.
    """
    build = cast("Callable[[], Trainer]", load(TRAINERS, name))
    return build()


def combined(sets: Sequence[SweepSet]) -> SweepSet:
    """Return all sweeps of several files as one set.

    Raises:
        TraceError: they are of different GPUs, their counters differ, or a workload is in two of them.
    """
    first = sets[0]
    for other in sets[1:]:
        if other.gpu_name != first.gpu_name:
            raise TraceError(
                f"sweeps of one GPU are wanted, and these are of {first.gpu_name!r} and {other.gpu_name!r}; "
                "fit a model for each"
            )
        _check_counters(first, other)
    twice = repeated(workload for sweeps in sets for workload in sweeps.workloads)
    if twice:
        raise TraceError(f"workloads in two of the sweep files: {', '.join(twice)}; give each file once")
    origin = first.provenance
    return SweepSet(
        gpu_name=first.gpu_name,
        sweeps=tuple(sweep for sweeps in sets for sweep in sweeps.sweeps),
        provenance=Provenance(
            source="; ".join(sweeps.provenance.source for sweeps in sets),
            created_utc=max(sweeps.provenance.created_utc for sweeps in sets),
            tool=origin.tool,
            is_simulated=any(sweeps.provenance.is_simulated for sweeps in sets),
            is_relative=any(sweeps.provenance.is_relative for sweeps in sets),
        ),
        counter_units=first.counter_units,
    )


def _check_counters(first: SweepSet, other: SweepSet) -> None:
    mine, others = first.sweeps[0].counter_names, other.sweeps[0].counter_names
    if mine == others:
        return
    odd = sorted(set(mine) ^ set(others))
    what = f"{', '.join(odd[:5])} in one of them alone" if odd else "the same ones in another order"
    raise TraceError(f"sweep files with the same counters are wanted, and these have {what}; record them alike")
