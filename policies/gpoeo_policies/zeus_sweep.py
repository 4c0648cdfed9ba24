"""Zeus-style sweep: try level after level from the top, then keep the best one within the slowdown constraint.

Source: You, Chung, Chowdhury, "Zeus" (NSDI 2023), GlobalPowerLimitOptimizer with its maximum-slowdown constraint.

What differs, and why. The levels are SM clocks and not power limits, because clock pairs are what the environment
offers: a power limit does nothing until it is reached, a clock always does. A slowdown is measured against the driver's
default instead of the highest level. The original tries every level and takes the lowest one within its constraint;
this sweep ends below the first level that breaks the limit by more than noise, since lower clocks are never faster, and
takes the level of least energy, since the lowest clock within a limit need not be that. The original never profiles
again; a shifted workload is swept anew here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

from gpoeo_env.config import validated
from gpoeo_policies.routine import Routine, RoutinePolicy, Scene

__all__ = ["ZeusSweepPolicy", "build"]


class ZeusSweepPolicy(RoutinePolicy):
    """Sweeps evenly spaced SM clocks from the top down."""

    def __init__(self, levels: int = 12, lowest: float = 0.35) -> None:
        """Choose how finely and how far down.

        Args:
            levels: number of clocks; the original's steps of 25 W are about as many on most boards.
            lowest: lowest clock, relative to the highest.
        """
        self.levels = levels
        self.lowest = lowest
        super().__init__()

    def search(self, scene: Scene) -> Routine:
        """Measure level after level."""
        top = float(scene.ladder.mhz[-1])
        for rung in reversed(scene.ladder.spread(self.levels, self.lowest * top, top)):
            ratios = yield from scene.probe(scene.ladder.actions[rung], "the next level of the sweep")
            if scene.is_surely_too_slow(ratios):
                break
        return scene.best()


class _Settings(BaseModel, extra="forbid", frozen=True):
    levels: int = Field(default=12, ge=2)
    lowest: float = Field(default=0.35, gt=0.0, lt=1.0)


def build(config: Mapping[str, Any], sweeps: Sequence[Any] | None = None) -> ZeusSweepPolicy:  # noqa: ARG001 - needs none
    """Build the policy (entry point ``zeus_sweep``; settings ``levels``, ``lowest``)."""
    settings = validated(_Settings, config, "policy zeus_sweep")
    return ZeusSweepPolicy(settings.levels, settings.lowest)
