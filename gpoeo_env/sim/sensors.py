"""What NVML and GPM would have reported: refreshed at their own rate, averaged, quantised, noisy.

Facts of an H200 (driver 580): power and energy refresh every 100 ms, the plain power reading averages one second, the
energy counter counts millijoules, utilisation refreshes every 200 ms, GPM averages over the time since its last
refresh.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["EnergyCurve", "counted", "interval_means", "moving_average", "quantised", "refreshes"]

Array = NDArray[np.float64]

_NUDGE = 1e-9
"""Rows that fall on a refresh see it, whatever the last bit of their time says."""


class EnergyCurve:
    """Board energy over time, as far back as the slowest sensor looks."""

    def __init__(self, reach_s: float, power_w: float) -> None:
        """Begin at time 0 and 0 J, after ``reach_s`` seconds of constant power."""
        self._reach_s = reach_s
        self._t_s = np.array([-reach_s, 0.0])
        self._joules = np.array([-reach_s * power_w, 0.0])

    def extend(self, t_s: Array, joules: Array) -> None:
        """Go on along some edges; between the last one and the first new one, power is constant."""
        recent = (self._t_s > t_s[0] - self._reach_s) & (self._t_s < t_s[0])
        recent[max(0, int(np.argmax(recent)) - 1)] = True
        self._t_s = np.concatenate((self._t_s[recent], t_s))
        self._joules = np.concatenate((self._joules[recent], joules))

    def at(self, t_s: Array) -> Array:
        """Return the energy since time 0, in the shape of ``t_s``."""
        joules: Array = np.interp(t_s, self._t_s, self._joules)
        return joules


def refreshes(t_s: Array, period_s: float) -> Array:
    """Return for each time the moment of the last refresh, a multiple of the period, in the shape of ``t_s``."""
    last: Array = np.floor(t_s / period_s + _NUDGE) * period_s
    return last


def moving_average(integral: Callable[[Array], Array], at_s: Array, span_s: float) -> Array:
    """Return the mean over the ``span_s`` before each time, from the integral of the quantity over time."""
    mean: Array = (integral(at_s) - integral(at_s - span_s)) / span_s
    return mean


def interval_means(integral: Callable[[Array], Array], t_s: Array, period_s: float) -> Array:
    """Return interval averages as a poll of a refreshing counter sees them.

    Args:
        integral: gives the integral of k quantities over time, shape (n, k).
        t_s: times of the rows, shape (n,).
        period_s: seconds between two refreshes.

    Returns:
        float64, shape (n, k): the mean between the two last refreshes on rows that are the first to see one, NaN on
        rows that see nothing new.
    """
    at_s = refreshes(t_s, period_s)
    means: Array = (integral(at_s) - integral(at_s - period_s)) / period_s
    means[1:][np.diff(at_s) <= 0] = np.nan
    return means


def quantised(values: Array, step: float) -> Array:
    """Return values rounded to a sensor's resolution."""
    rounded: Array = np.round(values / step) * step
    return rounded


def counted(values: Array, step: float) -> Array:
    """Return a counter cut to whole steps."""
    whole: Array = np.floor(values / step) * step
    return whole
