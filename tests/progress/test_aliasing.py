import math

import numpy as np
import pytest
from numpy.typing import NDArray

from gpoeo_env.progress.aliasing import alibi_of, fast_step_s, is_unlikely_beat
from gpoeo_env.progress.cycles import cut_cycles
from gpoeo_env.progress.series import Series

Floats = NDArray[np.float64]
REFRESH_S = 0.1


def counted(activity: Floats, fine_s: float = 0.001) -> Series:
    """A hardware counter: the exact mean of an activity, given every millisecond, over every refresh."""
    per_refresh = round(REFRESH_S / fine_s)
    rows = len(activity) // per_refresh
    values = np.asarray(activity[: rows * per_refresh].reshape(rows, per_refresh).mean(axis=1), np.float64)
    t_s = np.arange(1.0, rows + 1) * REFRESH_S
    return Series("sm_active", t_s, values, REFRESH_S, is_integrated=True, is_ratio=True, repeats=False)


def on_off(period_s: float, duty: float) -> Floats:
    return np.where(np.arange(0, 60, 0.001) % period_s < duty * period_s, 1.0, 0.0)


@pytest.mark.parametrize("fast_s", [0.0983, 0.1042, 0.1086, 0.1205])
@pytest.mark.parametrize("duty", [0.1, 0.5, 0.9])
def test_no_fast_activity_passes_for_a_rhythm(fast_s: float, duty: float) -> None:
    series = counted(on_off(fast_s, duty))
    beat_s = 1.0 / abs(1.0 / fast_s - 1.0 / REFRESH_S)
    cycles = cut_cycles(series, beat_s)
    assert cycles is not None
    alibi = alibi_of(series, cycles)
    assert alibi is not None
    assert alibi.divisor == 0


@pytest.mark.parametrize(("period_s", "duty"), [(1.3, 0.85), (0.71, 0.45), (4.0, 0.9)])
def test_a_pause_longer_than_a_few_refreshes_is_no_beat(period_s: float, duty: float) -> None:
    series = counted(on_off(period_s, duty))
    cycles = cut_cycles(series, period_s)
    assert cycles is not None
    alibi = alibi_of(series, cycles)
    assert alibi is not None
    assert alibi.holds


def test_a_cycle_of_which_only_a_part_is_proven_gets_no_alibi() -> None:
    """19 steps of 331.55 ms fit 63 refreshes: the pattern of 6.3 s is made of mirrored lines, only its 19th is real."""
    series = counted(on_off(0.33155, 0.6))
    cycles = cut_cycles(series, 19 * 0.33155)
    assert cycles is not None
    alibi = alibi_of(series, cycles)
    assert alibi is not None
    assert alibi.divisor == 19
    assert not alibi.holds


def test_a_sampled_sensor_gives_no_alibi() -> None:
    t_s = np.arange(0, 60, 0.1)
    sampled = Series("power_w", t_s, 2.0 + np.sin(t_s), 0.1, is_integrated=False, is_ratio=False, repeats=True)
    cycles = cut_cycles(sampled, 2 * math.pi)
    assert cycles is not None
    assert alibi_of(sampled, cycles) is None


def test_the_fast_step_beats_with_the_refresh_at_the_given_period() -> None:
    assert 1.0 / (1.0 / fast_step_s(1.27, 0.1) - 1.0 / 0.1) == pytest.approx(-1.27)
    assert math.isinf(fast_step_s(0.15, 0.1))


@pytest.mark.parametrize(
    ("repeats", "period_s", "is_unlikely"), [(False, 4.2, True), (True, 4.2, False), (True, 11, True)]
)
def test_only_very_slow_rhythms_are_believed_without_a_counter(
    repeats: bool, period_s: float, is_unlikely: bool
) -> None:
    series = Series(
        "power_w", np.arange(9.0), np.arange(9.0), 0.1, is_integrated=False, is_ratio=False, repeats=repeats
    )
    assert is_unlikely_beat(period_s, series) is is_unlikely
