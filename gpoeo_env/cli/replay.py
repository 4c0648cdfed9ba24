"""`gpoeo replay`: policies on a recorded sweep, scored against the recording."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpoeo_env.bench.executors import available_cores
from gpoeo_env.bench.plan import Fit, ReplayPlan
from gpoeo_env.bench.replay import replay as replay_plan
from gpoeo_env.bench.result import EpisodeResult
from gpoeo_env.bench.stats import summarise
from gpoeo_env.cli.config_file import ConfigOption
from gpoeo_env.cli.options import INTERRUPTED, JsonOption, MaxSlowdownOption, MinSavingOption, ObjectiveOption, limit_of
from gpoeo_env.cli.output import print_json, progress_bar, stdout
from gpoeo_env.cli.tables import aim, count, percent, summary_table, workload_table
from gpoeo_env.objective import Objective
from gpoeo_env.trace.store import read_sweeps
from gpoeo_env.trace.sweep import SweepSet

__all__ = ["replay"]

POLICIES = ("default", "gpoeo", "oracle")
"""What is replayed when no policy is named."""


def replay(
    sweep: Annotated[Path, typer.Argument(help="Sweep file, as `gpoeo trace import` writes it.", show_default=False)],
    *,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            metavar="SPEC",
            help=f"A policy, for example gpoeo or fixed:sm_mhz=1200; repeatable.  [default: {', '.join(POLICIES)}]",
            show_default=False,
        ),
    ] = None,
    objective: ObjectiveOption = "energy",
    max_slowdown: MaxSlowdownOption = None,
    min_saving: MinSavingOption = None,
    noise: Annotated[
        float, typer.Option(metavar="FRACTION", help="Relative standard deviation of every window's time and power.")
    ] = 0.01,
    seeds: Annotated[int, typer.Option(metavar="N", help="Run every episode under the seeds 0..N-1.")] = 10,
    fit: Annotated[
        str, typer.Option(metavar="HOW", help="What models are fitted on: leave-one-out (the other workloads) or none.")
    ] = Fit.LEAVE_ONE_OUT.value,
    workload: Annotated[
        list[str] | None,
        typer.Option("--workload", metavar="NAME", help="Replay only this workload; repeatable.", show_default=False),
    ] = None,
    window: Annotated[float, typer.Option(metavar="SECONDS", help="Length of a window.")] = 10.0,
    budget: Annotated[
        float, typer.Option(metavar="SECONDS", help="Work of an episode, in seconds at the reference clocks.")
    ] = 400.0,
    jobs: Annotated[
        int | None,
        typer.Option(metavar="N", help="Worker processes; results do not depend on it.  [default: one a core]"),
    ] = None,
    config: ConfigOption = None,  # noqa: ARG001 - its callback has set the other options
    json: JsonOption = False,
) -> None:
    """Replay policies on every workload of a sweep.

    Each is compared with the best single clock pair.

    Saving and slowdown are the recorded, noise-free values of the pair that a policy finally held; the columns "run"
    count the whole run, with the search paid. Ctrl-C prints what is done so far and exits with 130.
    """
    chosen = Objective.named(objective)
    plan = ReplayPlan(
        policies=tuple(policy or POLICIES),
        objective=chosen,
        limit=limit_of(chosen, max_slowdown=max_slowdown, min_saving=min_saving),
        noise=noise,
        n_seeds=seeds,
        fit=Fit.named(fit),
        workloads=tuple(workload or ()),
        window_s=window,
        budget_s=budget,
    )
    sweeps = read_sweeps(sweep)
    results, is_complete = _run(plan, sweeps, available_cores() if jobs is None else jobs)
    show = _print_document if json else _print_tables
    show(plan, sweeps, results, is_complete=is_complete)
    if not is_complete:
        raise typer.Exit(INTERRUPTED)


def _run(plan: ReplayPlan, sweeps: SweepSet, jobs: int) -> tuple[list[EpisodeResult], bool]:
    """Return the results and whether they are all there."""
    results: list[EpisodeResult] = []
    try:
        with progress_bar("replaying", plan.n_episodes(sweeps)) as advance:
            for result in replay_plan(plan, sweeps, jobs):
                results.append(result)
                advance()
    except KeyboardInterrupt:
        return results, False
    return results, True


def _print_document(plan: ReplayPlan, sweeps: SweepSet, results: list[EpisodeResult], *, is_complete: bool) -> None:
    what = {"gpu_name": sweeps.gpu_name, "is_simulated": sweeps.provenance.is_simulated, "plan": plan}
    document = {"results": results, "summary": summarise(results), **what}
    print_json(document if is_complete else {**document, "is_partial": True})


def _print_tables(plan: ReplayPlan, sweeps: SweepSet, results: list[EpisodeResult], *, is_complete: bool) -> None:
    console = stdout()
    console.print(_heading(plan, sweeps), markup=False, highlight=False)
    if not is_complete:
        console.print(
            f"PARTIAL: interrupted after {len(results)} of {plan.n_episodes(sweeps)} episodes.",
            style="bold",
            highlight=False,
        )
    if results:
        console.print("", summary_table(summarise(results)), "", workload_table(results), "", sep="\n")
        console.print(_notes(results), markup=False, highlight=False)


def _heading(plan: ReplayPlan, sweeps: SweepSet) -> str:
    origin = "SIMULATED sweep, no GPU was measured" if sweeps.provenance.is_simulated else "Measured sweep"
    return (
        f"{origin}: {sweeps.gpu_name}, {count(len(plan.chosen_workloads(sweeps)), 'workload')}.\n"
        f"{aim(plan.objective, plan.limit).capitalize()}; noise {percent(plan.noise)}; "
        f"{count(plan.n_seeds, 'seed')}; fit {plan.fit.value}; "
        f"episodes of {plan.budget_s:g} s in windows of {plan.window_s:g} s."
    )


def _notes(results: list[EpisodeResult]) -> str:
    lines = [
        "Saving and slowdown: recorded values, without noise, of the clock pair finally held, against the reference "
        "pair. Windows measured: until the pair is held, the reference counted.",
        "Run saving and run slowdown: the whole run, search and clock changes paid.",
    ]
    if any(result.is_bound for result in results):
        lines.append("(bound): was told the truth; what could be saved at best, not a result.")
    if any(result.is_released for result in results):
        lines.append("* clocks released to the driver, which the sweep stands in for with its reference pair.")
    return "\n".join(lines)
