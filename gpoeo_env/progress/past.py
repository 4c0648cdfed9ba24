"""What a workload has shown so far, and whether its latest seconds still fit.

The last run of blocks is compared with all runs of the same length before it, as far back as two minutes. It has
changed when a feature leaves the range of the past by more than its tolerance and half that range, and every third of
the run deviates the same way. Where mix and level stand still, its pattern may still be new (`novelty`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.progress.behaviour import FEATURES, Family, behaviour, pattern
from gpoeo_env.progress.blocks import BLOCK_S, Blocks
from gpoeo_env.progress.novelty import Novelty
from gpoeo_env.progress.pauses import IDLE_POWER
from gpoeo_env.signals import SM_CLOCK

__all__ = ["Past", "Shift"]

THIRD = round(1.5 / BLOCK_S)
RUN = 3 * THIRD
"""Blocks that are compared: long against an iteration, and short enough to answer within six seconds."""
SETTLED = RUN
"""Runs that the past must hold before it counts: its first and last then share no block."""
MEMORY = round(120.0 / BLOCK_S)
"""Runs that the past holds at most: two of the longest periods that matter."""
RANGE_SHARE = 0.5
"""The range of a few independent runs is too narrow: it is widened by this share on both sides."""
THIRD_SHARE = 0.5
"""A third of a run is noisier than the whole: it must only deviate by this share of the margin."""
LASTING_PATTERN = RUN + THIRD
"""An outlier of a third makes one run less than this new: so many new ones in a row are another pattern."""
ONSET_BLOCKS = 2
"""The onset is sought in means over this many blocks, in which one iteration's stall is no longer a gap."""

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_TOLERANCE = np.array([feature.tolerance for feature in FEATURES])
_FAMILY = [feature.family for feature in FEATURES]
_IS_MIX, _IS_CLOCK = (np.array([family is wanted for family in _FAMILY]) for wanted in (Family.MIX, Family.CLOCK))
_POWER = [feature.name for feature in FEATURES].index("power")


@dataclass(frozen=True, slots=True)
class Shift:
    """The workload became another one.

    Attributes:
        at_s: when, on the clock of the windows: the new behaviour begins about here.
        what: the feature that left its range the farthest, or "pattern".
        strength: by how many margins it did; above 1.
        seen_s: when there was enough evidence.
    """

    at_s: float
    what: str
    strength: float
    seen_s: float


@dataclass(frozen=True, slots=True)
class _Range:
    """Lowest and highest value of every feature, shape (len(FEATURES),); NaN where unknown."""

    low: Floats
    high: Floats

    @classmethod
    def of(cls, runs: Floats) -> _Range:
        nothing = np.full((1, len(FEATURES)), math.nan)
        runs = np.concatenate((nothing, runs))
        return cls(np.fmin.reduce(runs, axis=0), np.fmax.reduce(runs, axis=0))

    @property
    def is_known(self) -> bool:
        return bool(np.isfinite(self.low).any())

    def joined(self, other: _Range) -> _Range:
        return _Range(np.fmin(self.low, other.low), np.fmax(self.high, other.high))

    def only(self, which: Flags, other: _Range) -> _Range:
        """Take some features from here and the rest from another range."""
        return _Range(np.where(which, self.low, other.low), np.where(which, self.high, other.high))

    def excess(self, run: Floats) -> Floats:
        """Return how far a run lies above (positive) or below (negative) the range; 0 inside and where unknown."""
        return np.fmax(run - self.high, 0.0) + np.fmin(run - self.low, 0.0)

    def margin(self) -> Floats:
        """Return how far beyond the range a run may lie; NaN where the range is unknown."""
        return _TOLERANCE + RANGE_SHARE * (self.high - self.low)


_UNKNOWN = _Range.of(np.empty((0, len(FEATURES))))


