"""A benchmark as a file says it: data, and blocks that use them.

    config = load_bench(Path("configs/bench/reference.toml"))

A block is a set of episodes (policies on the workloads of a device or of a recording) or a test of models (fitted on
some sweeps, held against others). Data that are not there make the blocks that need them be skipped, by name and with
the reason; nothing else does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, Field, model_validator

from gpoeo_env.bench.case import Case, Place
from gpoeo_env.bench.plan import EpisodePlan
from gpoeo_env.bench.sources import Source
from gpoeo_env.config import load_toml, validated
from gpoeo_env.device.virtual import MAX_NOISE
from gpoeo_env.errors import UnknownNameError
from gpoeo_env.objective import Objective

__all__ = ["BenchConfig", "EpisodesBlock", "ModelsBlock", "load_bench"]

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class EpisodesBlock(BaseModel, extra="forbid", frozen=True):
    """Policies on every workload of a device, or of data replayed.

    Attributes:
        name: what the table is called.
        device: a device spec; or
        data: the name of data to replay.
        policy: policy specs.
        objective: see `Objective`.
        limit: bound of the objective, a fraction.
        noise: relative standard error of every window, for replayed data.
        seeds: every episode runs under the seeds 0..seeds - 1.
        window_s: length of a window in seconds.
        budget_s: work of an episode, in seconds at the driver's default.
        beside: what to print beside the figures: the claim of a paper, for example.
    """

    name: str
    device: str | None = None
    data: str | None = None
    policy: tuple[str, ...]
    objective: Objective = Objective.ENERGY
    limit: float = 0.05
    noise: Annotated[float, Field(ge=0, le=MAX_NOISE)] = 0.01
    seeds: Annotated[int, Field(ge=1)] = 1
    window_s: Seconds = 10.0
    budget_s: Seconds = 400.0
    beside: str = ""

    @model_validator(mode="after")
    def _check_place(self) -> Self:
        if (self.device is None) == (self.data is None):
            raise ValueError("episodes run on a device or on data; name one of the two")
        return self

    def place(self, data: Mapping[str, Source]) -> Place:
        """Return where the episodes run."""
        if self.data is None:
            return Place(device=self.device)
        return Place(source=data[self.data], noise=self.noise)

    def cases(self, place: Place, workloads: Sequence[str]) -> Iterator[Case]:
        """Yield every episode: by workload, then policy, then seed."""
        for workload, policy, seed in product(workloads, self.policy, range(self.seeds)):
            yield Case(
                place=place,
                workload=workload,
                policy=policy,
                seed=seed,
                objective=self.objective,
                limit=self.limit,
                window_s=self.window_s,
                budget_s=self.budget_s,
            )

    def plan(self) -> EpisodePlan:
        """Return what is run on every workload.

        Raises:
            GpoeoError: as the constructor of `EpisodePlan`.
        """
        return EpisodePlan(
            policies=self.policy,
            objective=self.objective,
            limit=self.limit,
            seeds=tuple(range(self.seeds)),
            window_s=self.window_s,
            budget_s=self.budget_s,
        )


class ModelsBlock(BaseModel, extra="forbid", frozen=True):
    """Models of time and energy, fitted on some sweeps and held against others.

    Attributes:
        name: what the table is called.
        trainer: names of entry points of the group ``gpoeo.trainers``.
        train: the name of data to fit on.
        test: the name of data to predict; the same as ``train`` = leave one workload out.
        least_sm_mhz: errors count at this SM clock and above.
    """

    name: str
    trainer: tuple[str, ...] = ("gpoeo",)
    train: str
    test: str
    least_sm_mhz: float = 0.0


class BenchConfig(BaseModel, extra="forbid", frozen=True):
    """A whole benchmark.

    Attributes:
        title: one line.
        data: sweeps by name.
        models: tests of models.
        episodes: sets of episodes.
    """

    title: str
    data: dict[str, Source] = {}
    models: tuple[ModelsBlock, ...] = ()
    episodes: tuple[EpisodesBlock, ...] = ()

    def with_policies(self, specs: Sequence[str]) -> BenchConfig:
        """Return the same benchmark with more policies in every set of episodes; those that are there stay once.

        Raises:
            GpoeoError: as `EpisodesBlock.plan`.
        """
        blocks = tuple(
            block.model_copy(update={"policy": tuple(dict.fromkeys((*block.policy, *specs)))})
            for block in self.episodes
        )
        for block in blocks:
            block.plan()
        return self.model_copy(update={"episodes": blocks})

    def check_names(self) -> None:
        """Check that every name of data is there.

        Raises:
            UnknownNameError: one is not; the message names the nearest.
        """
        used = [name for block in self.models for name in (block.train, block.test)]
        used += [block.data for block in self.episodes if block.data is not None]
        for name in used:
            if name not in self.data:
                raise UnknownNameError("data", name, self.data)


def load_bench(file: Path) -> BenchConfig:
    """Read a benchmark.

    Raises:
        ConfigError: the file cannot be read, a setting is unknown (the message names the nearest) or does not fit.
        UnknownNameError: a block names data that the file does not define.
        GpoeoError: a plan is impossible.
    """
    config = validated(BenchConfig, load_toml(file), str(file))
    config.check_names()
    for block in config.episodes:
        block.plan()
    return config
