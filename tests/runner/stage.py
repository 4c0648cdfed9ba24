"""A policy that says what it is told, and a loop whose windows are worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.device.replay import ReplayDevice
from gpoeo_env.env.control import ControlLoop, ControlSettings
from gpoeo_env.policy import Decision, Policy, PolicyContext, Purpose, Step
from gpoeo_env.records import Window
from gpoeo_env.trace.sweep import Provenance, Sweep, SweepSet

__all__ = ["FAST", "LOW", "MIDDLE", "Change", "Scripted", "Stage", "loop_on_stage", "played", "with_column"]

LOW, MIDDLE, FAST = 1, 2, 3
"""Actions: 500, 800 and 1000 MHz, which take 1.3, 1.02 and 1 s for 100, 150 and 200 J of work."""
CLOCKS = ClockTable.from_product(sm_mhz=(500, 800, 1000), mem_mhz=(5000,))
PROVENANCE = Provenance("made up for tests", "2000-01-01T00:00:00Z", "tests", is_simulated=True, is_relative=True)
Change = Callable[[Window], Window]


class Scripted:
    """Wants one action after the other, the last one for ever; keeps what it was shown."""

    def __init__(self, *wishes: int, purpose: Purpose = Purpose.HOLD) -> None:
        self.wishes, self.purpose = wishes, purpose
        self.seen: list[Step] = []

    def reset(self, context: PolicyContext) -> None:
        self.context = context

    def act(self, step: Step) -> Decision:
        self.seen.append(step)
        action = self.wishes[min(len(self.seen), len(self.wishes)) - 1]
        return Decision(action, purpose=self.purpose, reason=f"wish {len(self.seen)}")


class Stage(ReplayDevice):
    """A GPU without noise; `changes[i]` alters window i, which the reference opens as window 0."""

    def __init__(self, changes: dict[int, Change] | None = None) -> None:
        seconds, joules = np.array([1.3, 1.02, 1.0]), np.array([100.0, 150.0, 200.0])
        sweep = Sweep("job", CLOCKS, ClockPair(1000, 5000), seconds, joules, ("gpu_util",), np.full((3, 1), 0.9))
        super().__init__(SweepSet("made-up GPU", (sweep,), PROVENANCE), noise=0.0)
        self.changes, self.n_windows = changes or {}, 0

    def observe(self, seconds: float) -> Window:
        window, change = super().observe(seconds), self.changes.get(self.n_windows)
        self.n_windows += 1
        return window if change is None else change(window)


def with_column(name: str, factor: float) -> Change:
    """Return a change that multiplies a signal's values; NaN makes them missing."""

    def change(window: Window) -> Window:
        values = window.values.copy()
        values[:, [signal.name == name for signal in window.signals]] *= factor
        return replace(window, values=values)

    return change


def loop_on_stage(changes: dict[int, Change] | None = None, budget_s: float = 1e6) -> ControlLoop:
    """Return a loop over a new `Stage`, with a limit of 5 %."""
    return ControlLoop(Stage(changes), ControlSettings(limit=0.05, budget_s=budget_s))


def played(policy: Policy, n_steps: int, changes: dict[int, Change] | None = None) -> list[Step]:
    """Return the Steps of an episode, the reference first."""
    with loop_on_stage(changes) as loop:
        steps = [loop.begin(0)]
        policy.reset(loop.context)
        for _ in range(n_steps):
            steps.append(loop.step(policy.act(steps[-1])))
    return steps
