"""One meter that chooses among several, best first, and keeps to its choice: another meter counts another unit.

meter = ChoosingMeter(WorkCounterMeter(), CounterWorkMeter(), PeriodMeter())
progress = meter.measure(window)          # kind says which one answered, reason why not a better one
window_s = meter.align(10.0)              # whole iterations, once their length is known
meter.reset()                             # a new segment: new choice, new unit, new reference
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Protocol, runtime_checkable

from gpoeo_env.progress.alignment import aligned_window_s
from gpoeo_env.progress.meter import ProgressMeter
from gpoeo_env.records import Progress, Window

__all__ = ["ChoosingMeter", "KnowsPeriod", "Resettable"]

PATIENCE = 3
"""Windows in a row that the chosen meter may refuse (a pause, a checkpoint) before the choice counts as lost."""


@runtime_checkable
class Resettable(Protocol):
    """A meter with a memory."""

    def reset(self) -> None:
        """Forget what belongs to the segment that ends."""


@runtime_checkable
class KnowsPeriod(Protocol):
    """A meter that knows how long an iteration takes."""

    @property
    def period_s(self) -> float:
        """Length of one iteration or cycle in the last window, in seconds; NaN = unknown."""


class ChoosingMeter:
    """Uses the first of its meters that can tell, until `reset`.

    A choice that refuses is not replaced by another meter, because rates of two meters cannot be compared: the
    window is refused too. After some refusals in a row `is_lost` says that only `reset`, and with it a new
    reference, leads on.
    """

    def __init__(self, *meters: ProgressMeter) -> None:
        """Take the meters, the best first."""
        self._meters = meters
        self._chosen: ProgressMeter | None = None
        self._why = ""
        self._refused = 0
        self._work_rate = math.nan
        self._work_per_iteration = math.nan

    @property
    def is_lost(self) -> bool:
        """Whether the chosen meter has refused so often that a new choice is due."""
        return self._refused >= PATIENCE

    def reset(self) -> None:
        """Start a new segment: all meters forget theirs, and the next window chooses again."""
        for meter in self._meters:
            if isinstance(meter, Resettable):
                meter.reset()
        self._chosen, self._why, self._refused = None, "", 0
        self._work_rate = self._work_per_iteration = math.nan

    def measure(self, window: Window) -> Progress:
        """Return the chosen meter's answer; ``reason`` says why no better meter was chosen, or why this one refuses."""
        progress = self._choose(window) if self._chosen is None else self._keep(self._chosen, window)
        if progress.work_rate > 0:
            self._work_rate = progress.work_rate
            self._learn_iteration(window)
        return progress

    def align(self, window_s: float) -> float:
        """Return the nearest length in seconds that holds whole iterations; ``window_s`` while theirs is unknown.

        The work of an iteration is what stays: at other clocks the length follows the last measured work rate.
        """
        return aligned_window_s(window_s, self._work_per_iteration / self._work_rate)

    def _choose(self, window: Window) -> Progress:
        refusals: list[str] = []
        for meter in self._meters:
            progress = meter.measure(window)
            if progress.work_rate > 0:
                self._chosen, self._why = meter, "; ".join(refusals)
                return replace(progress, reason=self._why)
            refusals.append(progress.reason)
        return Progress(math.nan, math.nan, kind="none", reason="; ".join(refusals) or "there is no meter to choose")

    def _keep(self, chosen: ProgressMeter, window: Window) -> Progress:
        progress = chosen.measure(window)
        if progress.work_rate > 0:
            self._refused = 0
            return replace(progress, reason=self._why)
        self._refused += 1
        if not self.is_lost:
            return progress
        advice = f"refused {self._refused} windows in a row; another meter counts another unit, so start a new segment"
        return replace(progress, reason=f"{progress.reason} ({advice})")

    def _learn_iteration(self, window: Window) -> None:
        """Ask the meters that know periods, until one has told how much work an iteration is.

        Rows that were made from a table have none.
        """
        if window.synthesised:
            return
        for meter in self._meters:
            if not math.isnan(self._work_per_iteration):
                return
            if isinstance(meter, KnowsPeriod):
                if meter is not self._chosen:
                    meter.measure(window)
                self._work_per_iteration = meter.period_s * self._work_rate
