"""`gpoeo demo`: what the policy saves on a simulated GPU, search paid, in under a minute and without any hardware."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase
from typing import Annotated

import typer

from gpoeo_env.bench.demo import DemoPlan, demonstrate
from gpoeo_env.bench.result import EpisodeResult
from gpoeo_env.bench.stats import summarise
from gpoeo_env.cli.chart import Point, scatter
from gpoeo_env.cli.options import DEFAULT_LIMIT, INTERRUPTED, JsonOption
from gpoeo_env.cli.output import print_json, progress_bar, stdout
from gpoeo_env.cli.tables import aim, count, demo_table, summary_table
from gpoeo_env.device.base import Device, DeviceInfo
from gpoeo_env.device.opening import open_device
from gpoeo_env.objective import Objective

__all__ = ["demo"]

POLICIES = DemoPlan().policies


def demo(
    *,
    device: Annotated[str, typer.Option(metavar="SPEC", help="A simulated GPU.")] = "sim:rtx3080ti",
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            metavar="SPEC",
            help=f"A policy to show; repeatable.  [default: {', '.join(POLICIES)}]",
            show_default=False,
        ),
    ] = None,
    max_slowdown: Annotated[float, typer.Option(metavar="FRACTION", help="Limit; 0.05 means 5 %.")] = DEFAULT_LIMIT,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the noise.")] = 0,
    json: JsonOption = False,
) -> None:
    """Show what GPOEO saves on a simulated GPU.

    Beside it: doing nothing, and the best that could be done.

    Every policy runs half an hour of every workload; its search, its trials and its clock changes are part of the
    figures. Needs no GPU and no network. Ctrl-C prints what is done so far and exits with 130.
    """
    plan = DemoPlan(policies=tuple(policy or POLICIES), max_slowdown=max_slowdown, seed=seed)
    with open_device(device) as opened:
        info = opened.info
        results, is_complete = _run(plan, opened)
    if json:
        document = {
            "device": device,
            "gpu_name": info.gpu_name,
            "is_simulated": True,
            "max_slowdown": plan.max_slowdown,
            "results": results,
            "summary": summarise(results),
        }
        print_json(document | ({} if is_complete else {"is_partial": True}))
    else:
        _print_tables(plan, info, results, is_complete=is_complete)
    if not is_complete:
        raise typer.Exit(INTERRUPTED)


def _run(plan: DemoPlan, device: Device) -> tuple[list[EpisodeResult], bool]:
    """Return the results and whether they are all there."""
    results: list[EpisodeResult] = []
    try:
        with progress_bar("simulating", plan.n_episodes(device)) as advance:
            for result in demonstrate(plan, device):
                results.append(result)
                advance()
    except KeyboardInterrupt:
        return results, False
    return results, True


def _print_tables(plan: DemoPlan, info: DeviceInfo, results: Sequence[EpisodeResult], *, is_complete: bool) -> None:
    console = stdout()
    console.print(_heading(plan, info), markup=False, highlight=False)
    if not is_complete:
        total = len(info.workloads) * len(plan.policies)
        console.print(f"PARTIAL: interrupted after {len(results)} of {total} runs.", style="bold", highlight=False)
    if results:
        console.print("", demo_table(results), "", summary_table(summarise(results)), "", sep="\n")
        console.print(_chart(plan, results), markup=False, highlight=False, soft_wrap=True)
        console.print(_notes(results), markup=False, highlight=False)


def _heading(plan: DemoPlan, info: DeviceInfo) -> str:
    return (
        f"SIMULATED: a model of the {info.gpu_name}; no GPU was measured.\n"
        f"{count(len(info.workloads), 'workload')}, {aim(Objective.ENERGY, plan.max_slowdown)}.\n"
        f"Every run: {plan.budget_s / 60:g} min of work in windows of {plan.window_s:g} s, the search paid."
    )


def _chart(plan: DemoPlan, results: Sequence[EpisodeResult]) -> str:
    marks = _marks(plan.policies)
    points = [Point(result.run_slowdown, result.run_saving, marks[result.policy]) for result in results]
    is_bound = {result.policy: result.is_bound for result in results}
    legend = "   ".join(f"{marks[policy]} {policy}{' (bound)' if bound else ''}" for policy, bound in is_bound.items())
    return (
        f"Energy saved (up) against slowdown (right), whole runs.\n{legend}\n\n{scatter(points, plan.max_slowdown)}\n"
    )


def _marks(policies: Sequence[str]) -> dict[str, str]:
    """Return a letter for each policy: the first free one of its name, else of the alphabet."""
    marks: dict[str, str] = {}
    for policy in policies:
        letters = [letter for letter in policy.lower() + ascii_lowercase if letter in ascii_lowercase]
        marks[policy] = next((letter for letter in letters if letter not in marks.values()), "+")
    return marks


def _notes(results: Sequence[EpisodeResult]) -> str:
    lines = [
        "Energy saved, run slower: the whole run, search and clock changes paid. Held pair: its values without noise. "
        "Windows measured: until the pair is held, the reference counted.",
    ]
    if any(result.is_bound for result in results):
        lines.append("(bound): was told the truth and searches nothing; what could be saved at best, not a result.")
    if any(result.violates for result in results):
        lines.append("! the held pair is slower than the limit allows.")
    if any(result.is_released for result in results):
        lines.append("* clocks released to the driver.")
    return "\n".join(lines)
