"""Some pairs of a large clock table, and reading in between: neighbouring clocks of 600 tell next to nothing new."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_PAIRS", "read_between", "spaced"]

Array = NDArray[np.float64]

MOST_PAIRS = 64
"""Pairs of a table that are learned from, and predicted by trees."""


def spaced(log_clocks: Array, most: int = MOST_PAIRS) -> NDArray[np.intp]:
    """Return rows of about `most` pairs at most: every memory clock, SM clocks evenly spaced, ends and base.

    Args:
        log_clocks: ln of the clocks relative to the base pair, float64, shape (n, 2), in any order.
        most: all rows are returned where there are no more.
    """
    if len(log_clocks) <= most:
        return np.arange(len(log_clocks))
    mem_clocks = np.unique(log_clocks[:, 1])
    chosen = [np.flatnonzero(~log_clocks.any(axis=1))]
    for mem in mem_clocks:
        rows = np.flatnonzero(log_clocks[:, 1] == mem)
        rows = rows[np.argsort(log_clocks[rows, 0], kind="stable")]
        n_rows = min(len(rows), max(2, most // len(mem_clocks)))
        chosen.append(rows[np.linspace(0, len(rows) - 1, n_rows).round().astype(np.intp)])
    return np.unique(np.concatenate(chosen))


def read_between(known: Array, values: Array, wanted: Array) -> Array:
    """Return values at other clocks: straight between SM clocks, at the nearest memory clock, beyond the last as there.

    Args:
        known: log clocks, shape (n, 2), in any order.
        values: shape (..., n).
        wanted: log clocks, shape (m, 2).

    Returns:
        float64, shape (..., m).
    """
    mem_clocks = np.unique(known[:, 1])
    nearest = mem_clocks[np.abs(wanted[:, 1, None] - mem_clocks).argmin(axis=1)]
    result = np.empty((*values.shape[:-1], len(wanted)))
    for mem in np.unique(nearest):
        rows = np.flatnonzero(known[:, 1] == mem)
        rows = rows[np.argsort(known[rows, 0], kind="stable")]
        sm, at = known[rows, 0], wanted[nearest == mem, 0]
        right = np.clip(np.searchsorted(sm, at), min(1, len(sm) - 1), len(sm) - 1)
        left = np.maximum(right - 1, 0)
        share = np.clip((at - sm[left]) / np.where(right > left, sm[right] - sm[left], 1.0), 0.0, 1.0)
        result[..., nearest == mem] = (1.0 - share) * values[..., rows[left]] + share * values[..., rows[right]]
    return result
