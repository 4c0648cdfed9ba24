"""Golden-section search over the SM clocks, as DEPO does over power limits.

Source: Krzywaniak, Czarnul, Proficz, "Dynamic GPU power capping with online performance tracing for energy efficient
GPU computing using DEPO tool" (FGCS 2023).

What differs, and why. The knob is the SM clock and not the power limit, because clock pairs are what the environment
offers. The first bracket is given and not grown downwards in steps. Scores are ordered as the objective orders them,
what keeps the limit first, where DEPO adds a penalty. What is held is the best pair that was measured. DEPO never looks
again; a shifted workload is searched anew here.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

from gpoeo_env.config import validated
from gpoeo_env.objective import Score
from gpoeo_env.policy import Decision, Step
from gpoeo_policies.routine import Routine, RoutinePolicy, Scene

__all__ = ["GoldenSectionPolicy", "build"]

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


class GoldenSectionPolicy(RoutinePolicy):
    """Narrows a bracket of clocks around the least score, by the golden ratio in each step."""

    def __init__(self, lowest: float = 0.35, tolerance: float = 0.03) -> None:
        """Choose the first and the last bracket.

        Args:
            lowest: low end of the first bracket, relative to the highest clock.
            tolerance: width of the last bracket, likewise.
        """
        self.lowest = lowest
        self.tolerance = tolerance
        super().__init__()

    def search(self, scene: Scene) -> Routine:
        """Measure the inner points of the bracket until it is narrow."""
        top = float(scene.ladder.mhz[-1])
        low, high = self.lowest * top, top
        while high - low > self.tolerance * top:
            left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
            left_score = yield from self._score_at(scene, left)
            right_score = yield from self._score_at(scene, right)
            if left_score < right_score:
                high = right
            else:
                low = left
        return scene.best()

    @staticmethod
    def _score_at(scene: Scene, mhz: float) -> Generator[Decision, Step, Score]:
        """Return the score of the nearest clock, measured where it has not been."""
        action = scene.ladder.actions[scene.ladder.nearest(mhz)]
        known = scene.measured(action)
        if known is None:
            known = yield from scene.probe(action, "an inner point of the bracket")
        return scene.score(known)


class _Settings(BaseModel, extra="forbid", frozen=True):
    lowest: float = Field(default=0.35, gt=0.0, lt=1.0)
    tolerance: float = Field(default=0.03, gt=0.0, lt=1.0)


def build(config: Mapping[str, Any], sweeps: Sequence[Any] | None = None) -> GoldenSectionPolicy:  # noqa: ARG001 - needs none
    """Build the policy (entry point ``golden_section``; settings ``lowest``, ``tolerance``)."""
    settings = validated(_Settings, config, "policy golden_section")
    return GoldenSectionPolicy(settings.lowest, settings.tolerance)
