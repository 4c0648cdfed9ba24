"""When did the hardware refresh, as seen from rows that were polled a little later?

An interval counter is averaged between refreshes of the hardware, not between polls: polled every 100 or 120 ms, a
counter that refreshes every 100 ms covers one refresh in most rows and two in some. Taking each value for the gap
before its row is right on average but counts the parts of an uneven iteration with random weights (13 % per
iteration of a loop with an input stall on an H200, 2 % with the right beat).

Where the beat falls between two polls is unknown. It is judged by what it makes of the series: training repeats
itself, and a wrong beat breaks the repetition. All phases are tried and averaged by that evidence; where the series
says nothing, the average is the poll time but for a constant, so nothing is lost.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

__all__ = ["MOST_REFRESHES", "expected_refresh_s"]

PHASES = 20
"""Steps within one refresh interval; 5 ms of 100 ms, a quarter of a usual poll."""
FEWEST_REFRESHES = 40
"""Shorter series hold too few repetitions to judge by."""
MOST_REFRESHES = 400
"""In longer series the error averages out, and no steady beat would fit."""
EVIDENCE = 3.0
"""Independent repetitions granted to a window: few, because neighbouring sums share most of their rows."""

Floats = NDArray[np.float64]


def expected_refresh_s(t_s: Floats, values: Floats, interval_s: float) -> Floats:
    """Return the expected time of the last refresh before each row.

    Args:
        t_s: times of the rows that hold values, in seconds, increasing, shape (n,).
        values: mean activity between refreshes, any unit, finite, shape (n,).
        interval_s: the refresh interval in seconds; NaN = unknown.

    Returns:
        Seconds, non-decreasing, shape (n,). ``t_s`` itself where the beat is unknown or does not matter.
    """
    if len(t_s) < 2 or not interval_s > 0 or not _is_worth_it(t_s, interval_s):
        return t_s
    phases = np.arange(PHASES) * (interval_s / PHASES)
    refreshes = np.floor((t_s - phases[:, None]) / interval_s)
    weights = _evidence(values, np.diff(refreshes, axis=1).astype(np.intp))
    expected: Floats = weights @ (refreshes * interval_s + phases[:, None])
    return expected


def _is_worth_it(t_s: Floats, interval_s: float) -> bool:
    refreshes = float(t_s[-1] - t_s[0]) / interval_s
    # Rows that are far sparser than the refresh are averages over many, and no phase is hidden in them.
    return FEWEST_REFRESHES <= refreshes <= MOST_REFRESHES and len(t_s) > refreshes / 2


def _evidence(values: Floats, counts: NDArray[np.intp]) -> Floats:
    """Return a weight for each phase: how steady sums over the best whole number of refreshes are.

    Args:
        values: shape (n,).
        counts: refreshes that each row after the first covers, by phase, shape (PHASES, n - 1).
    """
    lengths = counts.sum(axis=1)
    length = int(lengths.min())
    # One value per refresh instead of per row, all phases in one go, cumulated.
    repeated = np.repeat(np.tile(values[1:], PHASES), counts.ravel())
    starts = np.cumsum(lengths) - lengths
    work = np.cumsum(repeated[starts[:, None] + np.arange(length)], axis=1)
    shifted = sliding_window_view(work, length - length // 2, axis=1)[:, length // 5 :]
    scatter = np.var(shifted - work[:, None, : shifted.shape[-1]], axis=2).min(axis=1)
    if not scatter.min() > 0:
        return np.full(PHASES, 1.0 / PHASES)
    likelihood: Floats = (scatter / scatter.min()) ** (-EVIDENCE / 2)
    weights: Floats = likelihood / likelihood.sum()
    return weights
