from __future__ import annotations

import math

import numpy as np
import pytest

from gpoeo_env.progress.meter import UNSTATED_REL_SD, WorkCounterMeter
from gpoeo_env.records import Spread, Window
from gpoeo_env.signals import POWER, WORK, Signal


def window(values: list[float], signal: Signal = WORK, spread: Spread | None = None) -> Window:
    rows = np.array(values)[:, np.newaxis]
    return Window(np.arange(len(values), dtype=np.float64), rows, (signal,), None, None, spread=spread)


def test_counted_work_gives_work_per_second() -> None:
    progress = WorkCounterMeter().measure(window([10.0, 13.0, 18.0]))
    assert progress.work_rate == pytest.approx(4.0)
    assert progress.kind == "work_counter"


def test_the_error_that_the_device_states_is_passed_on() -> None:
    assert WorkCounterMeter().measure(window([0.0, 1.0], spread=Spread(0.03, 0.5))).rel_sd == 0.03


def test_a_device_that_states_no_error_gets_the_usual_one() -> None:
    assert WorkCounterMeter().measure(window([0.0, 1.0])).rel_sd == UNSTATED_REL_SD


@pytest.mark.parametrize("values", [[5.0, 5.0], [5.0, 4.0], [math.nan, math.nan], [math.nan, 5.0]])
def test_a_counter_that_is_stuck_or_fell_or_is_missing_is_refused(values: list[float]) -> None:
    progress = WorkCounterMeter().measure(window(values))
    assert math.isnan(progress.work_rate)
    assert (progress.kind, bool(progress.reason)) == ("none", True)


def test_a_device_without_a_work_counter_is_refused() -> None:
    assert WorkCounterMeter().measure(window([1.0, 2.0], POWER)).reason == "the device has no work counter"
