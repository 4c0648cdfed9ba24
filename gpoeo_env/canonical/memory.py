"""What an agent remembers of its episodes: the mean ratios of every action tried, and how the default looked.

Many episodes side by side as a structure of arrays; a single one is a row. Nothing in an observation depends on a
clock table, on the length of the work (which nobody knows on a live GPU), or on statistics of past runs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.canonical.clocks import N_ACTIONS
from gpoeo_env.clocks import RELEASE
from gpoeo_env.features import COUNTERS

__all__ = ["OBSERVATION_SIZE", "CanonicalMemory", "observation_space_bounds"]

Floats = NDArray[np.float64]

OBSERVATION_SIZE = 5 * N_ACTIONS + 2 * len(COUNTERS) + 2
_MOST = 3.0
_PER_SLACK, _PER_SAVING = 10.0, 5.0
"""Ten percent of time left under the limit, or twenty of energy saved, are 1 in an observation."""
_MANY_WINDOWS = 10.0


def observation_space_bounds() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the lowest and the highest observation, float32, shape (OBSERVATION_SIZE,) each."""
    high = np.full(OBSERVATION_SIZE, _MOST, dtype=np.float32)
    return -high, high


class CanonicalMemory:
    """The memories of n episodes that run side by side.

    Attributes:
        is_valid: which canonical actions each episode's table offers, bool, shape (n, N_ACTIONS).
        visits: windows with known ratios under each action, float64, likewise.
        time: their mean time ratio, 1 before any, likewise.
        energy: their mean energy ratio, likewise.
        action: the canonical action in force, int64, shape (n,).
        windows: since the reference, float64, shape (n,).
        counters: of the reference window, float64, shape (n, len(COUNTERS)); NaN where missing.
    """

    def __init__(self, n: int, limit: float) -> None:
        """Prepare for n episodes under a slowdown limit; `restart` each before its first observation."""
        self.limit = limit
        self.is_valid: NDArray[np.bool_] = np.zeros((n, N_ACTIONS), dtype=np.bool_)
        self.visits: Floats = np.zeros((n, N_ACTIONS))
        self.time: Floats = np.ones((n, N_ACTIONS))
        self.energy: Floats = np.ones((n, N_ACTIONS))
        self.action: NDArray[np.int64] = np.full(n, RELEASE, dtype=np.int64)
        self.windows: Floats = np.zeros(n)
        self.counters: Floats = np.full((n, len(COUNTERS)), np.nan)
        self._rows = np.arange(n)

    def restart(self, rows: NDArray[np.intp], is_valid: NDArray[np.bool_], counters: Floats) -> None:
        """Begin episodes anew, right after their reference window.

        Args:
            rows: which episodes, shape (m,).
            is_valid: of their tables, shape (m, N_ACTIONS).
            counters: of their reference windows, shape (m, len(COUNTERS)); NaN where missing.
        """
        self.is_valid[rows] = is_valid
        self.counters[rows] = counters
        self.visits[rows] = 0.0
        self.time[rows] = self.energy[rows] = 1.0
        self.visits[rows, RELEASE] = 1.0
        self.action[rows] = RELEASE
        self.windows[rows] = 0.0

    def record(self, actions: NDArray[np.int64], time: Floats, energy: Floats) -> None:
        """Take the next window of every episode.

        Args:
            actions: canonical, shape (n,).
            time: ratio to the reference, shape (n,); NaN = unknown, which leaves the means as they are.
            energy: likewise.
        """
        at = (self._rows, actions)
        is_known = np.isfinite(time) & np.isfinite(energy)
        self.visits[at] += is_known
        weight = is_known / np.maximum(self.visits[at], 1.0)
        self.time[at] += weight * np.where(is_known, time - self.time[at], 0.0)
        self.energy[at] += weight * np.where(is_known, energy - self.energy[at], 0.0)
        self.action[:] = actions
        self.windows += 1.0

    def observation(self) -> NDArray[np.float32]:
        """Return what the agents see, float32, shape (n, OBSERVATION_SIZE), within `observation_space_bounds`.

        By action: whether it is valid, how often it was measured, its slack under the limit, its saving, and whether
        it is in force; then the counters of the reference with a mask, the age of the episode, and the limit.
        """
        is_measured = self.visits > 0
        slack = np.where(is_measured, (1.0 + self.limit - self.time) * _PER_SLACK, 0.0)
        saving = np.where(is_measured, (1.0 - self.energy) * _PER_SAVING, 0.0)
        in_force = np.zeros_like(self.visits)
        in_force[self._rows, self.action] = 1.0
        has_counter = np.isfinite(self.counters)
        age = self.windows / (self.windows + _MANY_WINDOWS)
        parts = (
            self.is_valid,
            self.visits / (self.visits + 1.0),
            slack,
            saving,
            in_force,
            np.where(has_counter, self.counters, 0.0),
            has_counter,
            age[:, None],
            np.full((len(age), 1), self.limit * _PER_SLACK),
        )
        observation: Floats = np.clip(np.concatenate(parts, axis=1), -_MOST, _MOST)
        return observation.astype(np.float32)
