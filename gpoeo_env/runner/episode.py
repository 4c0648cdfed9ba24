"""The one loop that runs a policy on a device, and what is left of an episode afterwards."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gpoeo_env.env.control import ControlLoop
from gpoeo_env.policy import Policy, PolicyContext, Purpose, Step, UsesTruth

__all__ = ["Episode", "Observer", "Thought", "run_episode", "windows"]


class Observer(Protocol):
    """Somebody who watches an episode and never changes it: a log, a live view, a metrics endpoint."""

    def begin(self, context: PolicyContext, workload: str | None) -> None:
        """Hear that an episode starts."""

    def step(self, step: Step) -> None:
        """Hear of one window."""

    def end(self) -> None:
        """Hear that the episode is over, also when it was interrupted."""


class Thought(NamedTuple):
    """What one decision cost.

    Attributes:
        wall_s: wall time in seconds.
        cpu_s: processor time in seconds, of all threads.
    """

    wall_s: float
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Episode:
    """What one run of a policy left behind.

    Attributes:
        workload: its name; None on a live device.
        seed: the seed it ran under.
        steps: every window, the reference first.
        decision_s: wall time that the policy spent deciding.
        decision_cpu_s: processor time of the same.
    """

    workload: str | None
    seed: int
    steps: tuple[Step, ...]
    decision_s: float
    decision_cpu_s: float

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
    steps, thoughts = zip(*windows(loop, policy, seed=seed, workload=workload, observers=observers), strict=True)
    wall_s, cpu_s = (math.fsum(spent) for spent in zip(*thoughts, strict=True))
    return Episode(workload, seed, steps, wall_s, cpu_s)


def windows(
    loop: ControlLoop, policy: Policy, *, seed: int, workload: str | None = None, observers: Sequence[Observer] = ()
) -> Iterator[tuple[Step, Thought]]:
    """Run one episode window by window, for runs that are too long to be kept.

    Yields:
        A Step that the observers have heard of, and what it cost to decide it.

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
        yield step, Thought(0.0, 0.0)
        while not step.is_last:
            wall_s, cpu_s = time.perf_counter(), time.process_time()
            decision = policy.act(step)
            thought = Thought(time.perf_counter() - wall_s, time.process_time() - cpu_s)
            step = loop.step(decision)
            for observer in observers:
                observer.step(step)
            yield step, thought
