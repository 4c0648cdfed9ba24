"""Which clock pairs a profile measures, in which order, and how long that takes: decided before anything is changed.

plan = plan_profile(device.clocks, default_pair, window_s=10.0, budget_s=1200.0)
plan.pairs, plan.left_out, plan.seconds
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.errors import UsageError

__all__ = ["REFERENCE_EVERY", "ProfilePlan", "plan_profile"]

REFERENCE_EVERY = 10
"""Pairs between two windows at the driver's default: a drift of the workload shows within minutes."""
SETTLE_S = 0.5
"""Allowance for one clock change; what it really takes is the device's to say."""


@dataclass(frozen=True, slots=True)
class ProfilePlan:
    """A bounded sweep over clock pairs.

    Attributes:
        pairs: in the order of measuring, coarse to fine, so that an interrupted profile covers the whole range.
        left_out: pairs of the table that the budget, or a limit of the SM clock, leaves no room for.
        window_s: seconds of a window.
        reference_windows: windows at the driver's default: before, in between, and after.
    """

    pairs: tuple[ClockPair, ...]
    left_out: int
    window_s: float
    reference_windows: int

    @property
    def windows(self) -> int:
        """All windows."""
        return len(self.pairs) + self.reference_windows

    @property
    def seconds(self) -> float:
        """How long it takes, clock changes allowed for."""
        return self.windows * self.window_s + (len(self.pairs) + self.reference_windows) * SETTLE_S


def plan_profile(
    clocks: ClockTable, reference: ClockPair | None, *, window_s: float, budget_s: float, min_sm_mhz: int = 0
) -> ProfilePlan:
    """Choose pairs that fit into a budget: SM clocks evenly thinned, every memory clock with its ends.

    Args:
        clocks: what the device offers.
        reference: the pair that stands for the driver's default, which is measured released; None = unknown.
        window_s: seconds of a window.
        budget_s: seconds that the whole profile may take.
        min_sm_mhz: lower SM clocks are not tried.

    Raises:
        UsageError: the budget has no room for two pairs, or no pair is left.
    """
    wanted = [pair for pair in clocks if pair.sm_mhz >= min_sm_mhz and pair != reference]
    if not wanted:
        raise UsageError(f"no pair of the table has an SM clock of {min_sm_mhz} MHz or more; the top is {clocks.top}")
    room = _room(budget_s, window_s)
    if room < 2:
        raise UsageError(
            f"a profile of two pairs in windows of {window_s:g} s takes {_seconds(2, window_s):g} s, and the budget is "
            f"{budget_s:g} s; raise it or shorten the windows"
        )
    chosen = wanted if len(wanted) <= room else _thinned(wanted, room)
    return ProfilePlan(
        pairs=tuple(_coarse_to_fine(chosen)),
        left_out=len(clocks) - len(chosen) - (reference in clocks),
        window_s=window_s,
        reference_windows=_references(len(chosen)),
    )


def _references(n_pairs: int) -> int:
    return 2 + (n_pairs - 1) // REFERENCE_EVERY


def _seconds(n_pairs: int, window_s: float) -> float:
    return (n_pairs + _references(n_pairs)) * (window_s + SETTLE_S)


def _room(budget_s: float, window_s: float) -> int:
    """Return how many pairs fit."""
    n = max(0, math.floor(budget_s / (window_s + SETTLE_S)))
    while n > 0 and _seconds(n, window_s) > budget_s:
        n -= 1
    return n


def _thinned(pairs: Sequence[ClockPair], most: int) -> list[ClockPair]:
    """Return at most so many pairs: of every memory clock its ends and SM clocks in between, evenly."""
    by_memory: dict[int, list[ClockPair]] = {}
    for pair in pairs:
        by_memory.setdefault(pair.mem_mhz, []).append(pair)
    share, extra = divmod(most, len(by_memory))
    chosen = []
    for rank, group in enumerate(sorted(by_memory.values(), key=lambda group: -group[0].mem_mhz)):
        chosen += _spread(group, share + (rank < extra))
    return chosen


def _spread(group: Sequence[ClockPair], n: int) -> list[ClockPair]:
    """Return n of the pairs with both ends, evenly; the top one where there is room for one."""
    if n <= 1:
        return [group[-1]][:n]
    rows = sorted({round(step * (len(group) - 1) / (n - 1)) for step in range(min(n, len(group)))})
    return [group[row] for row in rows]


def _coarse_to_fine(pairs: Sequence[ClockPair]) -> list[ClockPair]:
    """Order pairs so that every beginning of the list covers the range: ends first, then halves, quarters, ..."""
    ordered = sorted(pairs, key=lambda pair: (pair.mem_mhz, pair.sm_mhz), reverse=True)
    levels: list[list[int]] = [[0, len(ordered) - 1] if len(ordered) > 1 else [0]]
    seen = set(levels[0])
    step = len(ordered) // 2
    while step >= 1:
        level = [row for row in range(0, len(ordered), step) if row not in seen]
        seen.update(level)
        levels.append(level)
        step //= 2
    return [ordered[row] for level in levels for row in level]
