from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from gpoeo_env.progress.beat import expected_refresh_s

REFRESH_S = 0.1
PERIOD_S = 0.713


def busy_seconds(t_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Busy time up to an instant of a loop that works for the first 0.3 s of each iteration."""
    return np.floor(t_s / PERIOD_S) * 0.3 + np.minimum(t_s % PERIOD_S, 0.3)


def polled(phase_s: float, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Poll every 100 or 120 ms a counter that refreshes every 100 ms, and keep the rows with a refresh."""
    t_s = np.cumsum(np.random.default_rng(seed).choice([0.1, 0.12], 90))
    refresh_s = np.floor((t_s - phase_s) / REFRESH_S) * REFRESH_S + phase_s
    has_refresh = np.concatenate(([True], np.diff(refresh_s) > 0.01))
    t_s, refresh_s = t_s[has_refresh], refresh_s[has_refresh]
    means = np.diff(busy_seconds(refresh_s)) / np.diff(refresh_s)
    return t_s, np.concatenate(([means[0]], means))


def rate(at_s: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    return float(np.dot(values[1:], np.diff(at_s)) / (at_s[-1] - at_s[0]))


def true_rate(t_s: NDArray[np.float64], phase_s: float) -> float:
    ends = np.floor((t_s[[0, -1]] - phase_s) / REFRESH_S) * REFRESH_S + phase_s
    return float(np.diff(busy_seconds(ends))[0] / (ends[1] - ends[0]))


def test_the_hidden_beat_makes_the_integral_of_an_uneven_load_right() -> None:
    errors: dict[str, list[float]] = {"polls": [], "beat": []}
    for seed in range(40):
        phase_s = 0.1 * seed / 40
        t_s, values = polled(phase_s, seed)
        truth = true_rate(t_s, phase_s)
        errors["polls"].append(rate(t_s, values) / truth - 1)
        errors["beat"].append(rate(expected_refresh_s(t_s, values, REFRESH_S), values) / truth - 1)
    assert np.std(errors["beat"]) < 0.5 * np.std(errors["polls"])


def test_a_load_without_repetition_keeps_the_poll_times_but_for_a_shift() -> None:
    t_s = np.cumsum(np.random.default_rng(1).choice([0.1, 0.12], 90))
    lag = t_s - expected_refresh_s(t_s, np.full(90, 0.5), REFRESH_S)
    assert np.ptp(lag) < 0.006


def test_times_never_go_back() -> None:
    t_s, values = polled(0.03)
    assert np.all(np.diff(expected_refresh_s(t_s, values, REFRESH_S)) >= 0)


@pytest.mark.parametrize(("rows", "interval_s"), [(90, math.nan), (90, 0.0), (10, REFRESH_S), (6000, REFRESH_S)])
def test_an_unknown_beat_and_one_that_does_not_matter_leave_the_times(rows: int, interval_s: float) -> None:
    t_s = np.linspace(0.0, 0.11 * rows, rows)
    assert expected_refresh_s(t_s, np.sin(t_s) + 1, interval_s) is t_s
