"""What a routine knows when it starts, and what it has measured since."""

from __future__ import annotations

import math
from collections.abc import Generator

import numpy as np

from gpoeo_env.clocks import RELEASE
from gpoeo_env.objective import Objective, Score
from gpoeo_env.policy import BREACH_SD, Decision, PolicyContext, Purpose, Step
from gpoeo_env.records import Features, Ratios
from gpoeo_policies.ladder import Ladder

__all__ = ["Routine", "Scene"]

Routine = Generator[Decision, Step, int]
"""Yields the windows that a method wants, is sent what they showed, returns the action to hold."""
Probing = Generator[Decision, Step, Ratios | None]


class Scene:
    """One segment of steady work, as a routine sees it."""

    def __init__(self, context: PolicyContext, features: Features, reference: Step) -> None:
        """Take what the reference windows have shown; ``reference`` is the last of them."""
        self.context = context
        self.features = features
        """Counters at the driver's default."""
        self.default = context.default_pair or reference.measurement.observed or context.clocks.top
        """The pair that stands for the driver's default: declared, observed, or the highest."""
        self.ladder = Ladder.beside(context.clocks, self.default)
        """The SM clocks at the default's memory clock."""
        self._windows: dict[int, list[Ratios]] = {}

    def probe(self, action: int, reason: str = "", *, counters: bool = False) -> Probing:
        """Measure an action in one window.

        Returns:
            What the window showed; None where the pair was refused (the slowdown guard knows a higher one that broke
            the limit).
        """
        step = yield Decision(action, counters=counters, purpose=Purpose.PROBE, reason=reason)
        ratios = step.measurement.ratios
        if step.decision.action != action or ratios is None:
            return None
        self._windows.setdefault(action, []).append(ratios)
        return ratios

    def measured(self, action: int) -> Ratios | None:
        """Return the mean of the windows of an action; 1 at the driver's default, None where it was never measured."""
        if action == RELEASE:
            return Ratios(1.0, 1.0)
        windows = self._windows.get(action)
        if windows is None:
            return None
        rows = np.array([(one.time, one.energy, one.time_sd, one.energy_sd) for one in windows])
        time, energy, time_sd, energy_sd = rows.mean(axis=0).tolist()
        return Ratios(time, energy, time_sd / math.sqrt(len(windows)), energy_sd / math.sqrt(len(windows)))

    def score(self, ratios: Ratios | None) -> Score:
        """Score ratios under the objective and its limit; a refused window is as bad as can be."""
        if ratios is None:
            return Score(math.inf, math.inf)
        return self.context.objective.score(ratios, self.context.limit)

    def best(self) -> int:
        """Return the best of the measured actions and the driver's default."""
        return min([RELEASE, *self._windows], key=lambda action: self.score(self.measured(action)))

    def is_surely_too_slow(self, ratios: Ratios | None) -> bool:
        """Tell whether lower clocks need no try: the slowdown breaks its limit by more than noise, or was refused."""
        if ratios is None:
            return True
        excess = ratios.slowdown - self.context.limit
        return self.context.objective is Objective.ENERGY and excess > BREACH_SD * ratios.time_sd

    def above(self, action: int, factor: float) -> int:
        """Return the action whose SM clock is higher by a factor at least, at the same memory clock; else release."""
        pair = self.context.clocks.pair_of(action)
        if pair is None:
            return RELEASE
        ladder = Ladder.beside(self.context.clocks, pair)
        rung = ladder.at_least(factor * pair.sm_mhz)
        return ladder.actions[rung] if ladder.mhz[rung] > pair.sm_mhz else RELEASE

    def expectation(self, action: int) -> str:
        """Say for people what is known of an action."""
        ratios = self.measured(action)
        if action == RELEASE:
            return "the driver's default"
        if ratios is None:
            return "chosen without being measured"
        return f"measured {-100 * ratios.saving:+.1f} % energy, {100 * ratios.slowdown:+.1f} % time"
