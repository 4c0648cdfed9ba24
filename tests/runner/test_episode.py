"""What an episode keeps."""

from __future__ import annotations

import numpy as np
import pytest

from gpoeo_env.clocks import RELEASE, ClockPair, ClockTable
from gpoeo_env.device.replay import ReplayDevice
from gpoeo_env.env.control import ControlLoop, ControlSettings
from gpoeo_env.policy import Decision, PolicyContext, Purpose, Step
from gpoeo_env.runner.episode import run_episode
from gpoeo_env.trace.sweep import Provenance, Sweep, SweepSet


class Scripted:
    """Decides what it was given, in order; then holds the released clocks."""

    def __init__(self, *decisions: Decision) -> None:
        self.decisions = decisions

    def reset(self, context: PolicyContext) -> None:  # noqa: ARG002
        self.left = list(self.decisions)

    def act(self, step: Step) -> Decision:  # noqa: ARG002
        return self.left.pop(0) if self.left else Decision(RELEASE, purpose=Purpose.PROBE)


class Watcher:
    def __init__(self) -> None:
        self.heard: list[str] = []

    def begin(self, context: PolicyContext, workload: str | None) -> None:  # noqa: ARG002
        self.heard.append(f"begin {workload}")

    def step(self, step: Step) -> None:
        self.heard.append(step.decision.purpose.value)

    def end(self) -> None:
        self.heard.append("end")


@pytest.fixture
def loop() -> ControlLoop:
    clocks = ClockTable.from_product((900, 1200, 1500), (5000,))
    ones = np.ones(3)
    sweep = Sweep("work", clocks, ClockPair(1500, 5000), ones, 100 * ones, (), np.empty((3, 0)))
    provenance = Provenance("made for a test", "2026-01-01T00:00:00Z", "test", is_simulated=True, is_relative=True)
    return ControlLoop(ReplayDevice(SweepSet("a gpu", (sweep,), provenance)), ControlSettings(max_steps=6))


def test_what_was_held_last_is_what_counts(loop: ControlLoop) -> None:
    script = Scripted(Decision(1), Decision(2), Decision(3, purpose=Purpose.PROBE))

    assert run_episode(loop, script, seed=0).held.decision.action == 2


def test_an_episode_that_never_held_is_judged_by_its_last_window(loop: ControlLoop) -> None:
    script = Scripted(*(Decision(action, purpose=Purpose.PROBE) for action in (1, 2, 3, 2, 3)))
    episode = run_episode(loop, script, seed=0)

    assert episode.held is episode.last
    assert episode.measurements == 6


def test_windows_before_the_first_hold_are_measurements(loop: ControlLoop) -> None:
    script = Scripted(Decision(1, purpose=Purpose.PROBE), Decision(1), Decision(2, purpose=Purpose.PROBE))

    assert run_episode(loop, script, seed=0).measurements == 2


def test_an_observer_hears_everything_and_the_end(loop: ControlLoop) -> None:
    watcher = Watcher()
    run_episode(loop, Scripted(Decision(1)), seed=0, workload="work", observers=[watcher])

    assert watcher.heard == ["begin work", "reference", "hold", "probe", "probe", "probe", "probe", "end"]


def test_an_observer_hears_the_end_of_an_interrupted_episode(loop: ControlLoop) -> None:
    class Interrupting(Scripted):
        def act(self, step: Step) -> Decision:  # noqa: ARG002
            raise KeyboardInterrupt

    watcher = Watcher()
    with pytest.raises(KeyboardInterrupt):
        run_episode(loop, Interrupting(), seed=0, workload="work", observers=[watcher])

    assert watcher.heard == ["begin work", "reference", "end"]
