"""`ClockEnv` as learned agents see it: canonical actions, a memory as the observation, rewards of a steady size."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from gpoeo_env.canonical.clocks import N_ACTIONS
from gpoeo_env.canonical.memory import observation_space_bounds
from gpoeo_env.canonical.view import CanonicalView
from gpoeo_env.env.clock_env import ClockEnv
from gpoeo_env.errors import UsageError
from gpoeo_env.objective import Objective

__all__ = ["CanonicalEnv", "canonical_spaces"]

Observation = NDArray[np.float32]


def canonical_spaces() -> tuple[gymnasium.Space[Observation], gymnasium.spaces.Discrete]:
    """Return the observation space and the action space of every canonical environment."""
    return gymnasium.spaces.Box(*observation_space_bounds(), dtype=np.float32), gymnasium.spaces.Discrete(N_ACTIONS)


class CanonicalEnv(gymnasium.Wrapper[Observation, np.int64, Observation, np.int64]):
    """A view that is the same for every clock table; see `gpoeo_env.canonical`.

    The reward is the inner one times the number of default-length windows in the budget, so that a window that saves
    18 % earns about 0.18 whatever the budget is. ``info["saved_frac"]`` keeps the share of the whole.
    """

    def __init__(self, env: gymnasium.Env[Observation, np.int64]) -> None:
        """Wrap an env.

        Raises:
            UsageError: it is not a `ClockEnv`, or its objective is not energy under a slowdown limit.
        """
        super().__init__(env)
        inner = env.unwrapped
        if not isinstance(inner, ClockEnv):
            raise UsageError(f"CanonicalEnv wraps a ClockEnv, not a {type(inner).__name__}")
        if inner.settings.objective is not Objective.ENERGY:
            raise UsageError(f"CanonicalEnv shows the objective energy alone, not {inner.settings.objective.value}")
        self._inner = inner
        self._view = CanonicalView(inner.clocks, inner.settings.limit)
        self._windows = inner.settings.budget_s / inner.settings.window_s
        self.observation_space, self.action_space = canonical_spaces()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode and measure the driver's default. `Any`: Gymnasium's signature."""
        _, info = self.env.reset(seed=seed, options=options)
        return self._view.restart(self._inner.last_step), info

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Lock the action's pair for one window. `Any`: Gymnasium's signature.

        Raises:
            ClockNotSupportedError: the table has no pair for this action; see `action_masks`.
        """
        native = np.int64(self._view.clocks.action_of(int(action)))
        _, reward, terminated, truncated, info = self.env.step(native)
        observation = self._view.see(int(action), self._inner.last_step)
        return observation, float(reward) * self._windows, terminated, truncated, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions the table offers, bool, shape (N_ACTIONS,), as sb3-contrib asks for it."""
        return self._view.action_masks
