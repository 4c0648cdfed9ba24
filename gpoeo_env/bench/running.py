"""Runs a benchmark block by block.

with Store(folder) as store:
    for outcome in run_bench(load_bench(file), folder_of_data, in_processes(jobs=2), store=store):
        ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gpoeo_env.bench.case import Case, batches
from gpoeo_env.bench.config import BenchConfig, EpisodesBlock, ModelsBlock
from gpoeo_env.bench.executors import Executor, in_processes
from gpoeo_env.bench.fingerprint import digest_of
from gpoeo_env.bench.model_errors import WorkloadErrors, errors_on, left_out_errors
from gpoeo_env.bench.result import EpisodeResult
from gpoeo_env.bench.sources import first_missing
from gpoeo_env.bench.store import Block, Manifest, Row, Store, key_of
from gpoeo_env.device.base import DeviceInfo
from gpoeo_env.sim.suites import families_of
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
        n_new: how many of them were run now, and not found in a store.
    """

    block: EpisodesBlock
    gpu_name: str
    is_simulated: bool
    results: list[EpisodeResult]
    n_new: int


Outcome = Skipped | ModelsOutcome | EpisodesOutcome

Watch = Callable[[str, int], Callable[[], None]]
"""Is told the name of a block and its number of steps, and returns what is called after each."""


def run_bench(
    config: BenchConfig,
    folder: Path,
    executor: Executor | None = None,
    watch: Watch | None = None,
    store: Store | None = None,
) -> Iterator[Outcome]:
    """Run every block and yield what it came to, tests of models first.

    Args:
        config: what to run.
        folder: where the data are.
        executor: runs the episodes; None = this process. The results do not depend on it.
        watch: sees the blocks go by; None = nobody.
        store: has results of earlier runs, which are not run again, and keeps the new ones; None = nothing is kept.

    Raises:
        GpoeoError: whatever a policy, a trainer or a device raises.
    """
    watch = watch or (lambda _name, _steps: lambda: None)
    bench = _Bench(config, folder, executor or in_processes(jobs=1), watch, store)
    for models in config.models:
        missing = bench.missing(models.train, models.test)
        yield _without(models.name, missing) if missing else bench.models(models)
    wanted = [(block, bench.missing(*([block.data] if block.data else []))) for block in config.episodes]
    plans = {block.name: bench.planned(block) for block, missing in wanted if missing is None}
    if store is not None:
        blocks = [plan.described for plan in plans.values()]
        store.describe(Manifest.of(config.title, config.model_dump(mode="json"), folder, blocks))
    for block, missing in wanted:
        yield _without(block.name, missing) if missing else bench.episodes(plans[block.name])


@dataclass(frozen=True, slots=True)
class _PlannedBlock:
    """A set of episodes, case by case."""

    block: EpisodesBlock
    info: DeviceInfo
    cases: dict[str, tuple[Case, str]]
    """Case and digest by key."""

    @property
    def described(self) -> Block:
        """For the manifest."""
        return Block(self.block.name, self.info.gpu_name, self.info.is_simulated, self.block.beside, tuple(self.cases))


@dataclass(frozen=True, slots=True)
class _Bench:
    config: BenchConfig
    folder: Path
    executor: Executor
    watch: Watch
    store: Store | None

    def missing(self, *names: str) -> Path | None:
        files = (first_missing(self.config.data[name], self.folder) for name in names)
        return next((file for file in files if file is not None), None)

    def models(self, block: ModelsBlock) -> ModelsOutcome:
        train = self.config.data[block.train].sweeps(self.folder)
        test = train if block.test == block.train else self.config.data[block.test].sweeps(self.folder)
        advance = self.watch(block.name, len(block.trainer))
        errors = {}
        for name in block.trainer:
            trainer = trainer_named(name)
            if test is train:
                errors[name] = left_out_errors(trainer, train, block.least_sm_mhz)
            else:
                errors[name] = errors_on(trainer, train, test, block.least_sm_mhz)
            advance()
        return ModelsOutcome(block, test.provenance.is_simulated, errors, families_of(test.workloads))

    def planned(self, block: EpisodesBlock) -> _PlannedBlock:
        place = block.place(self.config.data)
        with place.arena(self.folder)() as device:
            info = device.info
        cases = {}
        for case in block.cases(place, info.workloads):
            digest = digest_of(case, self.folder)
            cases[key_of(case, digest)] = case, digest
        return _PlannedBlock(block, info, cases)

    def episodes(self, plan: _PlannedBlock) -> EpisodesOutcome:
        advance = self.watch(plan.block.name, len(plan.cases))
        results = {}
        for key in plan.cases:
            if self.store is not None and key in self.store:
                results[key] = self.store[key].result
                advance()
        new = {key: planned for key, planned in plan.cases.items() if key not in results}
        ran = self.executor(list(batches((case for case, _ in new.values()), self.folder)))
        for (key, (case, digest)), result in zip(new.items(), ran, strict=True):
            results[key] = result
            if self.store is not None:
                self.store.add(Row(key, case, digest, result))
            advance()
        return EpisodesOutcome(
            plan.block, plan.info.gpu_name, plan.info.is_simulated, [results[key] for key in plan.cases], len(new)
        )


def _without(name: str, file: Path) -> Skipped:
    return Skipped(name, f"no {file}")
