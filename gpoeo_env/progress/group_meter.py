"""Progress of a job on several GPUs: the pace of the slowest.

Each GPU counts in a unit of its own, so each is compared with its own first window of the segment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from gpoeo_env.progress.choosing import ChoosingMeter
from gpoeo_env.progress.meter import ProgressMeter
from gpoeo_env.records import Progress, Window

__all__ = ["GroupMeter"]


class GroupMeter:
    """Measures every part of a group's window with meters of its own."""

    def __init__(self, n_parts: int, meters: Callable[[], Sequence[ProgressMeter]]) -> None:
        """Make the meters of every part.

        Args:
            n_parts: GPUs of the group.
            meters: makes those of one GPU, the best first.
        """
        self._meters = tuple(ChoosingMeter(*meters()) for _ in range(n_parts))
        self._first: list[float] = [math.nan] * n_parts

    def reset(self) -> None:
        """Start a new segment."""
        for meter in self._meters:
            meter.reset()
        self._first = [math.nan] * len(self._meters)

    def measure(self, window: Window) -> Progress:
        """Return the pace of the slowest, 1 = as in its first window; refuse where one of them refuses."""
        slowest: Progress | None = None
        for number, (meter, part) in enumerate(zip(self._meters, window.parts, strict=True)):
            progress = meter.measure(part)
            if not progress.work_rate > 0:
                reason = f"GPU {number + 1} of the group: {progress.reason}"
                return Progress(math.nan, math.nan, kind="none", reason=reason)
            if math.isnan(self._first[number]):
                self._first[number] = progress.work_rate
            pace = progress.work_rate / self._first[number]
            if slowest is None or pace < slowest.work_rate:
                slowest = Progress(pace, progress.rel_sd, progress.kind, progress.reason)
        assert slowest is not None, "a group has members"
        return slowest
