"""One channel at a time: what a sensor really said, when, and whether it averages.

Rows become updates (repeats collapsed, interval counters without a refresh dropped), counters become rates, and
an idle head and tail are cut off, so that what remains is the workload at its steady pace.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.progress.dropped_reads import without_dropped_reads
from gpoeo_env.progress.refresh import (
    HELD_SIGNALS,
    POWER_SIGNALS,
    TRANSFER_SIGNALS,
    distinct_updates,
    unrefreshed_rows,
    update_interval_s,
)
from gpoeo_env.signals import CANONICAL, ENERGY, MEM_CLOCK, SM_CLOCK, TEMPERATURE, WORK, Behaviour, signal_named

__all__ = ["Series", "prepare_series", "steady_span"]

LEAST_UPDATES = 16
"""Fewer updates than this cannot show six cycles of anything."""
CLOSE_POLLS = 0.4
"""Polls at most this part of a refresh apart leave no doubt about how many refreshes of a total lie between two of
them. Farther apart, the pattern of the polls shows in its rates."""
LARGEST = 1e100
"""No sensor reads more; squares of it would overflow."""
SILENT_SIGNALS = frozenset({WORK.name, SM_CLOCK.name, MEM_CLOCK.name, TEMPERATURE.name})
"""Clocks and temperature follow the driver and the weather; a work counter needs no period."""
HARDWARE_COUNTERS = frozenset(
    signal.name
    for signal in CANONICAL
    if signal.behaviour is Behaviour.INTERVAL and signal.name not in (*HELD_SIGNALS, *TRANSFER_SIGNALS)
)
"""Differences of counters inside the GPU: exact means, and 0 where they were polled within one refresh."""
LOAD_SIGNALS = (*POWER_SIGNALS, ENERGY.name, "sm_active", "gpu_util")
"""What tells idle from busy, in the order of trust."""
IDLE_SHARE = 0.5
"""Head and tail below this share of the busy level (above the lowest one) are idle."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Series:
    """The distinct updates of one channel.

    Attributes:
        name: the signal's name.
        t_s: update times in seconds, increasing, float64, shape (n,).
        values: readings, or rates of a counter, float64, shape (n,).
        step_s: the interval at which the sensor refreshes, or at which it was polled where that is slower.
        repeats: the sensor was polled faster than it refreshes.
        is_ratio: values are shares of a maximum, 0..1.
        is_integrated: every value is the exact mean since the one before, as a difference of a hardware counter is.
    """

    name: str
    t_s: Floats
    values: Floats
    step_s: float
    is_integrated: bool
    is_ratio: bool
    repeats: bool

    @property
    def duration_s(self) -> float:
        """Time from the first to the last update."""
        return float(self.t_s[-1] - self.t_s[0])

    @property
    def totals(self) -> Floats:
        """The integral of the values since the first update, float64, shape (n,)."""
        gaps = np.diff(self.t_s)
        held = self.values[1:] if self.is_integrated else 0.5 * (self.values[1:] + self.values[:-1])
        return np.concatenate(([0.0], np.cumsum(held * gaps)))

    def between(self, start_s: float, end_s: float) -> Series | None:
        """Return the updates within a span; None where too few remain, or where they do not vary."""
        is_inside = (self.t_s >= start_s) & (self.t_s <= end_s)
        values = self.values[is_inside]
        if len(values) < LEAST_UPDATES or np.ptp(values) <= 1e-9 * np.max(np.abs(values)):
            return None
        return replace(self, t_s=self.t_s[is_inside], values=values)


def prepare_series(t_s: Floats, values: Floats, names: Sequence[str]) -> tuple[Series, ...]:
    """Turn rows into one series of updates per channel that can show a rhythm.

    Args:
        t_s: row times in seconds, in any order, duplicates and NaN allowed, shape (n,).
        values: readings, NaN = missing, shape (n, k).
        names: the k columns.

    Returns:
        The usable channels in the order of ``names``.
    """
    t_s, values = _ordered(t_s, values)
    values = _without_empty_reads(t_s, values, names)
    found = (_series_of(name, t_s, values[:, column]) for column, name in enumerate(names) if _may_show_rhythm(name))
    return tuple(series for series in found if series is not None)


