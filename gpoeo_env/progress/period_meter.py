"""Progress from the rhythm that the sensors show: cycles per second, where a period can be told."""

from __future__ import annotations

import math

from gpoeo_env.progress.period import PeriodEstimate, estimate_period
from gpoeo_env.records import Progress, Window

__all__ = ["PeriodMeter"]

SAME_UNIT = 0.1
"""A period that is a whole multiple of the known one, give or take this share, counts several of the same cycles."""


class PeriodMeter:
    """Counts cycles by their period; refuses where the period is refused.

    A window may show two iterations as one cycle where another showed one. The first window fixes the unit: later
    periods are divided or multiplied by the whole number that brings them nearest to the one before.
    """

    def __init__(self) -> None:
        """Start without a unit."""
        self._period_s = math.nan

    @property
    def period_s(self) -> float:
        """Length of one cycle in the last window that showed one, in seconds; NaN = none yet."""
        return self._period_s

    def reset(self) -> None:
        """Forget the unit: the next window with a period fixes a new one."""
        self._period_s = math.nan

    def measure(self, window: Window) -> Progress:
        """Return cycles per second of the window, or the estimator's reason for having none."""
        estimate = estimate_period(window.t_s, window.values, [signal.name for signal in window.signals])
        if not estimate.is_periodic:
            return Progress(math.nan, math.nan, "none", f"no period: {estimate.reason}")
        self._period_s = self._in_unit(estimate)
        rel_sd = estimate.uncertainty_s / estimate.period_s
        return Progress(1.0 / self._period_s, rel_sd, "period", estimate.reason)

    def _in_unit(self, estimate: PeriodEstimate) -> float:
        known_s = self._period_s
        if math.isnan(known_s):
            return estimate.period_s
        ratio = estimate.period_s / known_s
        count = float(round(ratio)) if ratio >= 1.0 else 1.0 / round(1.0 / ratio)
        return estimate.period_s / count if abs(ratio / count - 1.0) <= SAME_UNIT else estimate.period_s
