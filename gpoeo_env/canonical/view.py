"""The canonical view of one episode: the same for an agent in training and for one that controls a live GPU."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.canonical.clocks import CanonicalClocks
from gpoeo_env.canonical.memory import CanonicalMemory
from gpoeo_env.clocks import ClockTable
from gpoeo_env.features import COUNTERS
from gpoeo_env.policy import Step

__all__ = ["CanonicalView"]


class CanonicalView:
    """Turns Steps into observations and canonical actions into actions."""

    def __init__(self, clocks: ClockTable, limit: float) -> None:
        """Take the table and the slowdown limit of an episode."""
        self.clocks = CanonicalClocks(clocks)
        self._memory = CanonicalMemory(1, limit)

    @property
    def action_masks(self) -> NDArray[np.bool_]:
        """Which canonical actions the table offers, bool, shape (N_ACTIONS,)."""
        return self.clocks.is_valid

    def restart(self, reference: Step) -> NDArray[np.float32]:
        """Forget everything but a reference window; return the first observation, float32, (OBSERVATION_SIZE,)."""
        counters = np.array([[reference.measurement.features.get(name) for name in COUNTERS]])
        self._memory.restart(np.array([0]), self.clocks.is_valid[None], counters)
        return self.observation()

    def see(self, action: int, step: Step) -> NDArray[np.float32]:
        """Remember what a window under a canonical action showed; return the next observation."""
        ratios = step.measurement.ratios
        time, energy = (ratios.time, ratios.energy) if ratios else (math.nan, math.nan)
        self._memory.record(np.array([action]), np.array([time]), np.array([energy]))
        return self.observation()

    def observation(self) -> NDArray[np.float32]:
        """Return what the agent sees now, float32, shape (OBSERVATION_SIZE,)."""
        observation: NDArray[np.float32] = self._memory.observation()[0]
        return observation
