"""Rows of any pace, summed into blocks of a quarter second.

Everything that watches a workload over time stands on these: late, dropped, repeated and irregular rows only change how
much of a block is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.signals import ENERGY

__all__ = ["BLOCK_S", "ENERGY_POWER", "BlockStream", "Blocks"]

BLOCK_S = 0.25
"""Two refreshes of a 100 ms sensor or one of a 200 ms sensor, and short against the seconds of a decision."""
LONGEST_ROW_S = 2 * BLOCK_S
"""A row speaks for no more than this: after a dropout it is as good as any other row."""
ENERGY_POWER = "energy_power_w"
"""The column that replaces the energy counter: mean power since the counter last moved, free of aliasing."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Blocks:
    """Consecutive blocks that hold at least one row.

    Attributes:
        t_s: start of each block on the clock of the rows, float64, shape (n,).
        values: time-weighted means, float64, shape (n, k); NaN where a block has no valid row.
        names: the k columns.
    """

    t_s: Floats
    values: Floats
    names: tuple[str, ...]


class BlockStream:
    """Cuts a stream of rows into blocks; the rows of an unfinished block wait for the next call."""

    def __init__(self, names: Sequence[str]) -> None:
        """Take the columns that will come."""
        self.names = tuple(ENERGY_POWER if name == ENERGY.name else name for name in names)
        self._is_energy = [name == ENERGY.name for name in names]
        self._latest_s = -math.inf
        self._spoke_s = np.full(len(names), math.nan)
        self._counted_j = math.nan
        self._moved_s = math.nan
        self._waiting = (np.empty(0), np.empty((0, len(names))), np.empty((0, len(names))))

    def push(self, t_s: Floats, values: Floats) -> Blocks:
        """Take rows and return the blocks that they finish.

        Rows that are not later than all before them are dropped.

        Args:
            t_s: row times in seconds, shape (n,).
            values: shape (n, k) in the order of the columns; NaN where missing.
        """
        t_s, values = self._later_rows(t_s, values)
        weights = np.zeros_like(values)
        for column, is_energy in enumerate(self._is_energy):
            if is_energy:
                values[:, column] = self._power_of(t_s, values[:, column])
            weights[:, column] = self._spans(column, t_s, values[:, column])
        t_s, values, weights = (
            np.concatenate(pair) for pair in zip(self._waiting, (t_s, values, weights), strict=True)
        )
        index = np.floor(t_s / BLOCK_S)
        is_waiting = index == index[-1] if len(index) else np.empty(0, dtype=np.bool_)
        self._waiting = (t_s[is_waiting], values[is_waiting], weights[is_waiting])
        return self._summed(index[~is_waiting], values[~is_waiting], weights[~is_waiting])

    def _later_rows(self, t_s: Floats, values: Floats) -> tuple[Floats, Floats]:
        comparable = np.where(np.isfinite(t_s), t_s, -math.inf)
        before = np.maximum.accumulate(np.concatenate(([self._latest_s], comparable)))
        is_later = comparable > before[:-1]
        self._latest_s = float(before[-1])
        rows = values[is_later]
        return t_s[is_later], np.where(np.isfinite(rows), rows, math.nan)

    def _power_of(self, t_s: Floats, energy_j: Floats) -> Floats:
        """Return mean power at the rows where the energy counter moved, NaN at all others."""
        is_valid = np.isfinite(energy_j)
        counted = np.concatenate(([self._counted_j], energy_j[is_valid]))
        rows = np.flatnonzero(is_valid)[np.diff(counted) != 0]
        power_w = np.full(len(t_s), math.nan)
        if len(rows) == 0:
            return power_w
        energies = np.concatenate(([self._counted_j], energy_j[rows]))
        times = np.concatenate(([self._moved_s], t_s[rows]))
        power = np.diff(energies) / np.diff(times)
        power_w[rows] = np.where(power >= 0, power, math.nan)
        self._counted_j, self._moved_s = float(energies[-1]), float(times[-1])
        return power_w

    def _spans(self, column: int, t_s: Floats, values: Floats) -> Floats:
        """Return for how long each row speaks: since the last valid one, and 0 where the row is NaN."""
        is_valid = np.isfinite(values)
        spans = np.zeros(len(t_s))
        if not is_valid.any():
            return spans
        spoke_s = np.concatenate(([self._spoke_s[column]], t_s[is_valid]))
        gaps = np.diff(spoke_s)
        spans[is_valid] = np.where(gaps < LONGEST_ROW_S, gaps, LONGEST_ROW_S)
        self._spoke_s[column] = spoke_s[-1]
        return spans

    def _summed(self, index: Floats, values: Floats, weights: Floats) -> Blocks:
        blocks, place = np.unique(index, return_inverse=True)
        shape = (len(blocks), len(self.names))
        sums, spans = np.zeros(shape), np.zeros(shape)
        np.add.at(sums, place, np.where(weights > 0, values * weights, 0.0))
        np.add.at(spans, place, weights)
        means = np.divide(sums, spans, out=np.full(shape, math.nan), where=spans > 0)
        return Blocks(blocks * BLOCK_S, means, self.names)
