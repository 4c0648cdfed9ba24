from __future__ import annotations

import math

import pytest

from gpoeo_env.progress.alignment import aligned_window_s


@pytest.mark.parametrize(("period_s", "expected"), [(1.7, 10.2), (0.713, 9.982), (3.8, 11.4), (5.0, 10.0)])
def test_a_window_becomes_the_nearest_whole_number_of_periods(period_s: float, expected: float) -> None:
    assert aligned_window_s(10.0, period_s) == pytest.approx(expected)


def test_a_period_longer_than_the_window_makes_the_window_longer() -> None:
    assert aligned_window_s(10.0, 45.0) == 45.0


def test_at_least_the_asked_number_of_periods_is_held() -> None:
    assert aligned_window_s(10.0, 8.0, least=3) == 24.0


@pytest.mark.parametrize("period_s", [math.nan, math.inf, 0.0, -1.0])
def test_an_unknown_period_leaves_the_window_as_it_is(period_s: float) -> None:
    assert aligned_window_s(10.0, period_s) == 10.0
