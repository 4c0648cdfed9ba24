"""Clock pairs, and the table of pairs that a device really offers.

The table is also the action space: action 0 releases the clocks to the driver, action ``i`` locks pair ``i - 1``.

    table = ClockTable.from_product(sm_mhz=range(210, 1996, 15), mem_mhz=(9251, 9501))
    table.action_of(ClockPair(1800, 9501))
    table.pair_of(0) is None               # released
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.errors import ClockNotSupportedError, UsageError

__all__ = ["RELEASE", "ClockPair", "ClockTable"]

RELEASE = 0
"""The action that locks nothing: the driver decides, with boost, power cap and idle states."""


@dataclass(frozen=True, slots=True, order=True)
class ClockPair:
    """One setting: SM clock and memory clock, both in whole MHz."""

    sm_mhz: int
    mem_mhz: int

    def __str__(self) -> str:
        """Return ``SM/MEM`` in MHz."""
        return f"{self.sm_mhz}/{self.mem_mhz}"

    @classmethod
    def parse(cls, text: str) -> ClockPair:
        """Read ``SM,MEM`` or ``SM/MEM`` in MHz.

        Raises:
            UsageError: the text is not two positive whole numbers.
        """
        parts = text.replace("/", ",").split(",")
        if len(parts) != 2 or not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
            raise UsageError(f"{text!r} is not a clock pair; write SM,MEM in whole MHz, for example 1800,5000")
        return cls(int(parts[0]), int(parts[1]))


class ClockTable:
    """The pairs that a device offers, ordered by memory clock, then SM clock.

    Immutable; equal tables hold equal pairs. ``len(table)`` counts pairs, ``n_actions`` is one more.
    """

    def __init__(self, pairs: Iterable[ClockPair]) -> None:
        """Sort and keep the pairs.

        Raises:
            UsageError: there is no pair, a clock is not positive, or a pair is listed twice.
        """
        given = list(pairs)
        ordered = sorted(set(given), key=lambda pair: (pair.mem_mhz, pair.sm_mhz))
        if not ordered:
            raise UsageError("a clock table needs at least one pair; none was given")
        if len(ordered) != len(given):
            twice = sorted({str(pair) for pair in given if given.count(pair) > 1})
            raise UsageError(f"clock pairs listed twice: {', '.join(twice)}; list each once")
        if min(min(pair.sm_mhz, pair.mem_mhz) for pair in ordered) <= 0:
            raise UsageError("clocks are positive MHz; the table holds a zero or negative one")
        self._pairs = tuple(ordered)
        self._action_of = {pair: index + 1 for index, pair in enumerate(ordered)}

    @classmethod
    def from_product(cls, sm_mhz: Iterable[int], mem_mhz: Iterable[int]) -> ClockTable:
        """Build the table of every SM clock with every memory clock."""
        sm_clocks = tuple(sm_mhz)
        return cls(ClockPair(sm, mem) for mem in mem_mhz for sm in sm_clocks)

    def __len__(self) -> int:
        """Return the number of pairs (without the release action)."""
        return len(self._pairs)

    def __iter__(self) -> Iterator[ClockPair]:
        """Iterate over the pairs in table order."""
        return iter(self._pairs)

    def __contains__(self, pair: object) -> bool:
        """Tell whether the device offers the pair."""
        return pair in self._action_of

    def __eq__(self, other: object) -> bool:
        """Compare by pairs."""
        return isinstance(other, ClockTable) and self._pairs == other._pairs

    def __hash__(self) -> int:
        """Hash by pairs."""
        return hash(self._pairs)

    def __repr__(self) -> str:
        """Return size and span."""
        return f"ClockTable({len(self)} pairs, {self._pairs[0]}..{self._pairs[-1]} MHz)"

    @property
    def pairs(self) -> tuple[ClockPair, ...]:
        """The pairs in table order; ``pairs[i]`` is action ``i + 1``."""
        return self._pairs

    @property
    def n_actions(self) -> int:
        """Number of actions: release and one per pair."""
        return 1 + len(self._pairs)

    @cached_property
    def sm_clocks(self) -> tuple[int, ...]:
        """Distinct SM clocks in MHz, ascending."""
        return tuple(sorted({pair.sm_mhz for pair in self._pairs}))

    @cached_property
    def mem_clocks(self) -> tuple[int, ...]:
        """Distinct memory clocks in MHz, ascending."""
        return tuple(sorted({pair.mem_mhz for pair in self._pairs}))

    @property
    def top(self) -> ClockPair:
        """The pair with the highest memory clock and, there, the highest SM clock."""
        return self._pairs[-1]

    @cached_property
    def mhz(self) -> NDArray[np.float64]:
        """SM and memory clock of every pair in MHz, float64, shape (len(table), 2)."""
        array = np.array([(pair.sm_mhz, pair.mem_mhz) for pair in self._pairs], dtype=np.float64)
        array.flags.writeable = False
        return array

    def pair_of(self, action: int) -> ClockPair | None:
        """Return the pair of an action; ``None`` for release.

        Raises:
            ClockNotSupportedError: the action is outside ``0..len(table)``.
        """
        if not 0 <= action <= len(self._pairs):
            raise ClockNotSupportedError(
                f"no action {action}; this table has 0 (release) to {len(self._pairs)}, one per clock pair"
            )
        return None if action == RELEASE else self._pairs[action - 1]

    def action_of(self, pair: ClockPair | None) -> int:
        """Return the action that locks a pair; ``None`` releases.

        Raises:
            ClockNotSupportedError: the device does not offer the pair; the message names the nearest one.
        """
        if pair is None:
            return RELEASE
        action = self._action_of.get(pair)
        if action is None:
            raise ClockNotSupportedError(
                f"no clock pair {pair} MHz; the table has {len(self)} pairs, the nearest is {self.nearest(pair)}; "
                "choose one of the table"
            )
        return action

    def at_least(self, min_sm_mhz: int) -> ClockTable:
        """Return the part of the table whose SM clocks are not below a bound.

        Raises:
            UsageError: nothing would be left.
        """
        kept = [pair for pair in self._pairs if pair.sm_mhz >= min_sm_mhz]
        if not kept:
            raise UsageError(f"no clock pair has an SM clock of {min_sm_mhz} MHz or more; the highest is {self.top}")
        return ClockTable(kept)

    def nearest(self, pair: ClockPair) -> ClockPair:
        """Return the pair of the table with the least relative distance; memory clock and SM clock weigh alike."""
        wanted = np.array([pair.sm_mhz, pair.mem_mhz], dtype=np.float64)
        distance = np.abs(np.log(self.mhz / wanted)).sum(axis=1)
        return self._pairs[int(np.argmin(distance))]
