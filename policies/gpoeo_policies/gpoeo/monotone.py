"""Making a prediction keep what physics promises: time never rises with either clock."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["never_rising"]

Array = NDArray[np.float64]


def never_rising(values: Array, log_clocks: Array) -> Array:
    """Return the values moved as little as needed to never rise with a clock, and to be 0 where both are at the base.

    The mean of the least function above and the greatest below that never rise; both are exact where nothing is wrong.

    Args:
        values: ln time ratios, float64, shape (n,).
        log_clocks: ln of the clocks relative to the base pair, float64, shape (n, 2); any order, any subset of a grid.
    """
    sm, mem = (np.unique(column, return_inverse=True) for column in np.concatenate((np.zeros((1, 2)), log_clocks)).T)
    at = sm[1], mem[1]
    upper, lower = np.full((2, len(sm[0]), len(mem[0])), np.nan)
    is_at_most_base, is_at_least_base = (log_clocks <= 0).all(axis=1), (log_clocks >= 0).all(axis=1)
    bounded = np.where(is_at_most_base, np.maximum(values, 0.0), values)
    bounded = np.where(is_at_least_base, np.minimum(bounded, 0.0), bounded)
    upper[at] = lower[at] = np.concatenate(([0.0], bounded))
    for axis in (0, 1):
        upper = np.flip(np.fmax.accumulate(np.flip(upper, axis), axis), axis)
        lower = np.fmin.accumulate(lower, axis)
    result: Array = 0.5 * (upper[at] + lower[at])[1:]
    return result
