"""One recorded run of a program, played in a loop.

A lap goes from the first row in which the program shows on the GPU (it makes its context) to the last in which one of
its kernels ran. Its pauses in between stay in: they are part of its time. What the logger saw before and after is left
out: its own waiting, and the end of the process, whose last words at up to 0.9 s after the last kernel some logs have
and others of the same work lack (six programs on an A100, each at 61 clocks).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.progress.activity import MEMORY, PIPES
from gpoeo_env.signals import Behaviour
from gpoeo_env.trace.recording import Recording

__all__ = ["RecordedRun"]

COUNTER_STEP = 2.0**-20
"""Counters are rounded to this step (a microjoule): sums of such numbers are exact, so that no counter falls by a
rounding error where laps or recordings are joined."""

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

PROGRAM_SIGNALS = ("graphics_active", "sm_active", MEMORY)
"""What is above 0 where a program shows on the GPU."""
KERNEL_SIGNALS = ("sm_active", "graphics_active", MEMORY)
"""What is above 0 while a kernel runs, the best witness first."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The rows of one lap; row numbers go on counting from lap to lap.

    Attributes:
        t_s: since the first row in seconds, float64, shape (n,).
        values: float64, shape (n, k); NaN where missing. Counters count from the beginning of the lap.
        lap_s: time from the first row of a lap to the first of the next.
        totals: counters without gaps, since the lap began, float64, shape (n, k); 0 for other signals.
        shares: share of the lap's work that is done at each row, float64, shape (n,), from 0 to 1, never falling.
    """

    t_s: Floats
    values: Floats
    lap_s: float
    totals: Floats
    shares: Floats

    @classmethod
    def of(cls, recording: Recording) -> Self:
        """Cut a recording to the program."""
        first, last = _program_span(recording)
        # A row tells of the gap before it, the first row of a lap too.
        before = max(first - 1, 0)
        t_s = recording.t_s[first : last + 1] - recording.t_s[first]
        gap_s = recording.t_s[first] - recording.t_s[before] if first else float(np.median(np.diff(t_s)))
        is_counter = np.array([signal.behaviour is Behaviour.COUNTER for signal in recording.signals])
        values = recording.values[before : last + 1].copy()
        values[:, is_counter] -= _without_gaps(values[:, is_counter])[0]
        values[:, is_counter] = COUNTER_STEP * np.round(values[:, is_counter] / COUNTER_STEP)
        totals = np.where(is_counter, _without_gaps(values), 0.0)[first - before :]
        lap_s = float(t_s[-1] + gap_s)
        return cls(t_s, values[first - before :], lap_s, totals, _shares(recording, first, t_s))

    def values_at(self, rows: Rows) -> Floats:
        """Return the readings at rows, counters grown by a lap's worth for each lap; shape (len(rows), k)."""
        laps, within = np.divmod(rows, len(self.t_s))
        readings: Floats = self.values[within] + laps[:, None] * self.totals[-1]
        return readings

    def totals_at(self, row: int) -> Floats:
        """Return the counters at a row as last read there or before, 0 for other signals; shape (k,)."""
        lap, within = divmod(row, len(self.t_s))
        totals: Floats = self.totals[within] + lap * self.totals[-1]
        return totals

    def time_at(self, rows: Rows) -> Floats:
        """Return the time of rows since the first row of the first lap in seconds."""
        laps, within = np.divmod(rows, len(self.t_s))
        times: Floats = laps * self.lap_s + self.t_s[within]
        return times

    def row_at(self, seconds: float) -> int:
        """Return the row that is nearest to a time since the first row of the first lap."""
        lap, within_s = divmod(seconds, self.lap_s)
        edges_s = np.append(self.t_s, self.lap_s)
        return int(lap) * len(self.t_s) + int(np.argmin(np.abs(edges_s - within_s)))

    def share_at(self, row: int) -> float:
        """Return the share of a lap's work that is done at a row, 0..1."""
        return float(self.shares[row % len(self.t_s)])

    def row_of_share(self, share: float) -> int:
        """Return the row of the first lap at which a share of the work is done.

        Where the program pauses, many rows have the same share, and the one in the middle of them stands for all.
        """
        first = int(np.searchsorted(self.shares, share, side="left"))
        past = int(np.searchsorted(self.shares, share, side="right"))
        return min((first + max(past - 1, first)) // 2, len(self.t_s) - 1)


def _program_span(recording: Recording) -> tuple[int, int]:
    """Return the first row of the program and the last of its kernels; all rows where no signal says so."""
    kernels = next((rows for name in KERNEL_SIGNALS if len(rows := _active_rows(recording, name)) > 1), None)
    if kernels is None:
        return 0, len(recording.t_s) - 1
    shown = (rows[0] for name in PROGRAM_SIGNALS if len(rows := _active_rows(recording, name)))
    return int(min(shown)), int(kernels[-1])


def _active_rows(recording: Recording, name: str) -> Rows:
    column = recording.column(name)
    return np.empty(0, dtype=np.int64) if column is None else np.flatnonzero(column > 0)


def _without_gaps(values: Floats) -> Floats:
    """Return columns with what was read last where a reading is missing; before the first reading, that one."""
    rows = np.arange(len(values))[:, None]
    is_known = np.isfinite(values)
    latest = np.maximum.accumulate(np.where(is_known, rows, -1), axis=0)
    first = np.argmax(is_known, axis=0)
    filled: Floats = np.take_along_axis(np.nan_to_num(values), np.where(latest < 0, first, latest), axis=0)
    return filled


def _shares(recording: Recording, first: int, t_s: Floats) -> Floats:
    """Return the cumulated work of pipes and memory as a share of all of it; without these counters, of the time."""
    gaps_s = np.diff(t_s, prepend=t_s[0])
    columns = (recording.column(name) for name in (MEMORY, *PIPES))
    work = [
        np.cumsum(np.nan_to_num(column[first : first + len(t_s)]) * gaps_s) for column in columns if column is not None
    ]
    done = [total / total[-1] for total in work if total[-1] > 0]
    shares: Floats = np.mean(done, axis=0) if done else t_s / t_s[-1]
    return shares
