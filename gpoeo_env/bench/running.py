"""Runs a benchmark block by block.

for outcome in run_bench(load_bench(file), folder_of_data, jobs=2):
    ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gpoeo_env.bench.config import BenchConfig, EpisodesBlock, ModelsBlock
from gpoeo_env.bench.episodes import Arena, run_episodes
from gpoeo_env.bench.model_errors import WorkloadErrors, errors_on, left_out_errors
from gpoeo_env.bench.result import EpisodeResult
from gpoeo_env.device.opening import open_device
from gpoeo_env.device.replay import ReplayDevice
from gpoeo_env.sim.suites import families_of
from gpoeo_env.trace.sweep import SweepSet
from gpoeo_env.training import trainer_named

__all__ = ["EpisodesOutcome", "ModelsOutcome", "Outcome", "Skipped", "run_bench"]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A block that could not run.

    Attributes:
        name: of the block.
        reason: what was not there.
    """

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class ModelsOutcome:
    """What a test of models came to.

    Attributes:
        block: what was asked.
        is_simulated: no GPU was measured.
        errors: by trainer, a row for each workload.
        families: family by workload, where the workloads have one.
    """

    block: ModelsBlock
    is_simulated: bool
    errors: dict[str, list[WorkloadErrors]]
    families: dict[str, str]


@dataclass(frozen=True, slots=True)
class EpisodesOutcome:
    """What a set of episodes came to.

    Attributes:
        block: what was asked.
        gpu_name: where it ran.
        is_simulated: no GPU was measured.
        results: one for each episode.
    """

    block: EpisodesBlock
    gpu_name: str
    is_simulated: bool
    results: list[EpisodeResult]


Outcome = Skipped | ModelsOutcome | EpisodesOutcome

Watch = Callable[[str, int], Callable[[], None]]
"""Is told the name of a block and its number of steps, and returns what is called after each."""


def run_bench(config: BenchConfig, folder: Path, jobs: int = 1, watch: Watch | None = None) -> Iterator[Outcome]:
    """Run every block and yield what it came to, tests of models first.

    Args:
        config: what to run.
        folder: where the data are.
        jobs: worker processes for episodes; the results do not depend on it.
        watch: sees the blocks go by; None = nobody.

    Raises:
        GpoeoError: whatever a policy, a trainer or a device raises.
    """
    watch = watch or (lambda _name, _steps: lambda: None)
    for models in config.models:
        missing = _missing(config, folder, models.train, models.test)
        yield _without(models.name, missing) if missing else _run_models(config, folder, models, watch)
    for episodes in config.episodes:
        missing = _missing(config, folder, *([episodes.data] if episodes.data else []))
        yield _without(episodes.name, missing) if missing else _run_episodes(config, folder, episodes, jobs, watch)


def _without(name: str, file: Path) -> Skipped:
    return Skipped(name, f"no {file}")


def _missing(config: BenchConfig, folder: Path, *names: str) -> Path | None:
    files = (config.data[name].missing(folder) for name in names)
    return next((file for file in files if file is not None), None)


def _run_models(config: BenchConfig, folder: Path, block: ModelsBlock, watch: Watch) -> ModelsOutcome:
    train = config.data[block.train].sweeps(folder)
    test = train if block.test == block.train else config.data[block.test].sweeps(folder)
    advance = watch(block.name, len(block.trainer))
    errors = {}
    for name in block.trainer:
        trainer = trainer_named(name)
        if test is train:
            errors[name] = left_out_errors(trainer, train, block.least_sm_mhz)
        else:
            errors[name] = errors_on(trainer, train, test, block.least_sm_mhz)
        advance()
    return ModelsOutcome(block, test.provenance.is_simulated, errors, families_of(test.workloads))


def _run_episodes(
    config: BenchConfig,
    folder: Path,
    block: EpisodesBlock,
    jobs: int,
    watch: Watch,
) -> EpisodesOutcome:
    arena = _arena(block, config.data[block.data].sweeps(folder) if block.data else None)
    with arena() as device:
        info = device.info
    plan = block.plan()
    advance = watch(block.name, len(info.workloads) * len(plan.policies) * len(plan.seeds))
    results = []
    for result in run_episodes(plan, arena, info.workloads, jobs):
        results.append(result)
        advance()
    return EpisodesOutcome(block, info.gpu_name, info.is_simulated, results)


def _arena(block: EpisodesBlock, sweeps: SweepSet | None) -> Arena:
    if sweeps is not None:
        return partial(ReplayDevice, sweeps, noise=block.noise)
    return partial(open_device, str(block.device))
