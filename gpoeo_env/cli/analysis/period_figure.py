"""The picture of `gpoeo trace period`: the series cut into its periods, the periods over one another, the spectrum.

A suspected period that was refused is drawn in the same way, dashed: so that anybody can judge the refusal.
"""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from gpoeo_env.cli.analysis.figure import (
    DECISION,
    FAINT,
    INK,
    MUTED,
    SERIES,
    channels_to_show,
    new_figure,
    note,
    style,
)
from gpoeo_env.progress.period import PeriodEstimate, Periodogram
from gpoeo_env.progress.series import Series, prepare_series
from gpoeo_env.signals import Behaviour, signal_named
from gpoeo_env.trace.recording import Recording

__all__ = ["draw_period"]

PERIODS_SHOWN = 8
SECONDS_SHOWN = 20.0
"""Of a series without a period."""

Floats = NDArray[np.float64]


def draw_period(recording: Recording, estimate: PeriodEstimate, verdict: str) -> Figure:
    """Draw the whole series, a piece of it with its periods, all periods over one another, and the spectrum.

    Args:
        recording: what was looked into.
        estimate: what was found.
        verdict: the decision, in words.
    """
    shown = _series_to_show(recording, estimate)
    has_fold = bool(shown) and math.isfinite(_period(estimate))
    heights = [1.2] * len(shown[:1]) + [1.4] * len(shown) + [2.6]
    figure, panels = new_figure(f"{recording.name}: period", verdict, heights, last_row=2 if has_fold else 1)
    if shown:
        _draw_overview(panels[0], shown[0], recording, estimate)
        for axes, series in zip(panels[1:], shown, strict=False):
            _draw_piece(axes, series, recording, estimate)
        panels[len(shown)].set_xlabel("time [s]", fontsize=9)
    if has_fold:
        _draw_fold(panels[-2], shown[0], estimate)
    _draw_spectrum(panels[-1], estimate)
    return figure


def _series_to_show(recording: Recording, estimate: PeriodEstimate) -> list[Series]:
    """Return the best channel and the best one of another kind, power or not, as their sensors refreshed."""
    by_name = {one.name: one for one in prepare_series(recording.t_s, recording.values, recording.names)}
    names = [signal.name for signal in channels_to_show(recording, estimate.channels, most=len(by_name))]
    ordered = [by_name[name] for name in names if name in by_name]
    others = [one for one in ordered[1:] if _is_power(one) != _is_power(ordered[0])]
    return ordered[:1] + others[:1]


def _is_power(series: Series) -> bool:
    return signal_named(series.name).unit in ("W", "J")


def _label(series: Series) -> str:
    """Return name and unit; a counter is shown as its growth per second."""
    signal = signal_named(series.name)
    if signal.behaviour is Behaviour.COUNTER:
        return f"{series.name}\nper second"
    return series.name


def _draw_updates(axes: Axes, series: Series) -> None:
    drawstyle = "steps-pre" if series.is_integrated else "steps-post"
    axes.plot(series.t_s, series.values, drawstyle=drawstyle, color=SERIES, linewidth=0.8)
    style(axes, _label(series))


def _draw_overview(axes: Axes, series: Series, recording: Recording, estimate: PeriodEstimate) -> None:
    _draw_updates(axes, series)
    axes.set_ylim(bottom=min(0.0, float(series.values.min())))
    axes.set_xlim(recording.t_s[0], recording.t_s[-1])
    axes.axvspan(*_piece(recording, estimate), color=FAINT, alpha=0.8, linewidth=0)
    axes.plot(
        estimate.span_s, (0.0, 0.0), color=DECISION, linewidth=4.0, solid_capstyle="butt", clip_on=False,
        transform=axes.get_xaxis_transform(),
    )  # fmt: skip
    note(axes, "the whole recording; the bar is what was looked at, the shaded piece is enlarged below")


def _draw_piece(axes: Axes, series: Series, recording: Recording, estimate: PeriodEstimate) -> None:
    """Draw a few periods of a series, enlarged in both directions; a dot is an update of the sensor."""
    start_s, end_s = _piece(recording, estimate)
    _draw_updates(axes, series)
    is_shown = (series.t_s >= start_s) & (series.t_s <= end_s)
    axes.plot(series.t_s[is_shown], series.values[is_shown], ".", color=SERIES, markersize=3.5)
    if is_shown.any():
        low, high = float(series.values[is_shown].min()), float(series.values[is_shown].max())
        room = 0.08 * (high - low) or 1.0
        axes.set_ylim(low - room, high + room)
    axes.set_xlim(start_s, end_s)
    if math.isfinite(_period(estimate)):
        for edge_s in np.arange(start_s, end_s, _period(estimate)):
            axes.axvline(edge_s, color=DECISION, linewidth=0.9, linestyle=_line(estimate), alpha=0.8)


