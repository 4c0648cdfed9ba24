"""The picture of `gpoeo trace shifts`: the series, where they shifted, and how far the behaviour left its past."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from gpoeo_env.cli.analysis.figure import (
    DECISION,
    FAINT,
    MUTED,
    SERIES,
    channels_to_show,
    draw_channel,
    new_figure,
    note,
    style,
)
from gpoeo_env.progress.behaviour import FEATURES, behaviour
from gpoeo_env.progress.blocks import BLOCK_S, BlockStream
from gpoeo_env.progress.past import RUN
from gpoeo_env.progress.pauses import PauseFilter
from gpoeo_env.progress.refresh import unrefreshed_as_missing
from gpoeo_env.progress.shift import Shift
from gpoeo_env.trace.recording import Recording

__all__ = ["draw_shifts"]

MOST_DEVIATION = 12.0
"""The evidence is drawn up to so many tolerances; what is farther out is out in any case."""

Floats = NDArray[np.float64]


def draw_shifts(recording: Recording, shifts: Sequence[Shift], verdict: str) -> Figure:
    """Draw the channels with the shifts in them, and the features that the detector compares.

    Args:
        recording: what was looked into.
        shifts: what was found.
        verdict: the decision, in words.
    """
    signals = channels_to_show(recording)
    figure, panels = new_figure(f"{recording.name}: shifts", verdict, [1.25] * len(signals) + [2.2])
    for axes, signal in zip(panels, signals, strict=False):
        draw_channel(axes, recording, signal)
    _draw_evidence(panels[-1], recording, shifts)
    for axes in panels:
        axes.set_xlim(recording.t_s[0], recording.t_s[-1])
        axes.label_outer()
        for shift in shifts:
            axes.axvline(shift.at_s, color=DECISION, linewidth=1.6)
            axes.axvspan(shift.at_s, shift.seen_s, color=DECISION, alpha=0.10, linewidth=0)
    for shift in shifts:
        panels[0].annotate(
            f" {shift.at_s:.1f} s",
            (shift.at_s, 1.0),
            xycoords=("data", "axes fraction"),
            va="top",
            fontsize=9,
            fontweight="bold",
            color=DECISION,
        )
    if shifts:
        note(panels[0], "line: the new behaviour begins; band: until there was enough evidence")
    panels[-1].set_xlabel("time [s]", fontsize=9)
    return figure


def _draw_evidence(axes: Axes, recording: Recording, shifts: Sequence[Shift]) -> None:
    """Draw each feature's distance from its median before the first shift, in its own tolerances."""
    ends_s, features = _features_at_work(recording)
    style(axes, "deviation\n[tolerances]")
    note(
        axes,
        f"features over {RUN * BLOCK_S:g} s of work against their median before the first shift; pauses are left out",
    )
    axes.axhspan(-1.0, 1.0, color=FAINT, alpha=0.5, linewidth=0)
    axes.set_ylim(-3.0, 3.0)
    is_past = ends_s <= (shifts[0].at_s if shifts else np.inf)
    if not is_past.any():
        return
    named = {shift.what for shift in shifts}
    farthest = 2.5
    for index, feature in enumerate(FEATURES):
        past = features[is_past, index]
        if not np.isfinite(past).any():
            continue
        deviation = (features[:, index] - np.nanmedian(past)) / feature.tolerance
        farthest = max(farthest, float(np.nanmax(np.abs(deviation))))
        if feature.name in named:
            axes.plot(ends_s, deviation, color=SERIES, linewidth=1.8, label=feature.name, zorder=3)
        else:
            axes.plot(ends_s, deviation, color=MUTED, linewidth=0.7, alpha=0.8)
    limit = min(1.15 * farthest, MOST_DEVIATION)
    axes.set_ylim(-limit, limit)
    axes.plot([], [], color=MUTED, linewidth=0.7, label="the other features" if named else "all features")
    axes.legend(loc="upper left", frameon=False, fontsize=8.5)


def _features_at_work(recording: Recording) -> tuple[Floats, Floats]:
    """Return the end of every run of work in seconds, shape (m,), and its features, shape (m, len(FEATURES))."""
    window = unrefreshed_as_missing(recording.window(recording.t_s[0], recording.t_s[-1]))
    blocks = PauseFilter().at_work(BlockStream(recording.names).push(window.t_s, window.values))
    return blocks.t_s[RUN - 1 :] + BLOCK_S, behaviour(blocks, RUN)
