"""What a workload looks like over a few seconds, in numbers that can be compared with a few seconds earlier.

The *mix* is the share of each pipe and of memory traffic in the counted work: it belongs to the program and hardly
moves with the clocks. The *level* is power and activity: it belongs to the program at one clock pair. The *pattern* is
how activity goes up and down inside a run: another iteration of the same level shows there.

Sampled sensors alias: the instant power and the utilisation of a strictly periodic loop wander by 30 % over half a
minute (seen on an H200 for a loop of 201 ms against a refresh of 100 ms) while its energy, its averaged power and its
interval counters stand still. So a sampled sensor is heard only where no integrated one exists.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from gpoeo_env.progress.blocks import BLOCK_S, ENERGY_POWER, Blocks
from gpoeo_env.signals import MEM_CLOCK, POWER, SM_CLOCK

__all__ = ["FEATURES", "PIPES", "Family", "Feature", "behaviour", "pattern"]

PIPES = ("tensor_active", "fp64_active", "fp32_active", "fp16_active", "integer_active")
INSTANT_POWER = "power_instant_w"
ACTIVE_FLOOR = 0.1
"""Changes of an activity well below a tenth of the time do not count in full."""
LEAST_WORK = 0.02
"""Below this sum of pipe and memory utilisations the mix is not worth naming."""
LEAST_COVERAGE = 0.25
"""Share of the blocks that must hold a value: a sensor at 1 Hz fills one block in four."""
PATTERN_COVERAGE = 0.75
"""The same for a pattern, which a sparse sensor would not show but invent."""

Floats = NDArray[np.float64]


class Family(Enum):
    """What a feature speaks of."""

    MIX = "work mix"
    LEVEL = "level"
    CLOCK = "clock"


@dataclass(frozen=True, slots=True)
class Feature:
    """One number of a behaviour.

    Attributes:
        name: for people.
        family: what it speaks of.
        tolerance: what still counts as the same behaviour, in the feature's own unit.
    """

    name: str
    family: Family
    tolerance: float


_SOURCES = (*PIPES, "dram_active")
FEATURES: tuple[Feature, ...] = (
    *(Feature(f"share of {source}", Family.MIX, 0.04) for source in _SOURCES),
    Feature("power", Family.LEVEL, 0.15),
    Feature("activity", Family.LEVEL, 0.15),
    Feature("SM clock", Family.CLOCK, 0.05),
    Feature("memory clock", Family.CLOCK, 0.05),
)
"""The order of the columns of `behaviour`.

Tolerances: shares in absolute terms (no share of 20 programs moved by more than 0.014 between 900 and 1380 MHz on a
V100); levels as natural logarithms, a little under the 18 % of power that GPOEO's released code takes for a change; a
clock change under 5 % cannot move power by 15 %, as power grows with at most the third power of it.
"""


def behaviour(blocks: Blocks, length: int) -> Floats:
    """Return the features of every run of ``length`` blocks, by its last block.

    Args:
        blocks: n blocks; every column has been valid at some time, or else its absence would pass for a gap.
        length: blocks in a run.

    Returns:
        float64, shape (max(n - length + 1, 0), len(FEATURES)); NaN where a run does not say.
    """
    runs = _Runs(blocks, length)
    sm_ghz, mem_ghz = (1e-3 * runs.column(clock.name, missing=1e3) for clock in (SM_CLOCK, MEM_CLOCK))
    work = {name: runs.mean(runs.column(name) * sm_ghz) for name in PIPES}
    work["dram_active"] = runs.mean(runs.column("dram_active") * mem_ghz)
    known = [series for name, series in work.items() if name in blocks.names]
    total = np.sum(known, axis=0) if known else np.full(runs.count, math.nan)
    total[~(total > LEAST_WORK)] = math.nan
    power_w = runs.first_known(ENERGY_POWER, POWER.name, *(() if known else (INSTANT_POWER,)))
    activity = np.where(np.isfinite(active := runs.mean(runs.column("sm_active"))), active, total)
    features = (
        *(series / total for series in work.values()),
        np.log(power_w),
        np.log(ACTIVE_FLOOR + activity),
        np.log(runs.mean(sm_ghz)),
        np.log(runs.mean(mem_ghz)),
    )
    return np.stack(features, axis=1)


def pattern(blocks: Blocks, length: int) -> Floats:
    """Return how activity, or else power, goes up and down in every run, relative to its mean there.

    Neighbouring blocks are averaged: what is faster than the blocks can show would come back as a beat.

    Args:
        blocks: n blocks.
        length: blocks in a run.

    Returns:
        float64, shape (max(n - length + 1, 0), length - 1), about 0 on average. A row is NaN where the run holds a
        pause, or too few values: a sparse sensor would not show a pattern but invent one.
    """
    runs = _Runs(blocks, length)
    has_counters = any(name in blocks.names for name in PIPES)
    names = ("sm_active", POWER.name) if has_counters else ("sm_active", POWER.name, INSTANT_POWER)
    name = next((name for name in names if name in blocks.names), None)
    if name is None or runs.count == 0:
        return np.full((runs.count, length - 1), math.nan)
    series = runs.column(name)
    mean = runs.mean(series, PATTERN_COVERAGE)
    lasts_s = blocks.t_s[length - 1 :] - blocks.t_s[: runs.count]
    mean[~(mean > 0) | (lasts_s > (length + 1) * BLOCK_S)] = math.nan
    relative = sliding_window_view(0.5 * (series[1:] + series[:-1]), length - 1) / mean[:, None] - 1.0
    return np.where(np.isnan(relative) & np.isfinite(mean)[:, None], 0.0, relative)


class _Runs:
    """Every run of a number of consecutive blocks."""

    def __init__(self, blocks: Blocks, length: int) -> None:
        self._blocks = blocks
        self._length = length
        self.count = max(len(blocks.t_s) - length + 1, 0)

    def column(self, name: str, missing: float = math.nan) -> Floats:
        """Return one column, or a constant where there is none."""
        if name not in self._blocks.names:
            return np.full(len(self._blocks.t_s), missing)
        column: Floats = self._blocks.values[:, self._blocks.names.index(name)]
        return column

    def mean(self, series: Floats, coverage: float = LEAST_COVERAGE) -> Floats:
        """Return the mean of each run; NaN where too few blocks are known."""
        if self.count == 0:
            return np.empty(0)
        runs = sliding_window_view(series, self._length)
        is_known = np.isfinite(runs)
        n_known = is_known.sum(axis=1)
        least = max(1, int(coverage * self._length))
        sums = np.where(is_known, runs, 0.0).sum(axis=1)
        means: Floats = np.divide(sums, n_known, out=np.full(self.count, math.nan), where=n_known >= least)
        return means

    def first_known(self, *names: str) -> Floats:
        """Return the means of the first column that knows each run; NaN where none does or it is not positive."""
        means = np.full(self.count, math.nan)
        for name in names:
            means = np.where(np.isfinite(means), means, self.mean(self.column(name)))
        return np.where(means > 0, means, math.nan)
