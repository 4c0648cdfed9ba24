"""`gpoeo run` on a virtual device: one episode, a budget of work, and what it scored."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from gpoeo_env.bench.result import EpisodeResult, result_of
from gpoeo_env.cli.asked import Asked, logs_in
from gpoeo_env.cli.options import INTERRUPTED
from gpoeo_env.cli.output import print_json, progress_bar, stderr, stdout
from gpoeo_env.cli.tables import count, percent
from gpoeo_env.cli.views import LineView, LiveView
from gpoeo_env.config import Spec
from gpoeo_env.device.base import Device, DeviceInfo, HasTruth, lessons_of
from gpoeo_env.device.opening import open_device
from gpoeo_env.env.control import ControlLoop
from gpoeo_env.errors import UnknownNameError, UsageError
from gpoeo_env.policy import Policy, PolicyContext, Step, UsesTruth, build_policy
from gpoeo_env.runner.episode import Episode, Observer, run_episode

__all__ = ["run_virtual"]


def run_virtual(asked: Asked, device: str, workload: str | None, budget_s: float) -> None:
    """Run one episode on a simulated GPU or a recording.

    Raises:
        typer.Exit: it was interrupted; what was reached is printed first.
        GpoeoError: something that was asked for is not there.
    """
    settings = asked.settings(budget_s)
    with ControlLoop(open_device(device), settings) as loop:
        info, chosen = loop.device.info, _workload_on(loop.device, workload)
        spec = Spec.parse(device)
        folder = asked.folder(f"{spec.name}-{Path(spec.argument or '').name}", chosen)
        run = _Run(asked, device, chosen, budget_s, info, folder)
        built = _build(asked.policy, loop.device, chosen)
        episode, is_complete = _watch(loop, built, run)
        if not episode.steps:
            stderr().print("interrupted before the first window", highlight=False)
            raise typer.Exit(INTERRUPTED)
        is_bound = isinstance(built, UsesTruth)
        has_truth = isinstance(loop.device, HasTruth)
        result = result_of(episode, loop, asked.policy, is_bound=is_bound) if has_truth else None
    if asked.is_json:
        print_json(_document(run, episode, result) | ({} if is_complete else {"is_partial": True}))
    else:
        summary = _summary(run, episode, result, is_complete=is_complete)
        stdout().print(summary, markup=False, highlight=False, soft_wrap=True)
    if not is_complete:
        raise typer.Exit(INTERRUPTED)


@dataclass(frozen=True, slots=True)
class _Run:
    """What was asked for, and the device that it is asked of."""

    asked: Asked
    device: str
    workload: str | None
    budget_s: float
    info: DeviceInfo
    folder: Path | None

    def record(self) -> dict[str, Any]:
        """Return what describes a run in a log and in JSON. `Any`: whatever `plain` understands."""
        return {
            "device": self.device,
            "device_kind": self.info.kind,
            "provenance": self.info.provenance,
            "policy": self.asked.policy,
            "window_s": self.asked.window_s,
            "budget_s": self.budget_s,
        }


@dataclass(slots=True)
class _Kept:
    """An observer that keeps every Step, so that an interrupted run has a summary, too."""

    steps: list[Step] = field(default_factory=list)

    def begin(self, context: PolicyContext, workload: str | None) -> None:
        """Nothing to prepare."""

    def step(self, step: Step) -> None:
        """Keep one more window."""
        self.steps.append(step)

    def end(self) -> None:
        """Nothing is open."""


def _workload_on(device: Device, workload: str | None) -> str | None:
    """Return the workload to run: the device's first where none is named, None where the device knows none."""
    known = device.info.workloads
    if workload is not None and workload not in known:
        if not known:
            raise UsageError(f"a {device.info.kind} device runs whatever is there; leave out --workload")
        raise UnknownNameError("workload", workload, known)
    return workload or next(iter(known), None)


def _build(policy: str, device: Device, workload: str | None) -> Policy:
    with progress_bar("preparing the policy", 1):
        return build_policy(policy, sweeps=lessons_of(device, workload))


def _watch(loop: ControlLoop, policy: Policy, run: _Run) -> tuple[Episode, bool]:
    """Run the episode under its observers; return it, and whether it came to its end."""
    kept = _Kept()
    observers: list[Observer] = [kept, *logs_in(run.folder, run.record())]
    if not run.asked.is_json:
        console = stdout()
        title = run.asked.title(run.asked.policy, run.info, run.workload)
        observers.append((LiveView if console.is_terminal else LineView)(console, title))
    seed = run.asked.seed
    try:
        return run_episode(loop, policy, seed=seed, workload=run.workload, observers=observers), True
    except KeyboardInterrupt:
        return Episode(run.workload, seed, tuple(kept.steps), math.nan, math.nan), False


def _document(run: _Run, episode: Episode, result: EpisodeResult | None) -> dict[str, Any]:
    """Return the JSON document. `Any`: whatever `plain` understands."""
    totals = episode.last.totals
    return {
        **run.record(),
        "is_simulated": run.info.is_simulated,
        "gpu_name": run.info.gpu_name,
        "workload": run.workload,
        "seed": run.asked.seed,
        "objective": run.asked.objective,
        "limit": run.asked.limit,
        "held_pair": episode.held.pair,
        "has_held": totals.held,
        "measurements": episode.measurements,
        "measured_saving": totals.saving,
        "measured_slowdown": totals.slowdown,
        "totals": totals,
        "fault": episode.last.fault,
        "result": result,
        "log": run.folder,
    }


def _summary(run: _Run, episode: Episode, result: EpisodeResult | None, *, is_complete: bool) -> str:
    """Return what the run came to, for people."""
    totals = episode.last.totals
    pair = episode.held.pair
    held = "the driver's default clocks" if pair is None else f"{pair} MHz"
    if not totals.held:
        held = f"nothing yet; last tried {held}"
    saving, slowdown = percent(totals.saving), percent(totals.slowdown)
    if result is not None:
        saving = f"{percent(result.run_saving)} ({saving} against the reference as measured)"
        slowdown = f"{percent(result.run_slowdown)} ({slowdown} against the reference as measured)"
    lines = [
        "",
        *([] if is_complete else [f"PARTIAL: interrupted after {count(totals.windows, 'window')}."]),
        *([f"FAULT: {episode.last.fault}"] if episode.last.fault else []),
        f"device        {run.info.kind.upper()}: {run.info.gpu_name}; {run.info.provenance}",
        f"held          {held}, after {count(episode.measurements, 'measured window')}",
        f"energy saved  {saving} over the whole run, search and clock changes paid",
        f"slowdown      {slowdown} over the whole run",
        *([] if result is None else [_held_pair_line(result)]),
        f"spent         {totals.joules / 1000:.1f} kJ in {totals.seconds:.0f} s, {count(totals.windows, 'window')}",
        f"log           {run.folder or 'none (--no-log)'}",
    ]
    return "\n".join(lines)


def _held_pair_line(result: EpisodeResult) -> str:
    return (
        f"held pair     {percent(result.saving)} saved and {percent(result.slowdown)} slower without noise, "
        f"{'OVER THE LIMIT' if result.violates else 'within the limit'}; "
        f"best possible: {percent(result.oracle_saving)} saved"
    )
