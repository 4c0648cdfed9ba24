"""Windows that hold whole periods, so that a short window does not count 3.4 iterations."""

from __future__ import annotations

import math

__all__ = ["aligned_window_s"]


def aligned_window_s(wanted_s: float, period_s: float, *, least: int = 1) -> float:
    """Return the whole number of periods nearest to the wanted length.

    Args:
        wanted_s: length that was asked for, in seconds.
        period_s: length of one iteration or cycle in seconds; NaN = unknown.
        least: fewest periods in a window; a long period makes the window longer than wanted.

    Returns:
        ``n * period_s`` with ``n >= least``; ``wanted_s`` unchanged where the period is unknown.
    """
    if not (math.isfinite(period_s) and period_s > 0):
        return wanted_s
    return max(least, round(wanted_s / period_s)) * period_s
