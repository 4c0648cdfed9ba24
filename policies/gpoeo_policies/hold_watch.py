"""What the windows of one hold say together: that the pair breaks the limit, or that the workload has shifted."""

from __future__ import annotations

import math

import numpy as np

from gpoeo_env.objective import Objective
from gpoeo_env.policy import BREACH_SD, PolicyContext, Step
from gpoeo_env.records import Ratios
from gpoeo_policies.noise import SHIFT_SD, distance, noise_of_ratios
from gpoeo_policies.windows import SHIFT_WINDOWS

__all__ = ["HoldWatch"]


class HoldWatch:
    """Watches one held pair; a new hold gets a new watch."""

    def __init__(self) -> None:
        """Start without a window."""
        self._log_sum = np.zeros(2)
        self._n_known = 0
        self._n_surprises = 0
        self._slowdown_sum = 0.0
        self._n_slowdowns = 0

    def is_shift(self, ratios: Ratios) -> bool:
        """Take in a window and tell whether the last few are another workload's than those before.

        Args:
            ratios: relative to the same reference in all calls, with the spread of that window alone.
        """
        log_ratios = np.log([ratios.time, ratios.energy])
        if self._n_known:
            noise = noise_of_ratios(ratios) * (1.0 + 1.0 / self._n_known)
            if distance(log_ratios - self._log_sum / self._n_known, noise) > SHIFT_SD:
                self._n_surprises += 1
                return self._n_surprises >= SHIFT_WINDOWS
        self._n_surprises = 0
        self._log_sum += log_ratios
        self._n_known += 1
        return False

    def breaks_limit(self, step: Step, context: PolicyContext) -> bool:
        """Take in a window and tell whether the pair is slower than allowed by more than noise.

        The mean of the windows is judged: a single window misses an excess of 1 % that a hundred of them show.
        """
        ratios, reference = step.measurement.ratios, step.reference
        if ratios is None or reference is None or step.pair is None or context.objective is not Objective.ENERGY:
            return False
        self._slowdown_sum += ratios.slowdown
        self._n_slowdowns += 1
        window_sd = step.measurement.spread.time / math.sqrt(self._n_slowdowns)
        excess = self._slowdown_sum / self._n_slowdowns - context.limit
        return excess > BREACH_SD * math.hypot(window_sd, reference.spread.time) + 1e-9
