from __future__ import annotations

import math

import numpy as np
import pytest

from gpoeo_env.progress.choosing import ChoosingMeter
from gpoeo_env.records import Progress, Window

WINDOW = Window(np.array([0.0, 1.0]), np.zeros((2, 0)), (), None, None)


class Scripted:
    """A meter that gives the next of its rates, the last one for ever; NaN refuses."""

    def __init__(self, kind: str, *rates: float, period_s: float = math.nan) -> None:
        self.kind, self.rates, self.period_s = kind, list(rates), period_s
        self.resets = self.asked = 0

    def measure(self, _window: Window) -> Progress:
        rate = self.rates[min(self.asked, len(self.rates) - 1)]
        self.asked += 1
        if math.isnan(rate):
            return Progress(math.nan, math.nan, "none", f"{self.kind} cannot tell")
        return Progress(rate, 0.01, self.kind)

    def reset(self) -> None:
        self.resets += 1


def test_the_first_meter_that_can_tell_is_chosen() -> None:
    progress = ChoosingMeter(Scripted("marks", math.nan), Scripted("counter_work", 2.0)).measure(WINDOW)
    assert (progress.kind, progress.work_rate) == ("counter_work", 2.0)


def test_the_reason_says_why_no_better_meter_was_chosen() -> None:
    meter = ChoosingMeter(Scripted("marks", math.nan), Scripted("counter_work", 2.0))
    assert [meter.measure(WINDOW).reason for _ in range(2)] == ["marks cannot tell"] * 2


def test_all_refusals_are_told_when_none_can_tell() -> None:
    progress = ChoosingMeter(Scripted("marks", math.nan), Scripted("period", math.nan)).measure(WINDOW)
    assert math.isnan(progress.work_rate)
    assert progress.reason == "marks cannot tell; period cannot tell"


def test_a_refused_window_is_not_answered_in_another_unit() -> None:
    meter = ChoosingMeter(Scripted("marks", 2.0, math.nan), Scripted("period", 1.0))
    meter.measure(WINDOW)
    progress = meter.measure(WINDOW)
    assert math.isnan(progress.work_rate)
    assert progress.reason == "marks cannot tell"


def test_a_better_meter_that_wakes_up_later_does_not_change_the_unit() -> None:
    meter = ChoosingMeter(Scripted("marks", math.nan, 5.0), Scripted("counter_work", 2.0))
    assert [meter.measure(WINDOW).kind for _ in range(3)] == ["counter_work"] * 3


def test_a_short_silence_does_not_lose_the_choice() -> None:
    meter = ChoosingMeter(Scripted("marks", 2.0, math.nan, math.nan, 2.0, math.nan))
    for _ in range(5):
        meter.measure(WINDOW)
    assert not meter.is_lost


def test_a_long_silence_asks_for_a_new_segment() -> None:
    meter = ChoosingMeter(Scripted("marks", 2.0, math.nan), Scripted("period", 1.0))
    last = [meter.measure(WINDOW) for _ in range(4)][-1]
    assert meter.is_lost
    assert "start a new segment" in last.reason
    assert math.isnan(last.work_rate)


def test_reset_chooses_again() -> None:
    meter = ChoosingMeter(Scripted("marks", 2.0, math.nan), Scripted("period", 1.0))
    for _ in range(4):
        meter.measure(WINDOW)
    meter.reset()
    assert not meter.is_lost
    assert meter.measure(WINDOW).kind == "period"


def test_reset_reaches_every_meter() -> None:
    meters = Scripted("marks", 2.0), Scripted("period", 1.0)
    ChoosingMeter(*meters).reset()
    assert [meter.resets for meter in meters] == [1, 1]


def test_windows_are_aligned_once_a_period_is_known() -> None:
    meter = ChoosingMeter(Scripted("counter_work", 1.0), Scripted("period", 0.6, period_s=1.7))
    assert meter.align(10.0) == 10.0
    meter.measure(WINDOW)
    assert meter.align(10.0) == pytest.approx(10.2)


def test_the_aligned_length_follows_the_work_rate_at_other_clocks() -> None:
    meter = ChoosingMeter(Scripted("counter_work", 1.0, 0.5), Scripted("period", 0.6, period_s=1.7))
    for _ in range(2):
        meter.measure(WINDOW)
    assert meter.align(10.0) == pytest.approx(3 * 3.4)


def test_a_meter_that_knows_the_period_is_asked_until_it_tells() -> None:
    period = Scripted("period", 0.6)
    meter = ChoosingMeter(Scripted("counter_work", 1.0), period)
    meter.measure(WINDOW)
    period.period_s = 2.5
    for _ in range(3):
        meter.measure(WINDOW)
    assert (period.asked, meter.align(9.0)) == (2, 10.0)


def test_no_meter_at_all_is_a_refusal() -> None:
    assert ChoosingMeter().measure(WINDOW).reason == "there is no meter to choose"
