"""Other views of the same actions."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from gpoeo_env.clocks import ClockPair
from gpoeo_env.env.clock_env import ClockEnv
from gpoeo_env.errors import UsageError

__all__ = ["SmMemoryActions"]

Observation = NDArray[np.float32]
SmMemory = NDArray[np.int64]


class SmMemoryActions(gymnasium.ActionWrapper[Observation, SmMemory, np.int64]):
    """SM clock and memory clock as two choices: ``MultiDiscrete([1 + SM clocks, memory clocks])``.

    The first choice is 0 for release (the second is then without meaning) or ``1 + i`` for the SM clock
    ``clocks.sm_clocks[i]``; the second indexes ``clocks.mem_clocks``. Where the device does not offer a pair, the
    nearest SM clock at the chosen memory clock is locked and ``info["snapped"]`` is True: two independent choices
    cannot be masked against each other.
    """

    def __init__(self, env: gymnasium.Env[Observation, np.int64]) -> None:
        """Wrap an env.

        Raises:
            UsageError: it is not a `ClockEnv`.
        """
        super().__init__(env)
        inner = env.unwrapped
        if not isinstance(inner, ClockEnv):
            raise UsageError(f"SmMemoryActions wraps a ClockEnv, not a {type(inner).__name__}")
        self._clocks = inner.clocks
        self.action_space = gymnasium.spaces.MultiDiscrete(
            [1 + len(self._clocks.sm_clocks), len(self._clocks.mem_clocks)]
        )

    def step(self, action: SmMemory) -> tuple[Observation, Any, bool, bool, dict[str, Any]]:
        """Lock the chosen clocks for one window. `Any`: Gymnasium's signature.

        Raises:
            UsageError: no episode is running, or a choice is outside its range.
        """
        observation, reward, terminated, truncated, info = super().step(action)
        wanted = self._wanted(action)
        return observation, reward, terminated, truncated, {**info, "snapped": self._offered(wanted) != wanted}

    def action(self, action: SmMemory) -> np.int64:
        """Return the wrapped env's action.

        Raises:
            UsageError: a choice is outside its range.
        """
        return np.int64(self._clocks.action_of(self._offered(self._wanted(action))))

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which choices are valid, both dimensions in a row: all.

        bool, shape (1 + SM clocks + memory clocks,), as sb3-contrib's MaskablePPO asks for it.
        """
        return np.ones(1 + len(self._clocks.sm_clocks) + len(self._clocks.mem_clocks), dtype=np.bool_)

    def _wanted(self, action: SmMemory) -> ClockPair | None:
        if not self.action_space.contains(np.asarray(action, dtype=np.int64)):
            raise UsageError(f"no action {list(action)}; both choices count from 0 within {self.action_space}")
        sm_choice, mem_choice = (int(choice) for choice in action)
        if sm_choice == 0:
            return None
        return ClockPair(self._clocks.sm_clocks[sm_choice - 1], self._clocks.mem_clocks[mem_choice])

    def _offered(self, wanted: ClockPair | None) -> ClockPair | None:
        if wanted is None or wanted in self._clocks:
            return wanted
        at_this_memory = [pair for pair in self._clocks if pair.mem_mhz == wanted.mem_mhz]
        return min(at_this_memory, key=lambda pair: abs(pair.sm_mhz - wanted.sm_mhz))
