import math

import numpy as np
import pytest

from gpoeo_env.progress.period_meter import PeriodMeter
from gpoeo_env.records import Window
from gpoeo_env.signals import signal_named


def window(period_s: float, *, alternating: float = 0.0, seed: int = 0) -> Window:
    """A counter with a pause in every cycle; on request every second cycle differs."""
    t_s = np.arange(0, 60, 0.1)
    cycle = t_s / period_s
    busy = 0.8 + np.where(cycle % 2 < 1, alternating, -alternating)
    values = np.where(cycle % 1 < 0.6, busy, 0.1) + 0.01 * np.random.default_rng(seed).normal(size=len(t_s))
    return Window(t_s, values[:, None], (signal_named("sm_active"),), None, None)


def test_progress_is_cycles_per_second_with_its_error() -> None:
    progress = PeriodMeter().measure(window(2.03))
    assert progress.kind == "period"
    assert progress.work_rate == pytest.approx(1 / 2.03, rel=0.002)
    assert 0 < progress.rel_sd < 0.004


def test_a_window_without_rhythm_is_refused_with_the_reason() -> None:
    progress = PeriodMeter().measure(window(29.0))
    assert progress.kind == "none"
    assert math.isnan(progress.work_rate)
    assert "no period" in progress.reason


def test_a_window_that_shows_two_iterations_as_one_cycle_keeps_the_unit() -> None:
    meter = PeriodMeter()
    meter.measure(window(2.03))
    assert meter.measure(window(2.13, alternating=0.1)).work_rate == pytest.approx(1 / 2.13, rel=0.002)


def test_a_unit_of_two_iterations_is_kept_as_well() -> None:
    meter = PeriodMeter()
    meter.measure(window(2.03, alternating=0.1))
    assert meter.measure(window(2.13)).work_rate == pytest.approx(0.5 / 2.13, rel=0.002)


def test_after_a_reset_the_unit_is_chosen_anew() -> None:
    meter = PeriodMeter()
    meter.measure(window(2.03))
    meter.reset()
    assert math.isnan(meter.period_s)
    assert meter.measure(window(2.13, alternating=0.1)).work_rate == pytest.approx(0.5 / 2.13, rel=0.002)


def test_the_period_of_the_last_window_is_known() -> None:
    meter = PeriodMeter()
    assert math.isnan(meter.period_s)
    meter.measure(window(2.03))
    assert meter.period_s == pytest.approx(2.03, rel=0.002)
