"""How fast is the workload going, in its own unit of work?

Every decision rests on this estimate, so a meter that cannot tell refuses instead of guessing.
"""

from __future__ import annotations

import math
from typing import Protocol

from gpoeo_env.records import Progress, Window
from gpoeo_env.signals import WORK

__all__ = ["UNSTATED_REL_SD", "ProgressMeter", "WorkCounterMeter"]

UNSTATED_REL_SD = 0.01
"""Relative standard error assumed for a window whose device states none: what repeated ten-second windows of
real training loops on an H200 showed for counted work (0.2-1.9 %)."""


class ProgressMeter(Protocol):
    """Turns a window into work per second."""

    def measure(self, window: Window) -> Progress:
        """Return the work rate of the window, or a refusal with its reason. Never raises on odd data."""


class WorkCounterMeter:
    """Reads a work counter that the device or the program keeps (iterations, samples, sweep units)."""

    def measure(self, window: Window) -> Progress:
        """Return counted work over elapsed time; refuse where the counter is missing, stuck or fell."""
        if window.column(WORK.name) is None:
            return _refusal("the device has no work counter")
        work_rate = window.rate(WORK.name)
        if not work_rate > 0:
            return _refusal("the work counter is missing, went back or did not advance in this window")
        rel_sd = window.spread.time if window.spread else UNSTATED_REL_SD
        return Progress(work_rate=work_rate, rel_sd=rel_sd, kind="work_counter")


def _refusal(reason: str) -> Progress:
    return Progress(work_rate=math.nan, rel_sd=math.nan, kind="none", reason=reason)
