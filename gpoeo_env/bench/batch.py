"""What one worker does at a time: some policies on one workload of a virtual device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gpoeo_env.bench.plan import EpisodePlan
from gpoeo_env.bench.result import EpisodeResult, result_of
from gpoeo_env.device.base import Device, lessons_of
from gpoeo_env.env.control import ControlLoop, ControlSettings
from gpoeo_env.policy import Policy, UsesTruth, build_policy
from gpoeo_env.runner.episode import run_episode

__all__ = ["Arena", "Batch", "Task", "batch_of", "evaluate"]

Arena = Callable[[], Device]
"""Opens the device that episodes run on, in whichever process; can be pickled."""


@dataclass(frozen=True, slots=True)
class Task:
    """One policy under some seeds.

    Attributes:
        policy: its spec; it labels the results.
        seeds: in the order of the results.
    """

    policy: str
    seeds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """Some policies on one workload; models are fitted once for it, and not once a seed.

    Attributes:
        arena: where.
        workload: which of the device's.
        settings: how an episode is measured and when it ends.
        tasks: who, in the order of the results.
        teaches: policies may learn from what the device knows of other work.
    """

    arena: Arena
    workload: str
    settings: ControlSettings
    tasks: tuple[Task, ...]
    teaches: bool = True

    @property
    def n_episodes(self) -> int:
        """How many results there will be."""
        return sum(len(task.seeds) for task in self.tasks)

    def run(self) -> Iterator[EpisodeResult]:
        """Run it here.

        Raises:
            GpoeoError: whatever a policy or the device raises.
        """
        with ControlLoop(self.arena(), self.settings) as loop:
            known = lessons_of(loop.device, self.workload) if self.teaches else None
            for task in self.tasks:
                policy = build_policy(task.policy, sweeps=known)
                yield from evaluate(loop, task.policy, policy, self.workload, task.seeds)


def batch_of(plan: EpisodePlan, arena: Arena, workload: str) -> Batch:
    """Return all that a plan wants of one workload."""
    tasks = tuple(Task(policy, plan.seeds) for policy in plan.policies)
    return Batch(arena, workload, plan.control_settings(), tasks, plan.teaches)


def evaluate(
    loop: ControlLoop, label: str, policy: Policy, workload: str, seeds: Sequence[int]
) -> Iterator[EpisodeResult]:
    """Run one policy on one workload of a virtual device under every seed.

    Raises:
        UnknownNameError: the device has no such workload.
        DeviceError: the device is not a virtual one.
    """
    for seed in seeds:
        episode = run_episode(loop, policy, seed=seed, workload=workload)
        yield result_of(episode, loop, label, is_bound=isinstance(policy, UsesTruth))
