"""An objective as the search sees it: linear in the logarithms of the time and energy ratios."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.objective import Objective

__all__ = ["Goal"]

Array = NDArray[np.float64]

_COST = {
    Objective.ENERGY: (0.0, 1.0),
    Objective.PERFORMANCE: (1.0, 0.0),
    Objective.EDP: (1.0, 1.0),
    Objective.ED2P: (2.0, 1.0),
}
"""What each objective minimises, as weights of (ln time, ln energy)."""

PENALTY = 100.0
"""Cost of breaking the limit by a unit of log ratio. Breaking it by 0.1 % outweighs any saving of 10 %, so that
feasibility comes first in all but name, and a search without a feasible candidate still walks towards one."""


@dataclass(frozen=True, slots=True)
class Goal:
    """Minimise ``cost . (ln time, ln energy)`` where ``limited . (ln time, ln energy) <= bound``.

    Attributes:
        cost: weights of what is minimised, shape (2,).
        limited: weights of what the limit bounds, shape (2,); zeros where there is no limit.
        bound: upper bound of the limited quantity; infinite where there is no limit.
    """

    cost: Array
    limited: Array
    bound: float

    @classmethod
    def of(cls, objective: Objective, limit: float) -> Goal:
        """Translate an objective and its limit (a fraction)."""
        cost = np.array(_COST[objective])
        if objective is Objective.ENERGY:
            return cls(cost, np.array([1.0, 0.0]), math.log1p(limit))
        if objective is Objective.PERFORMANCE:
            return cls(cost, np.array([0.0, 1.0]), math.log1p(-limit))
        return cls(cost, np.zeros(2), math.inf)

    def value(self, cost: Array, limited: Array, margin: Array) -> Array:
        """Return what a cautious search minimises, in log ratio; same shape as the inputs after broadcasting.

        Args:
            cost: expected cost.
            limited: expected limited quantity.
            margin: how far below the bound the expectation must stay, >= 0.
        """
        if math.isinf(self.bound):
            return cost + 0.0 * limited
        return cost + PENALTY * np.maximum(0.0, limited + margin - self.bound)
