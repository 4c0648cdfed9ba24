"""From the rows of a window to the mean activity of each pipe and of the memory, integrated on timestamps.

Interval counters hold for the time before their row: missing, late and duplicated rows are normal and change
nothing but the gaps. Rows that were polled inside one hardware refresh are missing, not idle.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.progress.beat import MOST_REFRESHES, expected_refresh_s
from gpoeo_env.progress.dropped_reads import believed
from gpoeo_env.progress.meter import UNSTATED_REL_SD
from gpoeo_env.progress.refresh import update_interval_s
from gpoeo_env.records import Window
from gpoeo_env.signals import MEM_CLOCK, POWER, SM_CLOCK, Signal

__all__ = ["MEMORY", "PIPES", "Activity", "activity_of", "mean_clock_mhz"]

MEMORY = "dram_active"
PIPES = ("tensor_active", "fp64_active", "fp32_active", "fp16_active", "integer_active")
"""Shares of cycles in which a unit was active, 0..1; the SM clock drives the pipes, its own clock the memory."""

STEPS = 60
"""Points of time in a window between which sums are compared to learn its sampling error."""
SUMMED = range(8, 25)
"""Lengths of those sums in steps: long enough to be like the whole, short enough to vary within it."""
FEWEST_ROWS = 20
"""Fewer rows say nothing about the sampling error."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Activity:
    """What the work counters of a window show.

    Attributes:
        levels: mean share of active cycles by counter, 0..1.
        rates: mean of share times clock by counter, in MHz: active cycles per microsecond.
        sampling: relative standard error of the rates, from the scatter within the window.
    """

    levels: Mapping[str, float]
    rates: Mapping[str, float]
    sampling: float


def activity_of(window: Window) -> Activity:
    """Integrate the work counters; those without a value, a duration or a clock are left out."""
    window = believed(_in_order(window))
    found = {name: column for name in (MEMORY, *PIPES) if (column := window.column(name)) is not None}
    names = [name for name, column in found.items() if np.isfinite(column).any()]
    if not names:
        return Activity({}, {}, UNSTATED_REL_SD)
    columns = np.array([found[name] for name in names])
    has_value = np.isfinite(columns).any(axis=0)
    t_s = window.t_s[has_value]
    shares = _filled(t_s, columns[:, has_value])
    clocks = {clock: _clock_over_gaps(window, clock, t_s) for clock in (SM_CLOCK, MEM_CLOCK)}
    work = np.array(
        [share * clocks[MEM_CLOCK if name == MEMORY else SM_CLOCK] for name, share in zip(names, shares, strict=True)]
    )
    gaps_s = _gaps_s(window, t_s, shares)
    seconds = float(gaps_s.sum())
    has_clock = np.isfinite(work).all(axis=1) & ((work @ gaps_s > 0) | (shares @ gaps_s <= 0))
    is_usable = has_clock & (seconds > 0)
    levels = shares[is_usable] @ gaps_s / seconds
    rates = work[is_usable] @ gaps_s / seconds
    usable = [name for name, is_in in zip(names, is_usable, strict=True) if is_in]
    return Activity(
        levels=dict(zip(usable, levels.tolist(), strict=True)),
        rates=dict(zip(usable, rates.tolist(), strict=True)),
        sampling=_sampling_error(t_s, gaps_s, _relative(work[is_usable])),
    )


def mean_clock_mhz(window: Window, clock: Signal) -> float:
    """Return the mean of a clock over the window, as read, else as observed, else as requested; NaN = unknown."""
    mean = window.mean(clock)
    for pair in (window.observed, window.requested):
        if math.isnan(mean) and pair is not None:
            mean = float(pair.sm_mhz if clock == SM_CLOCK else pair.mem_mhz)
    return mean


def _in_order(window: Window) -> Window:
    if not np.any(np.diff(window.t_s) < 0):
        return window
    order = np.argsort(window.t_s, kind="stable")
    return replace(window, t_s=window.t_s[order], values=window.values[order])


