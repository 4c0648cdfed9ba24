"""`gpoeo bench`: a whole benchmark from one file: tests of models, and policies on devices and recordings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from gpoeo_env.bench.aggregates import Interval, interquartile_mean, interval, scores_of
from gpoeo_env.bench.config import load_bench
from gpoeo_env.bench.executors import Executor, available_cores, in_processes
from gpoeo_env.bench.model_errors import WorkloadErrors, mean_errors
from gpoeo_env.bench.ray_cluster import in_ray
from gpoeo_env.bench.result import EpisodeResult
from gpoeo_env.bench.running import EpisodesOutcome, ModelsOutcome, Outcome, Skipped, Watch, run_bench
from gpoeo_env.bench.stats import summarise
from gpoeo_env.bench.store import Store
from gpoeo_env.cli.options import INTERRUPTED, JsonOption
from gpoeo_env.cli.output import print_json, stderr, stdout
from gpoeo_env.cli.tables import aim, new_table, percent, ranking_table, summary_table
from gpoeo_env.errors import UsageError

__all__ = ["bench"]


def bench(
    config: Annotated[Path, typer.Argument(help="TOML file; see configs/bench.", show_default=False)],
    *,
    data: Annotated[
        Path, typer.Option("--data", metavar="FOLDER", help="Where the files are that the configuration names.")
    ] = Path(),
    jobs: Annotated[
        int | None,
        typer.Option(metavar="N", help="Worker processes; results do not depend on it.  [default: one a core]"),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Run the episodes on this Ray cluster instead: HOST:PORT, auto or local."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Folder that keeps every result; the same command goes on there."
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy", metavar="SPEC", help="One more policy for every set of episodes, also MODULE:CLASS; repeatable."
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Run a benchmark: tests of models, and policies on devices and recordings.

    With -o every episode is kept as soon as it is done. The same command goes on after an interruption, and runs only
    what is new: other settings, other policies, other code. `gpoeo validate` runs results again and compares.

    A block whose data are not there is skipped, and said to be. Simulated figures are called simulated. Ctrl-C prints
    the blocks that are done and exits with 130.
    """
    plan = load_bench(config).with_policies(policy or [])
    executor = _executor(jobs, ray)
    outcomes, is_complete = [], True
    if not json:
        stdout().print(plan.title, markup=False, highlight=False, style="bold")
    try:
        with _watched() as watch, nullcontext() if output is None else Store(output) as store:
            for outcome in run_bench(plan, data, executor, watch, store):
                outcomes.append(outcome)
                if not json:
                    _print(outcome)
    except KeyboardInterrupt:
        is_complete = False
    if json:
        document = {"title": plan.title, "blocks": [_document(outcome) for outcome in outcomes]}
        print_json(document | ({} if is_complete else {"is_partial": True}))
    if not is_complete:
        raise typer.Exit(INTERRUPTED)


def _executor(jobs: int | None, ray: str | None) -> Executor:
    if ray is None:
        return in_processes(available_cores() if jobs is None else jobs)
    if jobs is not None:
        raise UsageError("--jobs is for worker processes here and --ray for a cluster; leave one of them out")
    return in_ray(ray)


@contextmanager
def _watched() -> Iterator[Watch]:
    """Show the block that is running as a bar on stderr; nothing where stderr is not a terminal."""
    console = stderr()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:

        def watch(name: str, steps: int) -> Callable[[], None]:
            for task in progress.task_ids:
                progress.remove_task(task)
            new = progress.add_task(name, total=steps)
            return lambda: progress.advance(new)

        yield watch


def _document(outcome: Outcome) -> dict[str, object]:
    """Return one block for machines."""
    if isinstance(outcome, Skipped):
        return {"name": outcome.name, "skipped": outcome.reason}
    document: dict[str, object] = {"name": outcome.block.name, "is_simulated": outcome.is_simulated}
    if isinstance(outcome, ModelsOutcome):
        means = {trainer: mean_errors(rows) for trainer, rows in outcome.errors.items()}
        mean = {trainer: {"time": time, "energy": energy} for trainer, (time, energy) in means.items()}
        return document | {"kind": "models", "mean": mean, "errors": outcome.errors, "families": outcome.families}
    return document | {
        "kind": "episodes",
        "gpu_name": outcome.gpu_name,
        "beside": outcome.block.beside,
        "summary": summarise(outcome.results),
        "intervals": _intervals(outcome.results),
        "results": outcome.results,
    }


def _intervals(results: list[EpisodeResult]) -> dict[str, dict[str, Interval]]:
    """Return what whole runs save by policy: mean and interquartile mean with their 95 % intervals."""
    saved = scores_of(results, lambda result: result.run_saving)
    return {
        policy: {"mean": interval(scores), "interquartile_mean": interval(scores, interquartile_mean)}
        for policy, scores in saved.items()
    }


def _print(outcome: Outcome) -> None:
    console = stdout()
    if isinstance(outcome, Skipped):
        console.print(f"\n{outcome.name}\n  skipped: {outcome.reason}", markup=False, highlight=False, soft_wrap=True)
        return
    origin = "SIMULATED, no GPU was measured" if outcome.is_simulated else "measured data"
    console.print(f"\n{outcome.block.name}", style="bold", markup=False, highlight=False)
    console.print(f"  {origin}", markup=False, highlight=False)
    if isinstance(outcome, ModelsOutcome):
        console.print(_models_table(outcome))
        return
    block = outcome.block
    console.print(f"  {aim(block.objective, block.limit)}; seeds: {block.seeds}", markup=False, highlight=False)
    console.print(summary_table(summarise(outcome.results)))
    console.print(ranking_table(outcome.results))
    for line in _readings(outcome):
        console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)


def _readings(outcome: EpisodesOutcome) -> Iterator[str]:
    """Yield what the table does not say: whole runs as a share of the best, and what others claim."""
    summaries = summarise(outcome.results)
    best = max((row.mean_saving for row in summaries.values() if row.is_bound), default=0.0)
    for policy, row in summaries.items():
        if best > 0 and not row.is_bound and row.mean_run_saving > 0:
            share = row.mean_run_saving / best
            yield f"{policy}: whole runs, search paid, save {share:.2f} of what the oracle's held pairs save"
    if outcome.block.beside:
        yield outcome.block.beside


def _models_table(outcome: ModelsOutcome) -> Table:
    """Return mean errors of each trainer, by family where there are families, and the worst workload."""
    table = new_table("", ["trainer", "workloads"], ["time", "energy"])
    for trainer, rows in outcome.errors.items():
        _add_row(table, trainer, "all", rows)
        for family in dict.fromkeys(outcome.families.values()):
            _add_row(table, "", family, [row for row in rows if outcome.families.get(row.workload) == family])
        worst = max(rows, key=lambda row: row.time + row.energy)
        _add_row(table, "", f"worst: {worst.workload}", [worst])
    return table


def _add_row(table: Table, trainer: str, what: str, rows: list[WorkloadErrors]) -> None:
    time, energy = mean_errors(rows)
    table.add_row(Text(trainer), Text(what), percent(time), percent(energy))
