"""When does a sensor really say something new?

Sensors inside a GPU refresh at their own pace (100 ms for power and hardware counters, 200 ms for utilisation on
an H200), whatever the polling rate. Polled faster, a gauge repeats its last value, and a hardware interval counter
reads 0 with a success code although the GPU is busy. Both would pass for observations; here they are told apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.records import Window
from gpoeo_env.signals import POWER, Behaviour, Signal

__all__ = [
    "HELD_SIGNALS",
    "POWER_SIGNALS",
    "TRANSFER_SIGNALS",
    "distinct_updates",
    "unrefreshed_as_missing",
    "unrefreshed_rows",
    "update_interval_s",
]

HELD_SIGNALS = ("gpu_util", "mem_util")
"""Interval signals that the driver holds until their next refresh instead of answering 0."""
TRANSFER_SIGNALS = ("pcie_tx_bytes", "pcie_rx_bytes")
"""Interval signals that may come from another source than the pipe counters, so they are no witness."""
POWER_SIGNALS = ("power_instant_w", POWER.name)
"""In the order of trust: the second may be a moving average that bridges a short pause."""
LEAST_CHANGES = 8
"""Fewer changes than this say nothing about a pace."""
FEWEST_REPEATS = 0.02
"""Below this share of repeated values the polling is no faster than the refresh, which then stays unknown."""
LEAST_ON_BEAT = 0.8
"""Share of the gaps between changes that must be multiples of the refresh interval, to one poll."""
LEAST_LENGTHS = 3
IDLE_POWER_SHARE = 0.5
"""A pause draws less than this share of the busy level (H200: 120 W of 400-600 W at full clocks)."""
LATE_SHARE = 0.2
"""A poll may have come late by this share of the refresh interval, but by no more than half a poll."""

Floats = NDArray[np.float64]


def update_interval_s(t_s: Floats, values: Floats) -> float:
    """Estimate the interval at which a sensor refreshes, from how long its values repeat.

    Args:
        t_s: row times in seconds, increasing, shape (n,).
        values: readings, shape (n,); NaN rows are skipped.

    Returns:
        The interval in seconds; NaN where the series hardly repeats or hardly changes.
    """
    t_s, values = _valid(t_s, values)
    return _interval_s(t_s, values, np.diff(values) != 0)


def distinct_updates(t_s: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Keep one row per refresh: the first of each run of repeats, and one per interval where a value is held.

    Args:
        t_s: row times in seconds, increasing, shape (n,).
        values: readings, shape (n,); NaN rows are dropped.

    Returns:
        Times and values, shape (m,), m <= n. A series that never repeats comes back without its NaN rows.
    """
    t_s, values = _valid(t_s, values)
    is_new = np.diff(values) != 0
    interval_s = _interval_s(t_s, values, is_new)
    if math.isnan(interval_s):
        return t_s, values
    is_new = np.concatenate(([True], is_new))
    latest_change = np.maximum.accumulate(np.where(is_new, np.arange(len(t_s)), 0))
    poll_s = float(np.median(np.diff(t_s)))
    # Half a poll early: the row that belongs to the next refresh may have come a little before its due time.
    refreshes_since = np.floor((t_s - t_s[latest_change] + 0.5 * poll_s) / interval_s)
    is_kept = is_new | np.concatenate(([True], np.diff(refreshes_since) > 0))
    return t_s[is_kept], values[is_kept]


def unrefreshed_rows(
    t_s: Floats, counters: Floats, *, power_w: Floats | None, gpu_util: Floats | None
) -> NDArray[np.bool_]:
    """Find rows in which hardware counters read 0 only because they were polled inside one refresh.

    A row whose counters are all 0 or NaN is such a row, unless power and utilisation say that the GPU paused and
    a refresh can have happened since the last row that was believed.

    Args:
        t_s: row times in seconds, increasing, shape (n,).
        counters: hardware interval counters, shape (n, k).
        power_w: board power, shape (n,); None = unknown.
        gpu_util: share of time with any kernel, 0..1, shape (n,); None = unknown.

    Returns:
        True for rows without a refresh, shape (n,).
    """
    has_zero = np.any(counters == 0, axis=1)
    is_silent: NDArray[np.bool_] = has_zero & ~np.any(np.nan_to_num(counters) != 0, axis=1)
    # Traffic that is never exactly 0 (GPM shows some even at idle) leaves no silent row that was refreshed.
    speaks_always = bool(np.any((np.nansum(counters, axis=0) > 0) & ~np.any(counters == 0, axis=0)))
    may_be_idle = is_silent & _is_idle(len(t_s), power_w, gpu_util)
    if may_be_idle.any() and not speaks_always:
        is_silent[_refreshed_idle_rows(t_s, is_silent, may_be_idle)] = False
    return is_silent