def _filled(t_s: Floats, columns: Floats) -> Floats:
    """Return columns, shape (k, n), with values between the neighbours' where single counters lack one.

    Leaving such rows out would count pauses, whose zeros are all known, for more than their time.
    """
    filled = columns.copy()
    for column in filled:
        is_known = np.isfinite(column)
        if not is_known.all():
            column[:] = np.interp(t_s, t_s[is_known], column[is_known])
    return filled


def _gaps_s(window: Window, t_s: Floats, shares: Floats) -> Floats:
    """Return the time in seconds that each row's values speak for, from refresh to refresh of the hardware."""
    refresh_s = t_s
    if len(t_s) <= MOST_REFRESHES:
        refresh_s = expected_refresh_s(t_s, _relative(shares), _refresh_interval_s(window))
    gaps_s = np.diff(refresh_s, prepend=window.t_s[0])
    # The first value may have begun before the window or be the first after a silence: a usual gap at most.
    usual_s = float(np.median(gaps_s[1:])) if len(gaps_s) > 1 else math.inf
    gaps_s[0] = min(max(gaps_s[0], 0.0), usual_s)
    return gaps_s


def _relative(series: Floats) -> Floats:
    """Add series, shape (k, n), each relative to its mean, so that all count alike; shape (n,)."""
    means = series.mean(axis=1)
    total: Floats = (1 / means[means > 0]) @ series[means > 0]
    return total


def _refresh_interval_s(window: Window) -> float:
    """Return the hardware's refresh interval, seen in power readings that are polled faster; NaN = not seen."""
    for name in ("power_instant_w", POWER.name):
        column = window.column(name)
        interval_s = math.nan if column is None else update_interval_s(window.t_s, column)
        if math.isfinite(interval_s):
            return interval_s
    return math.nan


def _clock_over_gaps(window: Window, clock: Signal, t_s: Floats) -> Floats | float:
    """Return the mean clock in the gap before each row in MHz."""
    column = window.column(clock.name)
    is_valid = None if column is None else np.isfinite(column)
    if column is None or is_valid is None or not is_valid.any():
        return mean_clock_mhz(window, clock)
    mhz, read_s = column[is_valid], window.t_s[is_valid]
    if mhz.min() == mhz.max():
        return float(mhz[0])
    cycles = np.concatenate(([0.0], np.cumsum(np.diff(read_s) * (mhz[1:] + mhz[:-1]) / 2)))
    gaps = np.diff(t_s, prepend=window.t_s[0])
    cycles_in_gap = np.diff(np.interp(t_s, read_s, cycles), prepend=0.0)
    at_row = np.interp(t_s, read_s, mhz)
    return np.divide(cycles_in_gap, gaps, out=at_row, where=gaps > 0)


def _sampling_error(t_s: Floats, gaps_s: Floats, rates: Floats) -> float:
    """Return the relative standard error of a whole window's work, from the rows' rates of work.

    Sums over parts of the window scatter because a repeating load is cut anywhere (the same at any length) and
    because the load is irregular (growing with the length); a line through their variances tells both. Beside that,
    a gap of rows at the window's ends may lie on either side of them.
    """
    if len(t_s) < FEWEST_ROWS:
        return UNSTATED_REL_SD
    done = np.interp(np.linspace(t_s[0], t_s[-1], STEPS + 1), t_s, np.cumsum(gaps_s * rates))
    total = float(done[-1] - done[0])
    if not total > 0:
        return UNSTATED_REL_SD
    lengths = np.array(SUMMED)
    starts = np.arange(STEPS + 1 - SUMMED[-1])
    variances = np.var(done[starts + lengths[:, None]] - done[starts], axis=1)
    centred = lengths - lengths.mean()
    growth = max(0.0, float(centred @ variances / (centred @ centred)))
    of_parts = math.sqrt(variances.mean() + growth * (STEPS - lengths.mean()))
    return math.hypot(of_parts, float(np.median(gaps_s) * rates.std())) / total
