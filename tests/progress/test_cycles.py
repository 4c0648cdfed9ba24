import numpy as np
import pytest
from numpy.typing import NDArray

from gpoeo_env.progress.cycles import Cycles, cut_cycles, timing_of
from gpoeo_env.progress.series import Series

Floats = NDArray[np.float64]


def series(t_s: Floats, values: Floats, *, is_integrated: bool = False) -> Series:
    step_s = float(np.median(np.diff(t_s)))
    return Series("x", t_s, values, step_s, is_integrated=is_integrated, is_ratio=False, repeats=False)


def square(t_s: Floats, period_s: float, *, noise: float = 0.1, seed: int = 0) -> Floats:
    return 2.0 + (t_s % period_s < 0.5 * period_s) + noise * np.random.default_rng(seed).normal(size=len(t_s))


def cut(t_s: Floats, values: Floats, period_s: float) -> Cycles:
    cycles = cut_cycles(series(t_s, values), period_s)
    assert cycles is not None
    return cycles


T_S = np.arange(0, 60, 0.1)


def test_the_true_period_has_far_more_evidence_than_a_wrong_one() -> None:
    values = square(T_S, 2.5)
    assert cut(T_S, values, 2.5).nats > 60
    assert cut(T_S, values, 2.9).nats < 12


@pytest.mark.parametrize("period_s", [0.9, 2.3, 7.1])
def test_noise_seldom_has_more_evidence_than_chance_gives(period_s: float) -> None:
    white = np.random.default_rng(0).normal(size=(200, len(T_S)))
    nats = [cut(T_S, row, period_s).nats for row in np.concatenate((white, np.cumsum(white, axis=1)))]
    assert np.mean(np.array(nats) > 8) < 0.02
    assert max(nats) < 16


def test_fewer_than_six_cycles_are_no_evidence() -> None:
    assert cut_cycles(series(T_S, square(T_S, 11.0)), 11.0) is None


def test_a_flat_series_has_no_cycles() -> None:
    assert cut_cycles(series(T_S, np.full(len(T_S), 3.0)), 2.0) is None


@pytest.mark.parametrize("error_s", [-0.008, 0.004])
def test_timing_corrects_a_period_that_is_slightly_off(error_s: float) -> None:
    timing = timing_of(cut(T_S, square(T_S, 2.5), 2.5 + error_s))
    assert timing.correction_s == pytest.approx(-error_s, abs=0.0015)


def test_the_error_of_a_wandering_rhythm_is_larger_than_that_of_a_steady_one() -> None:
    rng = np.random.default_rng(0)
    starts_s = np.concatenate(([0.0], np.cumsum(2.5 * (1 + 0.05 * rng.normal(size=40)))))
    phase = np.interp(T_S, starts_s, np.arange(len(starts_s)))
    wandering = timing_of(cut(T_S, square(phase, 1.0), 2.5)).uncertainty_s
    assert wandering > 3 * timing_of(cut(T_S, square(T_S, 2.5), 2.5)).uncertainty_s


def test_the_stated_error_of_the_period_covers_the_truth() -> None:
    errors = []
    for seed in range(40):
        timing = timing_of(cut(T_S, square(T_S, 2.37, noise=0.5, seed=seed), 2.37))
        errors.append(abs(timing.correction_s) / timing.uncertainty_s)
    assert np.mean(np.array(errors) < 2.0) >= 0.9


def test_a_rhythm_that_stops_half_way_loses_its_strength_there() -> None:
    values = np.where(T_S < 30, square(T_S, 2.5), 2.5)
    strength = timing_of(cut(T_S, values, 2.5)).block_strength()
    assert strength[:2].min() > 1.5
    assert abs(strength[-2:]).max() < 0.3
