"""The picture of `gpoeo trace progress`: the series, the work rate of each window, and what the program marked."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from gpoeo_env.cli.analysis.figure import (
    DECISION,
    FAINT,
    INK,
    REFUSED,
    TRUTH,
    channels_to_show,
    draw_channel,
    new_figure,
    note,
    style,
)
from gpoeo_env.progress.marks import Marks
from gpoeo_env.trace.progress_rows import ProgressReport, ProgressRow
from gpoeo_env.trace.recording import Recording

__all__ = ["draw_progress"]

CHANNELS = 3
LETTERS = 170
"""Small letters that fit into the width of a panel."""
LEAST_ENLARGED = 0.02
"""The enlarged panel shows at least this relative deviation, so that nothing looks rougher than it is."""

Floats = NDArray[np.float64]


def draw_progress(recording: Recording, report: ProgressReport, marks: Marks | None, verdict: str) -> Figure:
    """Draw the channels, cut into the windows, and below them the work rate of each window with its uncertainty.

    Args:
        recording: what was looked into.
        report: what was measured.
        marks: iterations as the program itself marked them, to compare with; None = there are none.
        verdict: the decision, in words.
    """
    signals = channels_to_show(recording, most=CHANNELS)
    heights = [1.2] * len(signals) + [1.8, 1.8]
    figure, panels = new_figure(f"{recording.name}: progress", verdict, heights)
    *series, rates, deviations = panels
    for axes, signal in zip(series, signals, strict=True):
        draw_channel(axes, recording, signal)
    for axes in panels:
        axes.set_xlim(recording.t_s[0], recording.t_s[-1])
        axes.label_outer()
        for row in report.rows:
            axes.axvline(row.end_s, color=FAINT, linewidth=0.8)
            if not row.work_rate > 0:
                axes.axvspan(row.start_s, row.end_s, color=REFUSED, linewidth=0)
    measured = [row for row in report.rows if row.work_rate > 0]
    _draw_rates(rates, measured)
    _write_refusals(rates, report.rows, recording.duration_s)
    _draw_deviations(deviations, measured, marks)
    deviations.set_xlabel("time [s]", fontsize=9)
    return figure


def _draw_rates(axes: Axes, rows: Sequence[ProgressRow]) -> None:
    """Draw each window's work rate as a line over its time, and two standard errors around it as a box."""
    style(axes, "work rate\n[units per second]")
    note(axes, "work rate of each window, and two standard errors around it; grey: refused")
    for row in rows:
        _draw_box(axes, row, row.work_rate, 2 * row.uncertainty * row.work_rate)
    axes.set_ylim(bottom=0.0)


def _draw_deviations(axes: Axes, rows: Sequence[ProgressRow], marks: Marks | None) -> None:
    """Draw the same enlarged, against the median, and beside it the iterations that the program marked."""
    style(axes, "against\nthe median [%]")
    if not rows:
        return
    middle = float(np.median([row.work_rate for row in rows]))
    note(axes, f"the same, enlarged: deviation from the median of {middle:.4g} units per second")
    for row in rows:
        _draw_box(axes, row, 100 * (row.work_rate / middle - 1), 200 * row.uncertainty * row.work_rate / middle)
    widest = max(4 * float(np.median([row.uncertainty for row in rows])), LEAST_ENLARGED)
    axes.set_ylim(-100 * widest, 100 * widest)
    if marks is not None:
        _draw_truth(axes, rows, marks, middle)


def _draw_box(axes: Axes, row: ProgressRow, value: float, half_height: float) -> None:
    span_s = (row.start_s, row.end_s)
    axes.fill_between(span_s, value - half_height, value + half_height, color=DECISION, alpha=0.15, linewidth=0)
    axes.plot(span_s, (value, value), color=DECISION, linewidth=2.0)


def _draw_truth(axes: Axes, rows: Sequence[ProgressRow], marks: Marks, middle: float) -> None:
    """Draw the marked iterations per second of each window that lies within the marks, in the unit of the meter.

    One number, the median of work per iteration, is taken from the comparison itself; all else is independent.
    """
    first_s, last_s = marks.start_s.min(initial=np.inf), marks.end_s.max(initial=-np.inf)
    within = [row for row in rows if row.start_s >= first_s and row.end_s <= last_s]
    per_s = np.array([_marked_rate(marks, row) for row in within])
    if not (per_s > 0).any():
        return
    rates = np.array([row.work_rate for row in within])
    unit = float(np.median(rates[per_s > 0] / per_s[per_s > 0]))
    for row, rate in zip(within, (unit * per_s).tolist(), strict=True):
        value = 100 * (rate / middle - 1)
        axes.plot((row.start_s, row.end_s), (value, value), color=TRUTH, linewidth=1.4, linestyle="--")
    axes.plot([], [], color=TRUTH, linewidth=1.4, linestyle="--", label=f"marked iterations, at {unit:.4g} units each")
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.98), frameon=False, fontsize=8.5)


def _marked_rate(marks: Marks, row: ProgressRow) -> float:
    """Return the marked iterations per second of a window; those at its ends count by their part in it."""
    return (marks.completed(row.end_s) - marks.completed(row.start_s)) / (row.end_s - row.start_s)


def _write_refusals(axes: Axes, rows: Sequence[ProgressRow], duration_s: float) -> None:
    """Write each reason once, into the first of the windows that were refused for it in a row."""
    latest = ""
    for row in rows:
        if not row.work_rate > 0 and row.reason != latest:
            words = fill(row.reason, max(14, int(LETTERS * (row.end_s - row.start_s) / duration_s)))
            axes.text(row.start_s, 0.97, words, transform=axes.get_xaxis_transform(), fontsize=7, color=INK, va="top")
        latest = row.reason if not row.work_rate > 0 else ""
