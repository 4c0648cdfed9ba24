"""How fast the program of a recording went, window by window.

``progress_of(read_recording(Path("gcn.csv")), window_s=10.0).rows`` is what a live run would have measured, with one
advantage over it: the period that windows are aligned to is known from the start.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.errors import UnknownNameError, UsageError
from gpoeo_env.progress.alignment import aligned_window_s
from gpoeo_env.progress.choosing import ChoosingMeter
from gpoeo_env.progress.counter_work import CounterWorkMeter
from gpoeo_env.progress.marks import Marks, MarksMeter
from gpoeo_env.progress.meter import ProgressMeter, WorkCounterMeter
from gpoeo_env.progress.period import estimate_period
from gpoeo_env.progress.period_meter import PeriodMeter
from gpoeo_env.trace.recording import Recording

__all__ = ["METERS", "ProgressReport", "ProgressRow", "progress_of"]

METERS = ("marks", "work_counter", "counter_work", "period")
"""Names of the meters, the best first."""


@dataclass(frozen=True, slots=True)
class ProgressRow:
    """One window.

    Attributes:
        start_s, end_s: times of its first and last row.
        work_rate: units of work per second, in the meter's own unit; NaN = refused.
        uncertainty: relative standard error of ``work_rate``; NaN = refused.
        meter: which meter answered.
        segment: count of fresh starts before it: work rates of different segments or meters have different units.
        reason: why it refused, or why no better meter answered.
    """

    start_s: float
    end_s: float
    work_rate: float
    uncertainty: float
    meter: str
    segment: int
    reason: str


@dataclass(frozen=True, slots=True)
class ProgressReport:
    """All windows of a recording.

    Attributes:
        meter: the one that answered most windows; "none" where all were refused.
        rows: in order; each begins with the row that ended the one before.
    """

    meter: str
    rows: tuple[ProgressRow, ...]


def progress_of(
    recording: Recording, window_s: float, *, marks: Marks | None = None, only: str | None = None
) -> ProgressReport:
    """Measure progress in consecutive windows: by marks where there are any, else by the best meter that can tell.

    Windows are about ``window_s`` long; where the recording has a period, they hold whole periods. What is left at
    both ends and is shorter than a window is not measured.

    Args:
        recording: the samples.
        window_s: wanted length of a window.
        marks: iterations as the program itself marked them; None = there are none.
        only: the one meter to use, of `METERS`; None = the best.

    Raises:
        UsageError: ``window_s`` is not positive, or longer than the recording; or marks are to be used and there are
            none.
        UnknownNameError: there is no such meter; the message names the nearest.
    """
    if not (math.isfinite(window_s) and 0 < window_s <= recording.duration_s):
        raise UsageError(
            f"a window of {window_s:g} s does not fit into the {recording.duration_s:g} s of {recording.name!r}; "
            "choose a shorter one, above 0 s"
        )
    meter = _meter(marks, only)
    rows: list[ProgressRow] = []
    segment = 0
    for start_s, end_s in pairwise(_edges(recording, window_s, marks)):
        rows.append(_row(recording, start_s, end_s, meter, segment))
        if meter.is_lost:
            meter.reset()
            segment += 1
    answered = Counter(row.meter for row in rows if math.isfinite(row.work_rate))
    return ProgressReport(answered.most_common(1)[0][0] if answered else "none", tuple(rows))


def _meter(marks: Marks | None, only: str | None) -> ChoosingMeter:
    if only is None:
        only = None if marks is None else "marks"
    if only == "marks":
        if marks is None:
            raise UsageError("the meter 'marks' needs marks; give their file (--marks), or use another meter")
        return ChoosingMeter(MarksMeter(marks))
    meters: dict[str, ProgressMeter] = {
        "work_counter": WorkCounterMeter(),
        "counter_work": CounterWorkMeter(),
        "period": PeriodMeter(),
    }
    if only is None:
        return ChoosingMeter(*meters.values())
    if only not in meters:
        raise UnknownNameError("meter", only, METERS)
    return ChoosingMeter(meters[only])


def _edges(recording: Recording, window_s: float, marks: Marks | None) -> list[float]:
    """Return where windows meet: one edge is where the work begins, so that no window is half of it.

    They are whole periods apart where the period is known and fits into the recording.
    """
    marks_s = None if marks is None else marks.start_s
    estimate = estimate_period(recording.t_s, recording.values, recording.names, marks_s=marks_s)
    first_s, last_s = float(recording.t_s[0]), float(recording.t_s[-1])
    aligned_s = aligned_window_s(window_s, estimate.period_s)
    step_s = aligned_s if aligned_s <= recording.duration_s else window_s
    begin_s = estimate.span_s[0]
    if math.isfinite(begin_s) and last_s - begin_s >= step_s:
        first_s += (begin_s - first_s) % step_s
    count = math.floor((last_s - first_s) / step_s + 1e-9)
    edges_s = np.linspace(first_s, first_s + count * step_s, count + 1)
    return [float(edge_s) for edge_s in _on_rows(recording.t_s, edges_s)]


def _on_rows(t_s: NDArray[np.float64], edges_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move edges back to the row before them, which then belongs to both windows; those in a gap stay."""
    before = t_s[np.maximum(np.searchsorted(t_s, edges_s, side="right") - 1, 0)]
    return np.where(edges_s - before <= 2 * float(np.median(np.diff(t_s))), before, edges_s)


def _row(recording: Recording, start_s: float, end_s: float, meter: ChoosingMeter, segment: int) -> ProgressRow:
    try:
        window = recording.window(start_s, end_s)
    except UsageError:
        return ProgressRow(start_s, end_s, math.nan, math.nan, "none", segment, "the recording has a gap here")
    progress = meter.measure(window)
    return ProgressRow(
        start_s=float(window.t_s[0]),
        end_s=float(window.t_s[-1]),
        work_rate=progress.work_rate,
        uncertainty=progress.rel_sd,
        meter=progress.kind,
        segment=segment,
        reason=progress.reason,
    )
