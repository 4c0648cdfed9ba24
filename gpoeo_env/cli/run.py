"""`gpoeo run`: one policy on one device, watched live and logged."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from gpoeo_env.bench.result import EpisodeResult, result_of
from gpoeo_env.cli.config_file import ConfigOption
from gpoeo_env.cli.live import LineView, LiveView
from gpoeo_env.cli.options import (
    INTERRUPTED,
    JsonOption,
    MaxSlowdownOption,
    MinSavingOption,
    ObjectiveOption,
    limit_of,
)
from gpoeo_env.cli.output import print_json, progress_bar, stderr, stdout
from gpoeo_env.cli.tables import aim, count, percent
from gpoeo_env.config import Spec
from gpoeo_env.device.base import Device, DeviceInfo, HasTruth, lessons_of
from gpoeo_env.device.opening import open_device
from gpoeo_env.env.control import ControlLoop, ControlSettings
from gpoeo_env.errors import UnknownNameError, UsageError
from gpoeo_env.objective import Objective
from gpoeo_env.policy import Policy, PolicyContext, Step, UsesTruth, build_policy
from gpoeo_env.runner.episode import Episode, Observer, run_episode
from gpoeo_env.runner.jsonl import JsonlLog

__all__ = ["run"]


def run(
    *,
    device: Annotated[
        str, typer.Option(metavar="SPEC", help="For example sim:rtx3080ti or replay:FILE; `gpoeo plugins` lists kinds.")
    ] = "sim:rtx3080ti",
    workload: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What to run.  [default: the device's first]", show_default=False),
    ] = None,
    policy: Annotated[str, typer.Option(metavar="SPEC", help="For example gpoeo or fixed:sm_mhz=1200.")] = "gpoeo",
    objective: ObjectiveOption = "energy",
    max_slowdown: MaxSlowdownOption = None,
    min_saving: MinSavingOption = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the noise of virtual devices, and of the policy.")] = 0,
    window: Annotated[float, typer.Option(metavar="SECONDS", help="Length of a window.")] = 10.0,
    budget: Annotated[
        float, typer.Option(metavar="SECONDS", help="Work of the run, in seconds at the driver's default.")
    ] = 1800.0,
    log: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where to log every window as a line of JSON.  [default: a new file in runs/]",
            show_default=False,
        ),
    ] = None,
    no_log: Annotated[bool, typer.Option("--no-log", help="Write no log.")] = False,
    config: ConfigOption = None,  # noqa: ARG001 - its callback has set the other options
    json: JsonOption = False,
) -> None:
    """Run one policy on one device, watched and logged.

    Every window shows what the policy does and why.

    Ctrl-C gives the clocks back, prints what was reached so far and exits with 130.
    """
    if log is not None and no_log:
        raise UsageError("--log and --no-log contradict each other; leave one out")
    aimed = Objective.named(objective)
    limit = limit_of(aimed, max_slowdown=max_slowdown, min_saving=min_saving)
    settings = ControlSettings(objective=aimed, limit=limit, window_s=window, budget_s=budget)
    with ControlLoop(open_device(device), settings) as loop:
        chosen = _workload_on(loop.device, workload)
        asked = _Asked(device, policy, chosen, seed, settings, loop.device.info)
        path = None if no_log else log or _default_log(asked)
        built = _build(policy, loop.device, asked.workload)
        episode, is_complete = _watch(loop, built, asked, path, is_quiet=json)
        if not episode.steps:
            stderr().print("interrupted before the first window", highlight=False)
            raise typer.Exit(INTERRUPTED)
        is_bound = isinstance(built, UsesTruth)
        result = result_of(episode, loop, policy, is_bound=is_bound) if isinstance(loop.device, HasTruth) else None
    if json:
        print_json(_document(asked, episode, result, path) | ({} if is_complete else {"is_partial": True}))
    else:
        summary = _summary(asked, episode, result, path, is_complete=is_complete)
        stdout().print(summary, markup=False, highlight=False, soft_wrap=True)
    if not is_complete:
        raise typer.Exit(INTERRUPTED)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What was asked for, and the device that it is asked of."""

    device: str
    policy: str
    workload: str | None
    seed: int
    settings: ControlSettings
    info: DeviceInfo

    def title(self) -> str:
        """Return one line for people."""
        on = f" on {self.workload}" if self.workload else ""
        aimed = aim(self.settings.objective, self.settings.limit)
        return f"{self.policy}{on}, {self.info.gpu_name} ({self.info.kind}): {aimed}"

    def record(self) -> dict[str, Any]:
        """Return what describes a run in a log and in JSON. `Any`: whatever `plain` understands."""
        return {
            "device": self.device,
            "device_kind": self.info.kind,
            "provenance": self.info.provenance,
            "policy": self.policy,
            "window_s": self.settings.window_s,
            "budget_s": self.settings.budget_s,
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


def _watch(
    loop: ControlLoop, policy: Policy, asked: _Asked, log: Path | None, *, is_quiet: bool
) -> tuple[Episode, bool]:
    """Run the episode under its observers; return it, and whether it came to its end."""
    kept = _Kept()
    observers: list[Observer] = [kept]
    if log is not None:
        observers.append(JsonlLog(log, {**asked.record(), "created_utc": datetime.now(UTC).isoformat("T", "seconds")}))
    if not is_quiet:
        console = stdout()
        observers.append((LiveView if console.is_terminal else LineView)(console, asked.title()))
    try:
        return run_episode(loop, policy, seed=asked.seed, workload=asked.workload, observers=observers), True
    except KeyboardInterrupt:
        return Episode(asked.workload, asked.seed, tuple(kept.steps), math.nan), False


def _default_log(asked: _Asked) -> Path:
    """Return a file in ``runs`` whose name says when and what."""
    device = Spec.parse(asked.device)
    parts = (
        f"{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}",
        f"{device.name}-{Path(device.argument or '').name}",
        asked.workload or "",
        asked.policy,
        f"seed{asked.seed}",
    )
    slugs = (re.sub(r"[^A-Za-z0-9._=]+", "-", part).strip("-")[:40] for part in parts)
    return Path("runs") / ("-".join(slug for slug in slugs if slug) + ".jsonl")


def _document(asked: _Asked, episode: Episode, result: EpisodeResult | None, log: Path | None) -> dict[str, Any]:
    """Return the JSON document. `Any`: whatever `plain` understands."""
    totals = episode.last.totals
    return {
        **asked.record(),
        "is_simulated": asked.info.is_simulated,
        "gpu_name": asked.info.gpu_name,
        "workload": asked.workload,
        "seed": asked.seed,
        "objective": asked.settings.objective,
        "limit": asked.settings.limit,
        "held_pair": episode.held.pair,
        "has_held": totals.held,
        "measurements": episode.measurements,
        "measured_saving": totals.saving,
        "measured_slowdown": totals.slowdown,
        "totals": totals,
        "fault": episode.last.fault,
        "result": result,
        "log": log,
    }


def _summary(
    asked: _Asked, episode: Episode, result: EpisodeResult | None, log: Path | None, *, is_complete: bool
) -> str:
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
        f"device        {asked.info.kind.upper()}: {asked.info.gpu_name}; {asked.info.provenance}",
        f"held          {held}, after {count(episode.measurements, 'measured window')}",
        f"energy saved  {saving} over the whole run, search and clock changes paid",
        f"slowdown      {slowdown} over the whole run",
        *([] if result is None else [_held_pair_line(result)]),
        f"spent         {totals.joules / 1000:.1f} kJ in {totals.seconds:.0f} s, {count(totals.windows, 'window')}",
        f"log           {log or 'none (--no-log)'}",
    ]
    return "\n".join(lines)


def _held_pair_line(result: EpisodeResult) -> str:
    return (
        f"held pair     {percent(result.saving)} saved and {percent(result.slowdown)} slower without noise, "
        f"{'OVER THE LIMIT' if result.violates else 'within the limit'}; "
        f"best possible: {percent(result.oracle_saving)} saved"
    )