class Past:
    """The blocks at work, and what each new one says against those before."""

    _pattern_begin: int
    _novelty: Novelty

    def __init__(self, names: tuple[str, ...]) -> None:
        """Take the columns that the blocks will have."""
        self._blocks = Blocks(np.empty(0), np.empty((0, len(names))), names)
        self._speaks = np.zeros(len(names), dtype=np.bool_)
        self._runs = np.empty((0, len(FEATURES)))
        self._thirds = np.empty((0, len(FEATURES)))
        self._patterns = np.empty((0, RUN - 1))
        self._begins = np.zeros(len(FEATURES), dtype=np.intp)
        self._phases = _UNKNOWN
        self._before = _UNKNOWN
        self._begin_pattern(0)

    def extend(self, blocks: Blocks) -> list[Shift]:
        """Take new blocks; return the shifts that they show."""
        n_known = len(self._blocks.t_s)
        self._append(blocks)
        shifts = [self._judge(last) for last in range(n_known, len(self._blocks.t_s))]
        self._forget_oldest()
        return [shift for shift in shifts if shift is not None]

    def change_clocks(self) -> None:
        """Begin the past anew in all that clocks move; two blocks from before may still be on their way."""
        begin = len(self._blocks.t_s) + 2
        if not self._knows_clocks:  # counters are times busy, and only become work by the clock
            self._begins[:] = begin
            self._phases = self._before = _UNKNOWN
        self._restart_levels(begin)

    @property
    def _knows_clocks(self) -> bool:
        return any(
            name == SM_CLOCK.name and speaks for name, speaks in zip(self._blocks.names, self._speaks, strict=True)
        )

    # Blocks and features.

    def _append(self, new: Blocks) -> None:
        n_known = len(self._blocks.t_s)
        times = np.concatenate((self._blocks.t_s, new.t_s))
        self._blocks = Blocks(times, np.concatenate((self._blocks.values, new.values)), new.names)
        speaks = self._speaks | np.isfinite(new.values).any(axis=0)
        if (speaks != self._speaks).any():  # a new source changes the shares of all others
            self._speaks = speaks
            self._begins[:] = n_known
            self._begin_pattern(n_known)
        end = len(times)
        self._runs = np.concatenate((self._runs, self._of_runs(behaviour, n_known, end, RUN)))
        self._thirds = np.concatenate((self._thirds, self._of_runs(behaviour, n_known, end, THIRD)))
        self._patterns = np.concatenate((self._patterns, self._of_runs(pattern, n_known, end, RUN)))

    def _of_runs(self, describe: Callable[[Blocks, int], Floats], begin: int, end: int, length: int) -> Floats:
        """Describe the runs whose last blocks are ``begin`` to ``end - 1``; NaN before the first run."""
        first = max(begin - length + 1, 0)
        names = tuple(name for name, speaks in zip(self._blocks.names, self._speaks, strict=True) if speaks)
        rows = Blocks(self._blocks.t_s[first:end], self._blocks.values[first:end][:, self._speaks], names)
        described = describe(rows, length)
        return np.concatenate((np.full((end - begin - len(described), described.shape[1]), math.nan), described))

    def _forget_oldest(self) -> None:
        excess = len(self._blocks.t_s) - (MEMORY + 3 * RUN)
        if excess <= 0:
            return
        self._blocks = Blocks(self._blocks.t_s[excess:], self._blocks.values[excess:], self._blocks.names)
        self._runs, self._thirds, self._patterns = (
            rows[excess:] for rows in (self._runs, self._thirds, self._patterns)
        )
        self._begins = np.maximum(self._begins - excess, 0)
        self._pattern_begin = max(self._pattern_begin - excess, 0)

    # Judgement.

    def _judge(self, last: int) -> Shift | None:
        """Compare the run that ends at a block with its past."""
        seen = self._range_before(last)
        excess = seen.excess(self._runs[last])
        is_out = np.abs(excess) > seen.margin()
        if not is_out.any():
            return self._judge_pattern(last, seen)
        # Whatever moves the level bends the pattern: wait for the level's verdict.
        self._novelty.interrupt()
        if self._have_clocks_moved(excess, is_out):
            self._restart_levels(last)
            is_out &= _IS_MIX
        is_out &= ~_IS_CLOCK & self._is_lasting(last, seen, np.sign(excess))
        return self._verdict(last, seen, np.where(is_out, np.abs(excess) / seen.margin(), 0.0))

    def _judge_pattern(self, last: int, seen: _Range) -> Shift | None:
        """Compare the pattern with the past where all else is as before; phases of one workload differ in theirs."""
        end = last - LASTING_PATTERN + 1
        past = self._patterns[max(self._pattern_begin + RUN - 1, end - MEMORY) : max(end, 0)]
        strength = self._novelty.judge(self._patterns[last], past)
        if not strength > 1 or self._phases.is_known:
            return None
        return self._call(last, last - LASTING_PATTERN - THIRD + 1, seen, "pattern", strength)

    def _verdict(self, last: int, seen: _Range, strengths: Floats) -> Shift | None:
        """Call a shift where the past had settled, and begin it anew where it had not."""
        is_settled = last - RUN - (self._begins + RUN - 1) >= SETTLED
        settled_strengths = np.where(is_settled, strengths, 0.0)
        if settled_strengths.any() and not self._was_pause(last, seen):
            which = int(settled_strengths.argmax())
            onset = self._onset(last, which)
            return self._call(last, onset, seen, FEATURES[which].name, float(settled_strengths[which]))
        if strengths.any():
            self._begin_anew(last, strengths > 0)
        return None

    def _range_before(self, last: int) -> _Range:
        """Return the range of the past that shares no block with the run that ends at ``last``."""
        end = max(last - RUN + 1, 0)
        of_mix, of_rest = (
            _Range.of(self._runs[max(int(begin) + RUN - 1, end - MEMORY) : end])
            for begin in (self._begins[_IS_MIX][0], self._begins[~_IS_MIX][0])
        )
        return of_mix.only(_IS_MIX, of_rest).joined(self._phases)

    def _is_lasting(self, last: int, seen: _Range, signs: Floats) -> Flags:
        """Say which features deviate the same way in every third of the run."""
        thirds = self._thirds[[last, last - THIRD, last - 2 * THIRD]]
        bound = np.where(signs > 0, seen.high, seen.low)
        lasting: Flags = np.all(signs * (thirds - bound) > THIRD_SHARE * seen.margin(), axis=0)
        return lasting

    def _was_pause(self, last: int, seen: _Range) -> bool:
        """Say whether the past was a pause that only power could have told, before any load was known."""
        has_counters = bool(np.isfinite(self._runs[last][_IS_MIX]).any())
        latest = self._thirds[last]
        return not has_counters and bool(seen.excess(latest)[_POWER] > -math.log(IDLE_POWER))

    def _have_clocks_moved(self, excess: Floats, is_out: Flags) -> bool:
        """Say whether the driver or a user changed the clocks: they moved, and power did not move against them.

        A lower clock never raises power: where it rose, the workload changed and the driver's clocks followed.
        """
        moved = excess[_IS_CLOCK & is_out]
        return len(moved) > 0 and not float(moved.sum()) * float(excess[_POWER]) < 0

    def _begin_anew(self, last: int, is_out: Flags) -> None:
        """Keep of the past only the runs that agree with the latest one, without a word."""
        which = np.ones_like(_IS_MIX) if is_out[_IS_MIX].any() else ~_IS_MIX
        earliest = int(self._begins[which][0]) + RUN - 1
        differs = np.abs(self._runs[earliest : last + 1] - self._runs[last]) > _TOLERANCE
        n_agreeing = int(np.argmin(np.append(~differs[::-1, which & ~_IS_CLOCK].any(axis=1), False)))
        self._begins[which] = last - (n_agreeing - 1) - RUN + 1
        self._begin_pattern(int(self._begins[which][0]))

    def _call(self, last: int, onset: int, seen: _Range, what: str, strength: float) -> Shift:
        run, before = self._runs[last], self._before
        is_known = np.isfinite(before.low) & ~_IS_CLOCK
        has_returned = is_known.any() and (np.abs(before.excess(run)) <= before.margin())[is_known].all()
        self._phases = seen.joined(before) if has_returned else _UNKNOWN
        self._before = seen
        self._begins[:] = onset
        self._begin_pattern(onset)
        return Shift(float(self._blocks.t_s[onset]), what, strength, float(self._blocks.t_s[last]) + BLOCK_S)

    def _onset(self, last: int, which: int) -> int:
        """Return the block where the new behaviour begins: the best split into two levels, by least squares."""
        first = max(last - RUN - THIRD, ONSET_BLOCKS - 1)
        series = self._of_runs(behaviour, first, last + 1, ONSET_BLOCKS)[:, which]
        places = np.flatnonzero(np.isfinite(series))
        sums, count = np.cumsum(series[places]), len(places)
        n_left = np.arange(1, count)
        step = sums[:-1] / n_left - (sums[-1] - sums[:-1]) / (count - n_left)
        onset = first + int(places[1 + np.argmax(n_left * (count - n_left) * step**2)])
        gaps = np.diff(self._blocks.t_s[onset - 1 : onset + THIRD])
        return onset + (int(gaps.argmax()) if gaps.max() > THIRD * BLOCK_S else 0)

    def _restart_levels(self, begin: int) -> None:
        self._begins[~_IS_MIX] = begin
        self._begin_pattern(begin)
        self._phases, self._before = (known.only(_IS_MIX, _UNKNOWN) for known in (self._phases, self._before))

    def _begin_pattern(self, begin: int) -> None:
        self._pattern_begin = begin
        self._novelty = Novelty(LASTING_PATTERN)
