"""The SM clocks of one memory clock, as a ladder of actions: what controllers of a single knob climb."""

from __future__ import annotations

from bisect import bisect_left
from typing import Self

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.clocks import ClockPair, ClockTable

__all__ = ["Ladder"]


class Ladder:
    """Rungs from the lowest to the highest SM clock; rung ``i`` locks ``mhz[i]`` by action ``actions[i]``."""

    def __init__(self, clocks: ClockTable, mem_mhz: int) -> None:
        """Take the pairs of a memory clock, or of the nearest that the table has."""
        self.mem_mhz = min(clocks.mem_clocks, key=lambda mem: abs(mem - mem_mhz))
        rungs = [(pair, action) for action, pair in enumerate(clocks, start=1) if pair.mem_mhz == self.mem_mhz]
        self.pairs: tuple[ClockPair, ...] = tuple(pair for pair, _ in rungs)
        self.actions: tuple[int, ...] = tuple(action for _, action in rungs)
        self.mhz: NDArray[np.float64] = np.array([pair.sm_mhz for pair in self.pairs], dtype=np.float64)

    @classmethod
    def beside(cls, clocks: ClockTable, pair: ClockPair) -> Self:
        """Return the ladder that holds a pair, or comes nearest to it."""
        return cls(clocks, pair.mem_mhz)

    def __len__(self) -> int:
        """Return the number of rungs."""
        return len(self.actions)

    def nearest(self, mhz: float) -> int:
        """Return the rung nearest to a clock."""
        return int(np.abs(self.mhz - mhz).argmin())

    def at_least(self, mhz: float) -> int:
        """Return the lowest rung that is not below a clock; the top where all are."""
        return min(bisect_left(self.mhz.tolist(), mhz), len(self) - 1)

    def spread(self, n: int, lowest: float, highest: float) -> list[int]:
        """Return about ``n`` rungs, evenly spaced from one clock (MHz) to another, ascending, each once."""
        return sorted({self.nearest(mhz) for mhz in np.linspace(lowest, highest, n)})
