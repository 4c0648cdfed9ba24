"""Progress of a recording, window by window."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from gpoeo_env.errors import UnknownNameError, UsageError
from gpoeo_env.progress.marks import Marks
from gpoeo_env.signals import WORK, signal_named
from gpoeo_env.trace.progress_rows import progress_of
from gpoeo_env.trace.recording import Recording
from gpoeo_env.trace.sweep import Provenance

PERIOD_S = 1.3
PROVENANCE = Provenance("simulated", "2026-01-01T00:00:00+00:00", "test", is_simulated=True, is_relative=False)


def training(
    *, seconds: float = 90.0, idle_s: float = 0.0, pace: NDArray[np.float64] | float = 1.0, seed: int = 0
) -> Recording:
    """A loop polled every 100 ms; an iteration is 1.3 s at pace 1, three quarters of it busy on tensor and memory."""
    rng = np.random.default_rng(seed)
    t_s = np.linspace(0.0, seconds, round(seconds / 0.1) + 1)
    done = np.concatenate(([0.0], np.cumsum(np.diff(t_s) * np.broadcast_to(pace, t_s.shape)[1:])))
    done = np.maximum(done - idle_s, 0.0) / PERIOD_S
    busy_s = np.floor(done) * 0.75 + np.minimum(done % 1.0, 0.75)
    busy = np.diff(busy_s, prepend=0.0) * PERIOD_S / 0.1 * (t_s > idle_s)
    columns = {
        "sm_clock_mhz": np.full(len(t_s), 1980.0),
        "mem_clock_mhz": np.full(len(t_s), 3201.0),
        "power_w": 120.0 + 400.0 * busy + rng.normal(0, 2, len(t_s)),
        "tensor_active": 0.4 * busy * (1 + rng.normal(0, 0.01, len(t_s))),
        "dram_active": 0.3 * busy * (1 + rng.normal(0, 0.01, len(t_s))),
        "sm_active": 0.9 * busy,
    }
    values = np.column_stack(list(columns.values()))
    return Recording("loop", "GPU", t_s, values, tuple(signal_named(name) for name in columns), PROVENANCE)


def rates(recording: Recording, window_s: float = 10.0) -> NDArray[np.float64]:
    return np.array([row.work_rate for row in progress_of(recording, window_s).rows])


def test_a_steady_loop_has_a_steady_rate() -> None:
    report = progress_of(training(), 10.0)

    assert report.meter == "counter_work"
    work_rates = rates(training())
    np.testing.assert_allclose(work_rates, np.median(work_rates), rtol=0.01)


def test_a_slower_stretch_has_a_rate_that_much_lower() -> None:
    pace = np.where(np.linspace(0, 90, 901) < 45.0, 1.0, 0.8)

    work_rates = rates(training(pace=pace))

    assert work_rates[-1] / work_rates[0] == pytest.approx(0.8, rel=0.02)


def test_windows_hold_whole_periods_and_meet() -> None:
    rows = progress_of(training(), 9.4).rows

    lengths = [row.end_s - row.start_s for row in rows]
    assert lengths == pytest.approx([7 * PERIOD_S] * len(rows), abs=0.11)
    assert all(one.end_s == other.start_s for one, other in pairwise(rows))


def test_an_idle_head_is_refused_and_then_the_work_begins_with_a_window() -> None:
    rows = progress_of(training(idle_s=23.0), 10.0).rows

    assert math.isnan(rows[0].work_rate)
    assert rows[0].reason
    begin = next(row for row in rows if row.work_rate > 0)
    assert begin.start_s == pytest.approx(23.0, abs=PERIOD_S)


def test_counted_work_is_the_best_meter() -> None:
    loop = training()
    counted = np.column_stack([loop.values, 5.0 * loop.t_s])
    report = progress_of(replace(loop, values=counted, signals=(*loop.signals, WORK)), 10.0)

    assert report.meter == "work_counter"
    assert [row.work_rate for row in report.rows] == pytest.approx([5.0] * len(report.rows))


def test_marks_are_used_where_there_are_any() -> None:
    starts = np.arange(0.0, 90.0, PERIOD_S / 2)
    marks = Marks(starts, starts + PERIOD_S / 2, np.ones(len(starts), dtype=np.int64), ("",) * len(starts))

    report = progress_of(training(), 10.0, marks=marks)

    assert report.meter == "marks"
    assert [row.work_rate for row in report.rows] == pytest.approx([2 / PERIOD_S] * len(report.rows), rel=0.005)


@pytest.mark.parametrize("meter", ["counter_work", "period"])
def test_one_meter_can_be_asked_for(meter: str) -> None:
    report = progress_of(training(), 20.0, only=meter)

    assert {row.meter for row in report.rows if row.work_rate > 0} == {meter}


def test_a_meter_that_is_not_there_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean work_counter or counter_work"):
        progress_of(training(), 10.0, only="counters")


def test_marks_cannot_be_used_without_marks() -> None:
    with pytest.raises(UsageError, match="--marks"):
        progress_of(training(), 10.0, only="marks")


def test_a_lost_meter_begins_a_new_segment() -> None:
    loop = training()
    values = loop.values.copy()
    values[loop.t_s > 25.0, 3:] = np.nan  # the counters fall silent; power goes on
    rows = progress_of(replace(loop, values=values), 10.0).rows

    assert [row.segment for row in rows] == sorted(row.segment for row in rows)
    assert (rows[0].segment, rows[0].meter) == (0, "counter_work")
    assert rows[-1].segment >= 1


def test_a_gap_in_the_recording_is_refused() -> None:
    loop = training()
    kept = (loop.t_s < 30.0) | (loop.t_s > 55.0)
    rows = progress_of(replace(loop, t_s=loop.t_s[kept], values=loop.values[kept]), 10.0).rows

    refused = [row for row in rows if math.isnan(row.work_rate)]
    assert {row.reason for row in refused} == {"the recording has a gap here"}
    assert 30.0 <= refused[0].start_s < refused[-1].end_s <= 55.0


def test_a_recording_in_which_nothing_happens_is_refused_everywhere() -> None:
    report = progress_of(training(idle_s=1000.0), 10.0)

    assert report.meter == "none"
    assert all(math.isnan(row.work_rate) and row.reason for row in report.rows)


@pytest.mark.parametrize("window_s", [0.0, -1.0, math.nan, math.inf, 90.1])
def test_a_window_that_does_not_fit_is_refused(window_s: float) -> None:
    with pytest.raises(UsageError, match="does not fit"):
        progress_of(training(), window_s)
