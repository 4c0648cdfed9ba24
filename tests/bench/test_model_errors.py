"""What counts as a model's error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from gpoeo_env.bench.model_errors import WorkloadErrors, errors_of, errors_on, mean_errors
from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.errors import UsageError
from gpoeo_env.records import Features
from gpoeo_env.trace.sweep import SweepSet
from gpoeo_env.training import trainer_named


@dataclass
class Guess:
    """Believes that nothing ever changes, and keeps what it was told."""

    told: Features | None = None

    def log_ratios(self, features: Features, clocks: ClockTable, base: ClockPair) -> NDArray[np.float64]:
        assert base in clocks
        self.told = features
        return np.zeros((2, clocks.n_actions))


def test_errors_are_relative_means_over_the_pairs(sweeps: SweepSet) -> None:
    errors = errors_of(Guess(), sweeps.named("memory"))  # type: ignore[arg-type]
    assert errors.time == pytest.approx(np.mean(1 - 1 / np.array([1.3, 1.2, 1.2, 1.03, 1.01, 1.0])))
    assert errors.energy == pytest.approx(np.mean(1 / np.array([0.6, 0.65, 0.75, 0.7, 0.8, 1.0]) - 1))


def test_pairs_below_a_clock_do_not_count(sweeps: SweepSet) -> None:
    errors = errors_of(Guess(), sweeps.named("memory"), least_sm_mhz=1500)  # type: ignore[arg-type]
    assert errors.time == pytest.approx(np.mean([1 - 1 / 1.2, 0.0]))


def test_a_model_sees_the_counters_and_the_power_of_the_reference_alone(sweeps: SweepSet) -> None:
    guess = Guess()
    errors_of(guess, sweeps.named("memory"))  # type: ignore[arg-type]
    assert guess.told is not None
    assert (guess.told.get("power_w"), guess.told.get("sm_active")) == (200.0, 0.9)


def test_a_workload_that_was_learnt_from_is_no_test(sweeps: SweepSet) -> None:
    with pytest.raises(UsageError, match="also learnt from: compute"):
        errors_on(trainer_named("gpoeo"), sweeps, sweeps, 0.0)


def test_means_weigh_every_workload_the_same() -> None:
    rows = [WorkloadErrors("a", 0.1, 0.2), WorkloadErrors("b", 0.3, 0.6)]
    assert mean_errors(rows) == pytest.approx((0.2, 0.4))