def steady_span(series: Sequence[Series]) -> tuple[float, float]:
    """Return start and end of the time in which all channels report and the GPU is not idle at either end."""
    by_name = {one.name: one for one in series}
    witness = next((by_name[name] for name in LOAD_SIGNALS if name in by_name), series[0])
    first_s, last_s = _busy_span(witness)
    start_s = max(first_s, *(float(one.t_s[0]) for one in series))
    return start_s, min(last_s, *(float(one.t_s[-1]) for one in series))


def _ordered(t_s: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Sort rows by time and keep the first of rows at one instant."""
    is_timed = np.isfinite(t_s)
    unique_s, first = np.unique(t_s[is_timed], return_index=True)
    ordered = values[is_timed][first].astype(np.float64)
    return unique_s, np.where(np.abs(ordered) <= LARGEST, ordered, np.nan)


def _without_empty_reads(t_s: Floats, values: Floats, names: Sequence[str]) -> Floats:
    columns = [i for i, name in enumerate(names) if name in HARDWARE_COUNTERS]
    if not columns or len(t_s) < LEAST_UPDATES:
        return values
    by_name = {name: values[:, i] for i, name in enumerate(names)}
    power_w = next((by_name[name] for name in POWER_SIGNALS if name in by_name), None)
    rows = unrefreshed_rows(t_s, values[:, columns], power_w=power_w, gpu_util=by_name.get("gpu_util"))
    values = values.copy()
    values[np.ix_(np.flatnonzero(rows), np.array(columns))] = np.nan
    return without_dropped_reads(values, names)


def _may_show_rhythm(name: str) -> bool:
    fixed = (Behaviour.CONSTANT, Behaviour.LABEL)
    return name not in SILENT_SIGNALS and signal_named(name).behaviour not in fixed


def _series_of(name: str, t_s: Floats, values: Floats) -> Series | None:
    interval_s = update_interval_s(t_s, values)
    poll_s = float(np.percentile(np.diff(t_s), 90)) if len(t_s) > 1 else math.nan
    t_s, values = distinct_updates(t_s, values)
    if len(values) < LEAST_UPDATES:
        return None
    is_counter = signal_named(name).behaviour is Behaviour.COUNTER
    is_close = poll_s <= CLOSE_POLLS * interval_s
    if is_counter:
        t_s, values = _rates(t_s, values, interval_s if is_close else math.nan)
    if len(values) < LEAST_UPDATES or np.ptp(values) <= 1e-9 * np.max(np.abs(values)):
        return None
    polled_s = float(np.median(np.diff(t_s)))
    return Series(
        name=name,
        t_s=t_s,
        values=values,
        step_s=polled_s if math.isnan(interval_s) else max(interval_s, polled_s),
        is_integrated=name in HARDWARE_COUNTERS or (is_counter and is_close),
        is_ratio=signal_named(name).unit == "1",
        repeats=math.isfinite(interval_s),
    )


def _rates(t_s: Floats, totals: Floats, interval_s: float) -> tuple[Floats, Floats]:
    """Differentiate a counter at its own refreshes, whose spacing is steadier than the polls that saw them."""
    gaps = np.diff(t_s)
    if math.isfinite(interval_s):
        gaps = np.maximum(np.round(gaps / interval_s), 1.0) * interval_s
    steps = np.diff(totals)
    is_forward = steps >= 0
    return t_s[1:][is_forward], steps[is_forward] / gaps[is_forward]


def _busy_span(one: Series) -> tuple[float, float]:
    """Return first and last time at which the one-second mean is above the middle between lowest and busy level."""
    width = max(1, round(1.0 / one.step_s))
    smooth = np.convolve(one.values, np.full(width, 1.0 / width), mode="same") if width > 1 else one.values
    lowest, busy = np.percentile(smooth, (0, 75))
    is_busy = np.flatnonzero(smooth >= lowest + IDLE_SHARE * (busy - lowest))
    return float(one.t_s[is_busy[0]]), float(one.t_s[is_busy[-1]])
