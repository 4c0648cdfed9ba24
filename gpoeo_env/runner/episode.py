"""The one loop that runs a policy on a device, and what is left of an episode afterwards."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol

from gpoeo_env.env.control import ControlLoop
from gpoeo_env.policy import Policy, PolicyContext, Purpose, Step, UsesTruth

__all__ = ["Episode", "Observer", "run_episode", "windows"]


class Observer(Protocol):
    """Somebody who watches an episode and never changes it: a log, a live view, a metrics endpoint."""

    def begin(self, context: PolicyContext, workload: str | None) -> None:
        """Hear that an episode starts."""

    def step(self, step: Step) -> None:
        """Hear of one window."""

    def end(self) -> None:
        """Hear that the episode is over, also when it was interrupted."""


@dataclass(frozen=True, slots=True)
class Episode:
    """What one run of a policy left behind.

    Attributes:
        workload: its name; None on a live device.
        seed: the seed it ran under.
        steps: every window, the reference first.
        decision_s: wall time that the policy spent deciding.
    """

    workload: str | None
    seed: int
    steps: tuple[Step, ...]
    decision_s: float

    @property
    def last(self) -> Step:
        """The last window."""
        return self.steps[-1]

    @property
    def held(self) -> Step:
        """The last window that the policy held; the last window of all where it never held one."""
        return next((step for step in reversed(self.steps) if step.decision.purpose is Purpose.HOLD), self.last)

    @property
    def first_held(self) -> Step:
        """The first window that the policy held; the last window of all where it never held one."""
        return next((step for step in self.steps if step.decision.purpose is Purpose.HOLD), self.last)

    @property
    def search_windows(self) -> int:
        """Windows that were not held, those after the first hold included."""
        return sum(step.decision.purpose is not Purpose.HOLD for step in self.steps)

    @property
    def measurements(self) -> int:
        """Windows until the first hold, references and repeats counted."""
        return self.last.totals.search_windows


def run_episode(
    loop: ControlLoop, policy: Policy, *, seed: int, workload: str | None = None, observers: Sequence[Observer] = ()
) -> Episode:
    """Run one episode to its end.

    Raises:
        DeviceError: the policy uses the truth and the device has none.
    """
    steps, decisions_s = zip(*windows(loop, policy, seed=seed, workload=workload, observers=observers), strict=True)
    return Episode(workload, seed, steps, sum(decisions_s))


def windows(
    loop: ControlLoop, policy: Policy, *, seed: int, workload: str | None = None, observers: Sequence[Observer] = ()
) -> Iterator[tuple[Step, float]]:
    """Run one episode window by window, for runs that are too long to be kept.

    Yields:
        A Step that the observers have heard of, and the seconds that the policy took to decide it.

    Raises:
        DeviceError: the policy uses the truth and the device has none.
    """
    with ExitStack() as watching:
        step = loop.begin(seed, workload)
        policy.reset(loop.context)
        if isinstance(policy, UsesTruth):
            policy.learn_truth(loop.truth())
        for observer in observers:
            watching.callback(observer.end)
            observer.begin(loop.context, workload)
            observer.step(step)
        yield step, 0.0
        while not step.is_last:
            started_s = time.perf_counter()
            decision = policy.act(step)
            decision_s = time.perf_counter() - started_s
            step = loop.step(decision)
            for observer in observers:
                observer.step(step)
            yield step, decision_s
