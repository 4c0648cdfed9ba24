"""The look of every plot: panels over one time axis, series as the sensor gave them, a decision in one colour.

Figures are made without pyplot, so that nothing global is touched and no display is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from numpy.typing import NDArray

from gpoeo_env.errors import ArtefactError
from gpoeo_env.signals import Behaviour, Signal
from gpoeo_env.trace.recording import Recording

__all__ = [
    "DECISION",
    "FAINT",
    "INK",
    "MUTED",
    "REFUSED",
    "SERIES",
    "TRUTH",
    "channels_to_show",
    "draw_channel",
    "new_figure",
    "note",
    "save",
    "style",
]

INK = "#212529"
MUTED = "#868e96"
FAINT = "#dee2e6"
DECISION = "#c2255c"
"""What was concluded; nothing else has this colour."""
TRUTH = "#2f9e44"
"""What the program itself marked."""
REFUSED = "#f1f3f5"
SERIES = "#1c7ed6"

DEFAULT_CHANNELS = (
    "power_instant_w",
    "tensor_active",
    "dram_active",
    "power_w",
    "sm_active",
    "fp32_active",
    "integer_active",
    "gpu_util",
)
LINE = 130
"""Letters that fit into the width of the figure."""
LONGEST_HOLD = 5.0
"""A gap this many times the usual one is drawn as a gap."""

Floats = NDArray[np.float64]


def new_figure(title: str, subtitle: str, heights: Sequence[float], *, last_row: int = 1) -> tuple[Figure, list[Axes]]:
    """Return a figure with its panels, one below the other.

    Args:
        title: what is shown.
        subtitle: the decision, in words.
        heights: of the rows in inches.
        last_row: number of panels side by side in the last row.
    """
    words = fill(subtitle, LINE)
    top = 0.7 + 0.2 * len(words.splitlines())
    height = top + sum(heights) + 0.25 * len(heights) + 0.5
    below_title = ConstrainedLayoutEngine(rect=(0.0, 0.0, 1.0, 1.0 - top / height), h_pad=0.08)
    figure = Figure(figsize=(11.0, height), dpi=130, facecolor="white", layout=below_title)
    FigureCanvasAgg(figure)
    figure.text(0.012, 1.0 - 0.18 / height, title, fontsize=14, fontweight="bold", color=INK, va="top")
    figure.text(0.012, 1.0 - 0.50 / height, words, fontsize=10.5, color=DECISION, va="top", linespacing=1.35)
    grid = figure.add_gridspec(len(heights), last_row, height_ratios=list(heights))
    panels = [figure.add_subplot(grid[row, :]) for row in range(len(heights) - 1)]
    return figure, [*panels, *(figure.add_subplot(grid[-1, column]) for column in range(last_row))]


def style(axes: Axes, label: str) -> None:
    """Give a panel the common look and the words on its left."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(MUTED)
    axes.tick_params(colors=MUTED, labelsize=8.5, labelcolor=INK)
    axes.set_ylabel(label, fontsize=9, color=INK)
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)


def note(axes: Axes, text: str) -> None:
    """Write a line above a panel, at its left."""
    axes.set_title(text, loc="left", fontsize=9, color=MUTED, pad=4)


def channels_to_show(recording: Recording, first: Sequence[str] = (), most: int = 4) -> tuple[Signal, ...]:
    """Return the signals worth a panel: those that decided, then the usual ones; none that stands still."""
    signals = {signal.name: signal for signal in recording.signals}
    shown: list[Signal] = []
    for name in (*first, *DEFAULT_CHANNELS):
        if name in signals and signals[name] not in shown and (name in first or _moves(recording.column(name))):
            shown.append(signals[name])
    return tuple(shown[:most])


def draw_channel(axes: Axes, recording: Recording, signal: Signal, *, with_dots: bool = False) -> None:
    """Draw one signal as it was read: an interval mean as a step up to its row, a gauge held until the next one."""
    column = recording.column(signal.name)
    assert column is not None, "only recorded signals are drawn"
    is_valid = np.isfinite(column)
    t_s, values = _with_gaps(recording.t_s[is_valid], column[is_valid])
    drawstyle = "steps-pre" if signal.behaviour is Behaviour.INTERVAL else "steps-post"
    axes.plot(t_s, values, drawstyle=drawstyle, color=SERIES, linewidth=0.8)
    if with_dots:
        axes.plot(t_s, values, ".", color=SERIES, markersize=2.5)
    unit = "" if signal.unit == "1" else f" [{signal.unit}]"
    style(axes, signal.name.removesuffix("_w") + unit)
    if len(values) and np.nanmin(values) >= 0:
        axes.set_ylim(bottom=0)


def save(figure: Figure, path: Path) -> None:
    """Write a figure; the suffix says in which format.

    Raises:
        ArtefactError: the file cannot be written.
    """
    figure.align_ylabels()
    try:
        figure.savefig(path)
    except OSError as error:
        raise ArtefactError(f"cannot write {path}: {error.strerror or error}; name another file") from error


def _moves(column: Floats | None) -> bool:
    if column is None:
        return False
    valid = column[np.isfinite(column)]
    return len(valid) > 1 and bool(valid.max() > valid.min())


def _with_gaps(t_s: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Put a NaN into every long gap, so that nothing is drawn across it."""
    if len(t_s) < 3:
        return t_s, values
    gaps = np.diff(t_s)
    long = np.flatnonzero(gaps > LONGEST_HOLD * np.median(gaps)) + 1
    return np.insert(t_s, long, t_s[long - 1]), np.insert(values, long, np.nan)
