import math

import numpy as np
import pytest
from numpy.typing import NDArray

from gpoeo_env.progress.refresh import distinct_updates, unrefreshed_as_missing, unrefreshed_rows, update_interval_s
from gpoeo_env.records import Window
from gpoeo_env.signals import signal_named

Floats = NDArray[np.float64]


def held(t_s: Floats, interval_s: float, seed: int = 0, phase_s: float = 0.013) -> Floats:
    """A sensor that refreshes every interval and is polled at the given times."""
    refresh = np.floor((t_s - phase_s) / interval_s).astype(int)
    values: Floats = np.random.default_rng(seed).normal(300, 40, refresh.max() + 2)[refresh]
    return values


@pytest.mark.parametrize(("interval_s", "poll_s"), [(0.1, 0.02), (0.2, 0.02), (0.1, 0.05), (0.1001, 0.02)])
def test_the_update_interval_is_found_from_repeats(interval_s: float, poll_s: float) -> None:
    t_s = np.arange(0, 60, poll_s)
    assert update_interval_s(t_s, held(t_s, interval_s)) == pytest.approx(interval_s, rel=0.002)


def test_the_update_interval_survives_late_and_dropped_polls() -> None:
    rng = np.random.default_rng(1)
    polls_s = np.sort(np.arange(0, 60, 0.02) + rng.exponential(0.003, 3000))
    t_s = np.asarray(polls_s[rng.uniform(size=3000) > 0.1], dtype=np.float64)
    assert update_interval_s(t_s, held(t_s, 0.1)) == pytest.approx(0.1, rel=0.005)


def test_a_series_that_never_repeats_has_an_unknown_update_interval() -> None:
    t_s = np.arange(0, 20, 0.02)
    assert math.isnan(update_interval_s(t_s, np.random.default_rng(0).normal(size=len(t_s))))


def test_a_program_that_switches_between_two_levels_is_not_taken_for_a_slow_sensor() -> None:
    t_s = np.arange(0, 60, 0.02)
    assert math.isnan(update_interval_s(t_s, np.where(t_s % 2.0 < 1.0, 500.0, 300.0)))


@pytest.mark.parametrize("values", [np.zeros(100), np.full(100, np.nan), np.empty(0), np.ones(1)])
def test_nothing_to_see_gives_no_update_interval(values: Floats) -> None:
    t_s = np.arange(0.0, len(values), dtype=np.float64) / 50.0
    assert math.isnan(update_interval_s(np.asarray(t_s, dtype=np.float64), values))


def test_repeats_collapse_to_one_row_per_refresh() -> None:
    t_s = np.arange(0, 30, 0.02)
    values = held(t_s, 0.1)
    updates_s, updates = distinct_updates(t_s, values)
    assert len(updates) == pytest.approx(300, abs=2)
    assert np.diff(updates_s)[1:] == pytest.approx(0.1, abs=0.021)
    assert np.isin(updates, values).all()


def test_a_value_that_stays_the_same_is_kept_once_per_refresh() -> None:
    t_s = np.arange(0, 30, 0.02)
    values = np.where((t_s > 10) & (t_s < 20), 100.0, held(t_s, 0.2))
    updates_s, _ = distinct_updates(t_s, values)
    assert np.count_nonzero((updates_s > 10.5) & (updates_s < 19.5)) == pytest.approx(45, abs=2)


def polled_counters(poll_s: float = 0.02, *, pause: bool = False) -> tuple[Floats, Floats, Floats]:
    """Times, two counters that read 0 inside a 100 ms refresh, and power; a pause in each second on request."""
    t_s = np.arange(0, 20, poll_s)
    refresh = np.floor(t_s / 0.1 + 1e-9).astype(int)
    is_refreshed = np.concatenate(([True], np.diff(refresh) > 0))
    is_idle = (t_s % 1.0 > 0.75) if pause else np.zeros(len(t_s), dtype=bool)
    truth = np.where(is_idle, 0.0, 0.8)
    counters = np.column_stack([np.where(is_refreshed, truth, 0.0), np.where(is_refreshed, truth / 2, 0.0)])
    return t_s, counters, np.where(is_idle, 120.0, 500.0)


def test_zeros_inside_a_refresh_are_missing() -> None:
    t_s, counters, power_w = polled_counters()
    rows = unrefreshed_rows(t_s, counters, power_w=power_w, gpu_util=None)
    assert np.array_equal(rows, counters[:, 0] == 0)


def test_pauses_that_power_confirms_stay_zero_once_per_refresh() -> None:
    t_s, counters, power_w = polled_counters(pause=True)
    rows = unrefreshed_rows(t_s, counters, power_w=power_w, gpu_util=None)
    assert counters[~rows, 0].mean() == pytest.approx(0.8 * 0.75, abs=0.05)


def test_zeros_under_full_utilisation_are_missing_although_power_is_low() -> None:
    t_s, counters, power_w = polled_counters(pause=True)
    rows = unrefreshed_rows(t_s, counters, power_w=power_w, gpu_util=np.ones(len(t_s)))
    assert not (counters[~rows, 0] == 0).any()


def test_an_idle_gpu_keeps_its_zeros() -> None:
    t_s = np.arange(0, 10, 0.1)
    zeros = np.zeros((len(t_s), 2))
    rows = unrefreshed_rows(t_s, zeros, power_w=np.full(len(t_s), 70.0), gpu_util=np.zeros(len(t_s)))
    assert not rows.any()


def test_a_window_loses_only_the_counters_of_unrefreshed_rows() -> None:
    t_s, counters, power_w = polled_counters()
    names = ("power_w", "sm_active", "dram_active", "gpu_util")
    values = np.column_stack([power_w, counters, np.zeros(len(t_s))])
    window = Window(t_s, values, tuple(signal_named(name) for name in names), None, None)
    cleaned = unrefreshed_as_missing(window)
    assert np.nanmean(cleaned.values[:, 1]) == pytest.approx(0.8)
    assert np.nanmean(cleaned.values[:, 2]) == pytest.approx(0.4)
    assert np.array_equal(cleaned.values[:, 0], power_w)
    assert np.array_equal(cleaned.values[:, 3], np.zeros(len(t_s)))
    assert not np.isnan(window.values).any()


def test_a_window_without_counters_comes_back_as_it_is() -> None:
    window = Window(np.arange(3.0), np.zeros((3, 1)), (signal_named("power_w"),), None, None)
    assert unrefreshed_as_missing(window) is window
