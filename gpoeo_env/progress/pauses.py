"""Leaves pauses out of a stream of blocks, so that what is compared is always the workload at work.

A pause (a checkpoint, an exhausted queue, the end of the program) is not another workload. A stall of every iteration
is part of the workload: pauses under two seconds stay in.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.progress.behaviour import PIPES
from gpoeo_env.progress.blocks import BLOCK_S, Blocks
from gpoeo_env.signals import POWER

__all__ = ["IDLE_POWER", "PauseFilter"]

PAUSE_BLOCKS = round(2.0 / BLOCK_S)
"""Two seconds of idle blocks are a pause, as in GPOEO's released code."""
IDLE_ACTIVE = 0.01
"""Activity below which nothing runs; the context of another process may leave a trace."""
IDLE_UTIL = 0.05
"""The same for the driver's utilisation, whose smoothing lags."""
IDLE_POWER = 0.4
"""Without counters and utilisation, nothing runs below this share of the load's power: an H200 with a live context
draws 120 W, its training loads 340 W and more."""
COUNTERS = ("sm_active", *PIPES, "dram_active")
VERDICT_BLOCKS = round(1.0 / BLOCK_S)
LOAD_BLOCKS = 20
"""The load's power is the mean over these last blocks at work."""

Floats = NDArray[np.float64]


class PauseFilter:
    """Passes on the blocks at work, one block late.

    A block is held until its successor is known: the last one before a pause and the first one after it hold some of
    both and are left out with it. A stream begins in a pause.
    """

    def __init__(self) -> None:
        """Begin in a pause."""
        self._is_paused = True
        self._held: list[tuple[float, Floats]] = []
        self._n_idle = 0
        self._verdict: bool | None = None
        self._verdict_age = 0
        self._load_w: deque[float] = deque(maxlen=LOAD_BLOCKS)

    def at_work(self, blocks: Blocks) -> Blocks:
        """Take new blocks and return those that are now known to be no part of a pause."""
        passed: list[tuple[float, Floats]] = []
        by_counters, by_util = _idle_by_counters(blocks), _idle_by_util(blocks)
        power_w = _power(blocks)
        for row, (t_s, values) in enumerate(zip(blocks.t_s.tolist(), blocks.values, strict=True)):
            if self._is_idle(by_counters[row], by_util[row], power_w[row]):
                self._hold_idle((t_s, values))
                continue
            passed += self._hold_at_work((t_s, values))
            if np.isfinite(power_w[row]):
                self._load_w.append(float(power_w[row]))
        times = np.array([t_s for t_s, _ in passed])
        rows = np.array([values for _, values in passed]).reshape(len(passed), len(blocks.names))
        return Blocks(times, rows, blocks.names)

    def _hold_idle(self, block: tuple[float, Floats]) -> None:
        self._n_idle += 1
        self._held.append(block)
        if self._n_idle >= PAUSE_BLOCKS:
            self._is_paused = True
        if self._is_paused:
            self._held.clear()

    def _hold_at_work(self, block: tuple[float, Floats]) -> list[tuple[float, Floats]]:
        self._n_idle = 0
        if self._is_paused:
            self._is_paused = False
            return []
        passed, self._held = self._held, [block]
        return passed

    def _is_idle(self, by_counters: float, by_util: float, power_w: float) -> bool:
        """Ask the counters (the latest word of a slow sensor counts for a second), then utilisation, then power."""
        self._verdict_age += 1
        if np.isfinite(by_counters):
            self._verdict, self._verdict_age = bool(by_counters), 0
        if self._verdict is not None and self._verdict_age < VERDICT_BLOCKS:
            return self._verdict
        if np.isfinite(by_util):
            return bool(by_util)
        return bool(self._load_w) and power_w < IDLE_POWER * sum(self._load_w) / len(self._load_w)


def _idle_by_counters(blocks: Blocks) -> Floats:
    """Return 1 for idle, 0 for at work, NaN where no counter says."""
    columns = [index for index, name in enumerate(blocks.names) if name in COUNTERS]
    counters = blocks.values[:, columns]
    is_known = np.isfinite(counters)
    return np.where(
        is_known.any(axis=1), np.where(is_known, counters, 0.0).max(axis=1, initial=0.0) < IDLE_ACTIVE, np.nan
    )


def _idle_by_util(blocks: Blocks) -> Floats:
    if "gpu_util" not in blocks.names:
        return np.full(len(blocks.t_s), np.nan)
    util = blocks.values[:, blocks.names.index("gpu_util")]
    return np.where(np.isfinite(util), util < IDLE_UTIL, np.nan)


def _power(blocks: Blocks) -> Floats:
    power_w = np.full(len(blocks.t_s), np.nan)
    for name in ("power_instant_w", POWER.name):
        if name in blocks.names:
            column = blocks.values[:, blocks.names.index(name)]
            power_w = np.where(np.isfinite(column), column, power_w)
    return power_w
