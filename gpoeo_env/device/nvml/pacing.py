"""Ticks at absolute times, so that a loop does not drift."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator

__all__ = ["ticks", "wait_until"]


def ticks(start_s: float, end_s: float, interval_s: float) -> Iterator[int]:
    """Wait for ``start_s``, ``start_s + interval_s``, ... and last for ``end_s``, and say each time what was missed.

    Args:
        start_s: first tick, on the monotonic clock.
        end_s: last tick; it always comes. Infinite = none is the last.
        interval_s: between ticks.

    Yields:
        How many ticks before this one were skipped, because whoever asks took longer than an interval.
    """
    last = max(1, round((end_s - start_s) / interval_s)) if math.isfinite(end_s) else sys.maxsize
    number = 0
    wait_until(start_s)
    yield 0
    while number < last:
        latest_past = int((time.monotonic() - start_s) / interval_s)
        due = min(last, max(number + 1, latest_past))
        missed, number = due - number - 1, due
        wait_until(end_s if number == last else start_s + number * interval_s)
        yield missed


def wait_until(due_s: float) -> None:
    """Sleep until a time of the monotonic clock; not at all where it has passed."""
    left_s = due_s - time.monotonic()
    if left_s > 0:
        time.sleep(left_s)
