"""How power runs within one iteration: what a sampling sensor sees of a mean.

An iteration is two halves of busy time, the first above and the second below their mean (forward and backward pass
against optimiser and communication), and the wait for the host.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["PowerProfile"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PowerProfile:
    """Power over the progress within one iteration, 0..1; its mean is the operating point's power exactly.

    Attributes:
        edges: where the level changes, float64, shape (4,), from 0 to 1.
        sums: integral of the power over the progress up to each edge in watts, float64, shape (4,).
    """

    edges: Array
    sums: Array

    @classmethod
    def of(cls, *, watts: float, standing_w: float, busy_frac: float, swing: float) -> Self:
        """Build the profile of an operating point.

        Args:
            watts: mean power.
            standing_w: power while the GPU waits.
            busy_frac: share of the iteration in which a kernel runs, above 0.
            swing: relative distance of the two busy levels from their mean, counted on what the work draws.
        """
        working_w = (watts - standing_w) / busy_frac
        levels = standing_w + working_w * np.array([1.0 + swing, 1.0 - swing, 0.0])
        edges = np.array([0.0, busy_frac / 2, busy_frac, 1.0])
        return cls(edges, np.concatenate(([0.0], np.cumsum(levels * np.diff(edges)))))

    def integral(self, iterations: Array) -> Array:
        """Integrate the power over progress, in watts times iterations.

        Args:
            iterations: progress since some start, any shape; the whole part counts full iterations.

        Returns:
            Shape of ``iterations``; times the seconds of an iteration it is energy in joules.
        """
        whole = np.floor(iterations)
        integral: Array = whole * self.sums[-1] + np.interp(iterations - whole, self.edges, self.sums)
        return integral
