"""`gpoeo profile`: measure a workload at many clock pairs, as a sweep to fit models to and to replay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from gpoeo_env.cli.options import INTERRUPTED, JsonOption
from gpoeo_env.cli.output import print_json, stderr, stdout
from gpoeo_env.cli.tables import count, percent
from gpoeo_env.device.base import Device
from gpoeo_env.device.opening import open_device
from gpoeo_env.env.control import ControlLoop, ControlSettings
from gpoeo_env.errors import TraceError, UsageError
from gpoeo_env.objective import Objective
from gpoeo_env.runner.profile_journal import Entry, ProfileJournal
from gpoeo_env.runner.profile_plan import ProfilePlan, plan_profile
from gpoeo_env.runner.profiling import Profiled
from gpoeo_env.runner.profiling import profile as run_profile
from gpoeo_env.trace.store import read_sweeps, write_sweeps
from gpoeo_env.trace.sweep import Provenance, SweepSet
from gpoeo_env.version import __version__

__all__ = ["profile"]

WITHOUT_BOUND_S = 1e9
"""Work budget of the loop: the plan bounds a profile, not the work."""
LIMIT = 0.05


def profile(
    *,
    device: Annotated[str, typer.Option(metavar="SPEC", help="What to measure, for example sim:rtx3080ti or nvml:0.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Sweep file to write.")],
    workload: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which workload of a virtual device.", show_default=False)
    ] = None,
    budget: Annotated[float, typer.Option(metavar="SECONDS", help="The profile takes no longer.")] = 1200.0,
    window: Annotated[float, typer.Option(metavar="SECONDS", help="Length of a window.")] = 10.0,
    min_sm_mhz: Annotated[int, typer.Option(metavar="MHZ", help="Try no lower SM clock.")] = 0,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of a virtual device's noise.")] = 0,
    append: Annotated[bool, typer.Option("--append", help="Add to the sweep file if it exists.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget an interrupted profile.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and change nothing.")] = False,
    json: JsonOption = False,
) -> None:
    """Measure a workload at many clock pairs, and write a sweep with counters.

    The plan is bounded by the budget: SM clocks are thinned evenly, every memory clock is kept. Pairs that the GPU did
    not honour, or that were throttled, stay out and are named. Every window is kept beside the file at once: after
    Ctrl-C or a kill, the same command goes on where it stopped. The clocks are given back in any case.
    """
    if out.exists() and not append:
        raise UsageError(f"{out} exists already; name another file, or add to it with --append")
    with ControlLoop(open_device(device), ControlSettings(window_s=window, budget_s=WITHOUT_BOUND_S)) as loop:
        opened = loop.device
        plan = _plan(opened, workload, seed, window_s=window, budget_s=budget, min_sm_mhz=min_sm_mhz)
        if not json:
            stderr().print(_plan_line(opened, plan), markup=False, highlight=False, soft_wrap=True)
        if dry_run:
            if json:
                print_json({"plan": plan, "seconds": plan.seconds})
            return
        identity = {"device": device, "workload": workload, "window_s": window, "seed": seed}
        journal = ProfileJournal(out.with_name(f".{out.name}.profile.jsonl"), identity)
        journal.open(fresh=fresh)
        profiled = _measure(loop, plan, journal, workload, seed)
        _write(out, opened, device, profiled)
        journal.remove()
    if json:
        print_json(_document(out, profiled))
    else:
        stdout().print(_summary(out, profiled), markup=False, highlight=False, soft_wrap=True)


def _plan(
    device: Device, workload: str | None, seed: int, *, window_s: float, budget_s: float, min_sm_mhz: int
) -> ProfilePlan:
    """Plan for the table of the workload that will run; a virtual device has one for each."""
    if device.info.kind != "live":
        device.begin(seed, workload)
    return plan_profile(
        device.clocks, device.info.default_pair, window_s=window_s, budget_s=budget_s, min_sm_mhz=min_sm_mhz
    )


def _measure(
    loop: ControlLoop, plan: ProfilePlan, journal: ProfileJournal, workload: str | None, seed: int
) -> Profiled:
    done = len(journal.entries)
    if done:
        stderr().print(f"going on after {count(done, 'window')}", markup=False, highlight=False)
    try:
        with _bar(plan, done) as advance:
            return run_profile(loop, plan, journal, workload=workload, seed=seed, advance=advance)
    except KeyboardInterrupt:
        message = f"interrupted after {count(len(journal.entries), 'window')}; the same command goes on from there"
        stderr().print(message, markup=False, highlight=False)
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _bar(plan: ProfilePlan, done: int) -> Iterator[Callable[[Entry], None]]:
    """Show what is being measured and the time left; nothing where stderr is not a terminal."""
    console = stderr()
    columns = (TextColumn("profiling {task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("the driver's default", total=plan.windows, completed=done)

        def advance(entry: Entry) -> None:
            progress.update(task, advance=1, description=f"{entry.pair or 'the default'}")

        yield advance


def _write(out: Path, device: Device, spec: str, profiled: Profiled) -> None:
    new = SweepSet(
        gpu_name=device.info.gpu_name,
        sweeps=(profiled.sweep,),
        provenance=Provenance(
            source=f"profiled: {spec}",
            created_utc=datetime.now(UTC).isoformat(timespec="seconds"),
            tool=f"gpoeo-env {__version__}",
            is_simulated=device.info.is_simulated,
            is_relative=True,
        ),
    )
    write_sweeps(out, _added_to(read_sweeps(out), new) if out.exists() else new, overwrite=True)


def _added_to(old: SweepSet, new: SweepSet) -> SweepSet:
    """Return the sweeps of both.

    Raises:
        TraceError: they are of different GPUs or kinds, or hold the same workload.
    """
    for what, mine, others in (
        ("GPU", new.gpu_name, old.gpu_name),
        ("simulated", new.provenance.is_simulated, old.provenance.is_simulated),
        ("relative", new.provenance.is_relative, old.provenance.is_relative),
    ):
        if mine != others:
            raise TraceError(
                f"cannot add to the sweep file: {what} is {mine!r} here and {others!r} there; name another"
            )
    return SweepSet(old.gpu_name, (*old.sweeps, *new.sweeps), old.provenance, old.counter_units)


def _plan_line(device: Device, plan: ProfilePlan) -> str:
    windows = f"{count(len(plan.pairs), 'pair')} in windows of {plan.window_s:g} s"
    references = f"{count(plan.reference_windows, 'window')} at the driver's default"
    whole = f"{plan.seconds / 60:.1f} min in all; {count(plan.left_out, 'pair')} left out"
    return f"{device.info.gpu_name} ({device.info.kind}): {windows}, {references}, {whole}"


def _document(out: Path, profiled: Profiled) -> dict[str, Any]:
    """Return the JSON document. `Any`: whatever `plain` understands."""
    sweep = profiled.sweep
    return {
        "file": out,
        "workload": sweep.workload,
        "reference": sweep.reference,
        "pairs": len(sweep.clocks),
        "skipped": {str(pair): why for pair, why in profiled.skipped.items()},
        "drift": profiled.drift,
    }


def _summary(out: Path, profiled: Profiled) -> str:
    sweep = profiled.sweep
    best = Objective.ENERGY.best(sweep.time_ratio, sweep.energy_ratio, LIMIT)
    saved, slower = percent(1 - sweep.energy_ratio[best]), percent(sweep.time_ratio[best] - 1)
    pair = sweep.clocks.pairs[best]
    lines = [
        f"{sweep.workload}: {count(len(sweep.clocks), 'pair')} measured, reference {sweep.reference} MHz",
        f"best within {percent(LIMIT, 0)}: {pair} MHz, {saved} of the energy saved, {slower} slower, as measured",
        f"drift of the driver's default over the profile: {percent(profiled.drift)}",
        *(f"skipped {pair} MHz: {why}" for pair, why in profiled.skipped.items()),
        f"wrote {out}",
    ]
    return "\n".join(lines)
