"""A recording: what it accepts, and the windows that can be cut from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpoeo_env.clocks import ClockPair
from gpoeo_env.errors import TraceError, UsageError
from gpoeo_env.trace.recording import Recording


def test_a_column_is_found_by_its_name(recording: Recording) -> None:
    np.testing.assert_array_equal(recording.column("power_w"), [100.0, 110.0, np.nan, 130.0, 130.0])
    assert recording.column("power") is None


def test_a_window_holds_the_rows_of_its_stretch_with_both_ends(recording: Recording) -> None:
    window = recording.window(0.5, 1.0)

    assert window.t_s.tolist() == [0.5, 1.0]
    assert window.signals == recording.signals
    np.testing.assert_array_equal(window.column("dram µ"), [0.25, 0.5])


def test_neighbouring_windows_share_the_row_between_them(recording: Recording) -> None:
    assert recording.window(0.0, 1.0).t_s[-1] == recording.window(1.0, 1.5).t_s[0]


def test_a_window_was_asked_for_nothing_and_knows_its_mean_clocks(recording: Recording) -> None:
    window = recording.window(0.0, 1.0)

    assert window.requested is None
    assert window.observed == ClockPair(1450, 5000)


def test_without_a_clock_signal_no_clocks_were_observed(recording: Recording) -> None:
    unclocked = replace(recording, values=recording.values[:, 1:], signals=recording.signals[1:])

    assert unclocked.window(0.0, 1.0).observed is None


def test_the_duration_is_that_from_the_first_to_the_last_row(recording: Recording) -> None:
    assert recording.duration_s == 1.5


def test_a_stretch_is_a_recording_at_its_own_times(recording: Recording) -> None:
    stretch = recording.between(0.4, 1.2)

    assert stretch.t_s.tolist() == [0.5, 1.0]
    assert stretch.signals == recording.signals


@pytest.mark.parametrize(("start_s", "end_s"), [(2.0, 3.0), (0.6, 1.2), (1.0, 0.0), (1.4, 1.6)])
def test_a_stretch_without_time_in_it_is_refused(recording: Recording, start_s: float, end_s: float) -> None:
    with pytest.raises(UsageError, match=r"runs from 0 to 1\.5 s"):
        recording.window(start_s, end_s)


def test_rows_may_share_a_time(recording: Recording) -> None:
    assert recording.window(1.0, 2.0).t_s.tolist() == [1.0, 1.5, 1.5]


@pytest.mark.parametrize(
    ("t_s", "complaint"),
    [
        ([0.0, 0.5, 0.4, 1.0, 1.5], r"row 3 is at 0\.4 s, after row 2 at 0\.5 s"),
        ([0.0, 0.5, np.nan, 1.0, 1.5], "time of row 3 is nan"),
        ([0.0, 0.5, 1.0, 1.5, np.inf], "time of row 5 is inf"),
        ([7.0] * 5, "every row is at 7 s"),
        ([0.0, 0.5], r"times have shape \(2,\)"),
        ([0.0], "1 rows"),
        ([], "0 rows"),
    ],
)
def test_times_that_cannot_be_are_refused(recording: Recording, t_s: list[float], complaint: str) -> None:
    with pytest.raises(TraceError, match=complaint):
        replace(recording, t_s=np.array(t_s))


def test_an_infinite_value_is_refused_with_its_place(recording: Recording) -> None:
    values = recording.values.copy()
    values[3, 2] = -np.inf

    with pytest.raises(TraceError, match="power_w is infinite in row 4"):
        replace(recording, values=values)


def test_a_signal_listed_twice_is_refused(recording: Recording) -> None:
    with pytest.raises(TraceError, match="power_w twice"):
        replace(recording, signals=(*recording.signals[:3], recording.signals[2]))