def unrefreshed_as_missing(window: Window) -> Window:
    """Return the window with NaN where hardware counters read 0 without a refresh; all else is unchanged."""
    columns = [i for i, signal in enumerate(window.signals) if _is_counter(signal)]
    witnesses = [i for i in columns if window.signals[i].name not in TRANSFER_SIGNALS]
    if not witnesses:
        return window
    is_unrefreshed = unrefreshed_rows(
        window.t_s,
        window.values[:, witnesses],
        power_w=_first_column(window, POWER_SIGNALS),
        gpu_util=window.column("gpu_util"),
    )
    if not is_unrefreshed.any():
        return window
    values = window.values.copy()
    block = values[:, columns]
    block[is_unrefreshed[:, None] & (block == 0)] = np.nan
    values[:, columns] = block
    return replace(window, values=values)


def _valid(t_s: Floats, values: Floats) -> tuple[Floats, Floats]:
    is_valid = np.isfinite(values)
    return t_s[is_valid], values[is_valid]


def _interval_s(t_s: Floats, values: Floats, is_new: NDArray[np.bool_]) -> float:
    """Return the mean time between refreshes, told by the rows that differ from the one before."""
    changes = int(np.count_nonzero(is_new))
    if changes < LEAST_CHANGES or changes > (1.0 - FEWEST_REPEATS) * len(is_new):
        return math.nan
    gaps = np.diff(t_s[1:][is_new])
    shortest, middle = np.partition(gaps, (len(gaps) // 5, len(gaps) // 2))[[len(gaps) // 5, len(gaps) // 2]]
    first = float(middle / np.round(middle / shortest))
    counts = np.round(gaps / first)
    slack_s = max(0.1 * first, 1.1 * float(np.median(np.diff(t_s))))
    on_beat = np.abs(gaps - counts * first) <= slack_s
    # A program that switches between a few levels repeats values, too: only a sensor's own beat fits all gaps, and
    # shows either many values or gaps of several lengths.
    is_sensor = len(np.unique(values[:1000])) >= LEAST_CHANGES or len(np.unique(counts)) >= LEAST_LENGTHS
    if np.mean(on_beat) < LEAST_ON_BEAT or not is_sensor:
        return math.nan
    is_whole = (counts >= 1) & (counts <= LEAST_LENGTHS)
    return float(gaps[is_whole].sum() / counts[is_whole].sum())


def _is_counter(signal: Signal) -> bool:
    return signal.behaviour is Behaviour.INTERVAL and signal.name not in HELD_SIGNALS


def _first_column(window: Window, names: Sequence[str]) -> Floats | None:
    columns = (window.column(name) for name in names)
    return next((column for column in columns if column is not None and np.isfinite(column).any()), None)


def _is_idle(rows: int, power_w: Floats | None, gpu_util: Floats | None) -> NDArray[np.bool_]:
    """Say where power is low and utilisation not full, or utilisation is 0; unknown witnesses do not speak."""
    is_idle = np.zeros(rows, dtype=np.bool_)
    if power_w is not None and np.isfinite(power_w).any():
        is_idle |= power_w < IDLE_POWER_SHARE * float(np.nanpercentile(power_w, 90))
    if gpu_util is not None:
        is_idle = (is_idle & ~(gpu_util >= 1.0)) | (gpu_util == 0)
    return is_idle


def _refreshed_idle_rows(t_s: Floats, is_silent: NDArray[np.bool_], may_be_idle: NDArray[np.bool_]) -> list[int]:
    """Return the idle rows that come a refresh interval after the last row that was believed."""
    spoke_s = t_s[~is_silent]
    poll_s = float(np.median(np.diff(t_s))) if len(t_s) > 1 else 0.0
    interval_s = float(np.median(np.diff(spoke_s))) if len(spoke_s) > LEAST_CHANGES else poll_s
    least_s = interval_s - min(0.5 * poll_s, LATE_SHARE * interval_s)
    latest_spoken = np.maximum.accumulate(np.where(is_silent, -np.inf, t_s))
    kept: list[int] = []
    latest_s = -math.inf
    for row in np.flatnonzero(may_be_idle).tolist():
        latest_s = max(latest_s, float(latest_spoken[row]))
        if t_s[row] - latest_s >= least_s:
            kept.append(row)
            latest_s = float(t_s[row])
    return kept
