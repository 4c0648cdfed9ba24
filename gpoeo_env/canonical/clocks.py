"""The same 49 actions on every GPU: release, and 16 relative SM clocks at up to three memory clocks.

canonical = CanonicalClocks(table)
canonical.actions[canonical.is_valid]       # the table's own actions behind the valid ones
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.clocks import RELEASE, ClockTable
from gpoeo_env.errors import ClockNotSupportedError

__all__ = ["MEM_LEVELS", "N_ACTIONS", "SM_LEVELS", "CanonicalClocks"]

SM_LEVELS: NDArray[np.float64] = 1.0 - 0.5 * (np.arange(15, -1, -1) / 15) ** 1.3
"""SM clocks relative to the highest one, closer at the top, where most optima within a limit lie. The best of such
levels gives away 1.3 points of the saving on the simulated training workloads, even steps from 0.4 on 2.2 points (mean
of six GPUs, limit 5 %)."""
SM_LEVELS.flags.writeable = False
MEM_LEVELS = 3
"""Memory clocks, counted from the highest. What a GPU has below its third is for idling."""
N_ACTIONS = 1 + MEM_LEVELS * len(SM_LEVELS)


class CanonicalClocks:
    """How the canonical actions map to one clock table.

    Action ``1 + 16 m + s`` is SM level s at memory clock m
    from the top.

    A pair belongs to the nearest level, and a level stands for the nearest of its pairs; a level without a pair is
    not valid. So no two valid actions lock the same pair.

    Attributes:
        actions: the table's action behind each canonical one, int64, shape (N_ACTIONS,); `RELEASE` where not valid.
        is_valid: bool, shape (N_ACTIONS,); release always is.
    """

    def __init__(self, clocks: ClockTable) -> None:
        """Map a table."""
        self.actions: NDArray[np.int64] = np.full(N_ACTIONS, RELEASE, dtype=np.int64)
        self.is_valid: NDArray[np.bool_] = np.zeros(N_ACTIONS, dtype=np.bool_)
        self.is_valid[RELEASE] = True
        for rank, mem_mhz in enumerate(reversed(clocks.mem_clocks[-MEM_LEVELS:])):
            self._map_memory_clock(clocks, rank, mem_mhz)
        self.actions.flags.writeable = self.is_valid.flags.writeable = False

    def action_of(self, canonical: int) -> int:
        """Return the table's action behind a canonical one.

        Raises:
            ClockNotSupportedError: the table has no pair for it.
        """
        if not (0 <= canonical < N_ACTIONS and self.is_valid[canonical]):
            raise ClockNotSupportedError(
                f"canonical action {canonical} locks no pair of this table; valid are "
                f"{', '.join(str(action) for action in np.flatnonzero(self.is_valid))}: choose among action_masks()"
            )
        return int(self.actions[canonical])

    def _map_memory_clock(self, clocks: ClockTable, rank: int, mem_mhz: int) -> None:
        rows = np.flatnonzero(clocks.mhz[:, 1] == mem_mhz)
        distances = np.abs(clocks.mhz[rows, 0, None] / clocks.sm_clocks[-1] - SM_LEVELS)
        nearest_level = distances.argmin(axis=1)
        for level in np.unique(nearest_level):
            own = np.flatnonzero(nearest_level == level)
            canonical = 1 + rank * len(SM_LEVELS) + level
            self.actions[canonical] = 1 + rows[own[distances[own, level].argmin()]]
            self.is_valid[canonical] = True
