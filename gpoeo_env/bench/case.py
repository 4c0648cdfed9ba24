"""One episode of a benchmark as data: all that is needed to run it again, in another process or another year."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, partial
from itertools import groupby
from pathlib import Path

from pydantic import BaseModel

from gpoeo_env.bench.batch import Arena, Batch, Task
from gpoeo_env.bench.sources import Source
from gpoeo_env.device.opening import open_device
from gpoeo_env.device.replay import ReplayDevice
from gpoeo_env.env.control import ControlSettings
from gpoeo_env.objective import Objective
from gpoeo_env.trace.sweep import SweepSet

__all__ = ["Case", "Place", "batches"]


class Place(BaseModel, extra="forbid", frozen=True):
    """Where episodes run.

    Attributes:
        device: a device spec; or
        source: data to replay.
        noise: relative standard error of every window, for replayed data.
    """

    device: str | None = None
    source: Source | None = None
    noise: float = 0.0

    def arena(self, folder: Path) -> Arena:
        """Return what opens the device.

        Args:
            folder: where the data are.

        Raises:
            ArtefactError: they cannot be read.
        """
        if self.source is None:
            return partial(open_device, str(self.device))
        return partial(ReplayDevice, _sweeps(self.source.model_dump_json(), folder), noise=self.noise)


class Case(BaseModel, extra="forbid", frozen=True):
    """One policy on one workload under one seed.

    Attributes:
        place: where.
        workload, policy, seed: which episode; the policy as a spec.
        objective, limit: what the policy is asked to achieve.
        window_s: length of a window in seconds.
        budget_s: work of the episode, in seconds at the driver's default.
    """

    place: Place
    workload: str
    policy: str
    seed: int
    objective: Objective
    limit: float
    window_s: float
    budget_s: float

    def settings(self) -> ControlSettings:
        """Return how the episode is measured and when it ends.

        Raises:
            ConfigError: a number is out of its range.
        """
        return ControlSettings(
            objective=self.objective, limit=self.limit, window_s=self.window_s, budget_s=self.budget_s
        )


def batches(cases: Iterable[Case], folder: Path) -> Iterator[Batch]:
    """Gather neighbouring cases that differ in policy and seed alone.

    The results of the batches come in the order of the cases.

    Args:
        cases: to run.
        folder: where the data are.
    """
    for _, on_workload in groupby(cases, key=lambda case: case.model_dump_json(exclude={"policy", "seed"})):
        alike = list(on_workload)
        tasks = tuple(
            Task(policy, tuple(case.seed for case in group))
            for policy, group in groupby(alike, key=lambda case: case.policy)
        )
        yield Batch(alike[0].place.arena(folder), alike[0].workload, alike[0].settings(), tasks)


@cache
def _sweeps(source: str, folder: Path) -> SweepSet:
    """Read data once a process, however many workloads they have."""
    wanted = Place.model_validate_json(f'{{"source": {source}}}').source
    assert wanted is not None, "it was written from a source"
    return wanted.sweeps(folder)
