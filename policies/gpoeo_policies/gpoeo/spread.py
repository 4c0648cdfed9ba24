"""How wrong predictions were on workloads that a fit had not seen, kept in a few numbers.

The errors of all workloads span at most a dozen directions that matter; those are kept at some clocks, and read in
between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpoeo_policies.gpoeo.clock_grid import read_between, spaced

__all__ = ["ErrorPatterns"]

Array = NDArray[np.float64]

MOST_PATTERNS = 12
"""Directions kept: beyond them lies under 1 % of the errors' variance, on V100, A100 and GTX 1080 Ti sweeps alike."""
MOST_CLOCKS = 96
DECIMALS = 5


@dataclass(frozen=True, slots=True)
class ErrorPatterns:
    """Typical errors, as if seen on so many workloads.

    Attributes:
        log_clocks: where they are known, float64, shape (n, 2).
        patterns: ln ratio - predicted ln ratio of time and energy, float64, shape (n_patterns, 2, n); the mean of
            their outer products is the covariance of the errors that they stand for.
    """

    log_clocks: Array
    patterns: Array

    @classmethod
    def of(cls, seen: Sequence[tuple[Array, Array]]) -> ErrorPatterns:
        """Sum up the errors of several workloads.

        Args:
            seen: for each workload its log clocks, shape (m, 2), and errors, shape (2, m).
        """
        union = np.unique(np.concatenate([clocks for clocks, _ in seen] + [np.zeros((1, 2))]), axis=0)
        log_clocks = union[spaced(union, MOST_CLOCKS)]
        errors = np.array([read_between(*_with_base(clocks, error), log_clocks) for clocks, error in seen])
        flat = errors.reshape(len(seen), -1)
        _, sizes, directions = np.linalg.svd(flat, full_matrices=False)
        kept = min(MOST_PATTERNS, len(sizes))
        signs = np.sign(directions[np.arange(kept), np.abs(directions[:kept]).argmax(axis=1)])
        lost = float((sizes**2).sum() / max((sizes[:kept] ** 2).sum(), 1e-30))
        scale = np.sqrt(lost * kept / len(seen))  # as much variance as was seen, in fewer patterns
        patterns = (scale * signs * sizes[:kept])[:, None] * directions[:kept]
        return cls(log_clocks, patterns.reshape(kept, 2, -1).round(DECIMALS) + 0.0)

    def at(self, log_clocks: Array) -> Array:
        """Return the patterns at other clocks, float64, shape (n_patterns, 2, len(log_clocks)).

        Read in between SM clocks, at the nearest memory clock; beyond the last known clock, as there.
        """
        return read_between(self.log_clocks, self.patterns, log_clocks)


def _with_base(log_clocks: Array, errors: Array) -> tuple[Array, Array]:
    """Return clocks and errors with the base pair among them, where nothing is wrong."""
    is_base = ~log_clocks.any(axis=1)
    clocks = np.concatenate((np.zeros((1, 2)), log_clocks[~is_base]))
    return clocks, np.concatenate((np.zeros((2, 1)), errors[:, ~is_base]), axis=1)