def _period(estimate: PeriodEstimate) -> float:
    """Return the period, else the suspected one; NaN where there is neither."""
    return estimate.period_s if estimate.is_periodic else estimate.suspected_s


def _line(estimate: PeriodEstimate) -> str:
    return "-" if estimate.is_periodic else "--"


def _piece(recording: Recording, estimate: PeriodEstimate) -> tuple[float, float]:
    """Return start and end of a piece from the middle of what was looked at."""
    start_s, end_s = estimate.span_s
    if not end_s > start_s:
        start_s, end_s = float(recording.t_s[0]), float(recording.t_s[-1])
    period_s = _period(estimate)
    length_s = PERIODS_SHOWN * period_s if math.isfinite(period_s) else SECONDS_SHOWN
    middle_s = 0.5 * (start_s + end_s)
    half_s = 0.5 * min(length_s, end_s - start_s)
    return middle_s - half_s, middle_s + half_s


def _draw_fold(axes: Axes, series: Series, estimate: PeriodEstimate) -> None:
    """Lay all periods of a series over one another: every dot is an update of the sensor."""
    period_s = _period(estimate)
    start_s, end_s = estimate.span_s
    is_inside = (series.t_s >= start_s) & (series.t_s <= end_s)
    phase = ((series.t_s[is_inside] - start_s) / period_s) % 1.0
    values = series.values[is_inside]
    for shift in (0.0, 1.0):
        axes.plot(phase + shift, values, ".", color=SERIES, markersize=2.5, alpha=0.5)
    centres, medians = _medians(phase, values)
    color = DECISION if estimate.is_periodic else MUTED
    axes.plot(np.concatenate((centres, centres + 1.0)), np.tile(medians, 2), color=color, linewidth=1.6)
    style(axes, _label(series))
    axes.set_xlim(0.0, 2.0)
    axes.set_xlabel(f"phase [periods of {period_s:.4g} s], shown twice", fontsize=9)
    words = "all periods over one another, and their median"
    note(axes, words if estimate.is_periodic else f"{words}, at the refused period")


def _medians(phase: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return centres and medians of up to 40 parts of the period; those without an update are left out."""
    count = int(np.clip(len(values) / 8, 4, 40))
    place = np.minimum((phase * count).astype(np.intp), count - 1)
    filled = np.unique(place)
    return (filled + 0.5) / count, np.array([np.median(values[place == one]) for one in filled.tolist()])


def _draw_spectrum(axes: Axes, estimate: PeriodEstimate) -> None:
    style(axes, "power over\nlocal noise")
    axes.set_xlabel("period [s]", fontsize=9)
    evidence = estimate.evidence
    if evidence is None:
        note(axes, "no spectrum: no channel could be used")
        axes.set_axis_off()
        return
    note(axes, f"spectrum of {evidence.channel}")
    _plot_spectrum(axes, evidence)
    period_s = _period(estimate)
    if math.isfinite(period_s):
        word = "" if estimate.is_periodic else " refused"
        axes.axvline(period_s, color=DECISION, linewidth=1.6, linestyle=_line(estimate))
        axes.annotate(
            f" {period_s:.4g} s{word} ",
            (period_s, 0.97),
            xycoords=("data", "axes fraction"),
            ha="right",
            va="top",
            fontsize=9,
            fontweight="bold",
            color=DECISION,
        )
        for harmonic in range(2, 9):
            axes.axvline(period_s / harmonic, color=DECISION, linewidth=0.6, linestyle=":", alpha=0.7)


def _plot_spectrum(axes: Axes, evidence: Periodogram) -> None:
    is_period = evidence.frequencies_hz > 0
    periods_s, strength = 1.0 / evidence.frequencies_hz[is_period], evidence.strength[is_period]
    axes.plot(periods_s, strength, color=INK, linewidth=0.7)
    axes.axhline(1.0, color=MUTED, linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.1)
    axes.set_xlim(periods_s.min(), min(periods_s.max(), 60.0))
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda period_s, _: f"{period_s:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
