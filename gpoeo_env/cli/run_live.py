"""`gpoeo run` on a live GPU: attach to what runs there, or start a program and end with it."""

from __future__ import annotations

import math
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from gpoeo_env.cli.asked import Asked, logs_in
from gpoeo_env.cli.output import print_json, progress_bar, stderr, stdout
from gpoeo_env.cli.tables import count, percent
from gpoeo_env.cli.views import LineView, LiveView
from gpoeo_env.device.base import Device
from gpoeo_env.device.nvml.opening import open_gpus
from gpoeo_env.device.opening import open_device
from gpoeo_env.env.control import ControlLoop
from gpoeo_env.errors import GpoeoError, UsageError
from gpoeo_env.policy import Policy, build_policy
from gpoeo_env.runner.ending import Ended, ended_by_signals
from gpoeo_env.runner.episode import Observer
from gpoeo_env.runner.live import Outcome, control
from gpoeo_env.runner.metrics import MetricsServer
from gpoeo_env.runner.program import Program
from gpoeo_env.runner.safety import safe

__all__ = ["LiveAsked", "run_live"]


@dataclass(frozen=True, slots=True)
class LiveAsked:
    """Options that only a live run has; see `gpoeo run --help`."""

    gpu: str | None
    device: str | None
    observe: bool
    dry_run: bool
    duration_s: float | None
    min_sm_mhz: int | None
    restore_to: str | None
    metrics_port: int | None
    metrics_address: str
    command: tuple[str, ...]

    def nvml_settings(self) -> dict[str, Any]:
        """Return the settings of the GPUs that ``gpu`` names. `Any`: the device's own model checks them."""
        given = {"min_sm_mhz": self.min_sm_mhz, "restore_to": self.restore_to}
        actuator = {"actuator": "observe"} if self.observe or self.dry_run else {}
        return {**actuator, **{name: value for name, value in given.items() if value is not None}}


def run_live(asked: Asked, live: LiveAsked) -> None:
    """Control a live GPU until its program, the time or a signal ends it.

    Raises:
        typer.Exit: always, with the exit code.
        GpoeoError: before anything was started.
    """
    _check(asked, live)
    program = Program(live.command)
    with ended_by_signals(program.pass_on):
        try:
            outcome = _controlled(asked, live, program)
        except Ended as end:
            outcome = Outcome(signal=end.number)
        _say_error(outcome, program)
        code = program.exit_code(outcome.exit_code)
    raise typer.Exit(code)


def _check(asked: Asked, live: LiveAsked) -> None:
    if live.observe and live.dry_run:
        raise UsageError("--observe and --dry-run contradict each other; leave one out")
    if live.command and asked.is_json:
        raise UsageError("--json and the program would both write to stdout; leave it out, the log has it all")
    if live.duration_s is not None and not (math.isfinite(live.duration_s) and live.duration_s > 0):
        raise UsageError(f"--duration is a positive number of seconds; got {live.duration_s:g}")


def _controlled(asked: Asked, live: LiveAsked, program: Program) -> Outcome:
    """Open, start, control, and say what came of it. What can be refused is refused before the program starts."""
    run = _Run(asked, live)
    with ControlLoop(_open(live), asked.settings(math.inf)) as loop:
        run.describe(loop.device)
        policy = _policy(run.policy, live)
        observers = run.observers()
        program.start()
        try:
            outcome = control(
                loop, policy, seed=asked.seed, is_over=_is_over(live.duration_s, program), observers=observers
            )
        except Exception as error:  # a fault in a policy must not end the program, which has done nothing wrong
            if program.running is None:
                raise
            traceback.print_exc()
            outcome = Outcome(error=GpoeoError(f"{type(error).__name__}: {error}"))
    run.conclude(outcome)
    return outcome


def _open(live: LiveAsked) -> Device:
    return open_gpus(live.gpu, live.nvml_settings()) if live.device is None else open_device(live.device)


def _policy(spec: str, live: LiveAsked) -> Policy:
    with progress_bar("preparing the policy", 1):
        policy = build_policy(spec)
    return policy if live.observe else safe(policy, dry_run=live.dry_run)


def _is_over(duration_s: float | None, program: Program) -> Callable[[], bool]:
    end_s = math.inf if duration_s is None else time.monotonic() + duration_s
    return lambda: program.has_ended() or time.monotonic() >= end_s


def _say_error(outcome: Outcome, program: Program) -> None:
    if outcome.error is None:
        return
    then = "" if program.running is None else f"; {program.running.name} goes on, and nobody controls its clocks"
    sys.stderr.write(f"gpoeo: {' '.join(str(outcome.error).split())}{then}\n")


class _Run:
    """What a live run is called, where it is shown, and what it came to."""

    def __init__(self, asked: Asked, live: LiveAsked) -> None:
        self.asked = asked
        self.live = live
        self.policy = "default" if live.observe else asked.policy
        self._console = stderr() if live.command else stdout()

    def describe(self, device: Device) -> None:
        """Take what the device says of itself."""
        self._device = device
        self.folder: Path | None = self.asked.folder("live", None)

    def record(self) -> dict[str, Any]:
        """Return what describes the run in a log: never the program, whose arguments can hold tokens.

        `Any`: whatever `plain` understands.
        """
        info = self._device.info
        return {
            "device": "live",
            "device_kind": info.kind,
            "provenance": info.provenance,
            "policy": self.policy,
            "window_s": self.asked.window_s,
            "budget_s": math.inf,
            "mode": "observe" if self.live.observe else "dry run" if self.live.dry_run else "control",
        }

    def observers(self) -> list[Observer]:
        """Return who watches."""
        watching = logs_in(self.folder, self.record())
        if self.live.metrics_port is not None:
            watching.append(MetricsServer(self.live.metrics_port, self.live.metrics_address))
        if not self.asked.is_json:
            title = self.asked.title(self.policy, self._device.info, None)
            if self.live.command:
                watching.append(LineView(self._console, title, every_window=False))
            else:
                watching.append((LiveView if self._console.is_terminal else LineView)(self._console, title))
        return watching

    def conclude(self, outcome: Outcome) -> None:
        """Print what the run came to."""
        if self.asked.is_json:
            print_json(self._document(outcome))
        else:
            self._console.print(self._summary(outcome), markup=False, highlight=False, soft_wrap=True)

    def _document(self, outcome: Outcome) -> dict[str, Any]:
        """Return the JSON document. `Any`: whatever `plain` understands."""
        last = outcome.last
        return {
            **self.record(),
            "is_simulated": False,
            "gpu_name": self._device.info.gpu_name,
            "seed": self.asked.seed,
            "objective": self.asked.objective,
            "limit": self.asked.limit,
            "last_pair": last and last.pair,
            "has_held": last is not None and last.totals.held,
            "measured_saving": last and last.totals.saving,
            "measured_slowdown": last and last.totals.slowdown,
            "progress": last and last.measurement.progress,
            "totals": last and last.totals,
            "fault": last and last.fault,
            "ended_by": self._ended_by(outcome),
            "log": self.folder,
        }

    def _summary(self, outcome: Outcome) -> str:
        """Return what the run came to, for people."""
        info = self._device.info
        lines = [
            "",
            f"device        {info.kind.upper()}: {info.gpu_name}; {info.provenance}",
            f"ended         by {self._ended_by(outcome)}; the clocks are the driver's again"
            + (f", or {self.live.restore_to} MHz as asked" if self.live.restore_to else ""),
            *self._measured(outcome),
            f"log           {self.folder or 'none (--no-log)'}",
        ]
        return "\n".join(lines)

    def _measured(self, outcome: Outcome) -> list[str]:
        if outcome.last is None:
            return ["measured      nothing: it ended before the first window"]
        last, totals = outcome.last, outcome.last.totals
        pair = "the driver's default clocks" if last.pair is None else f"{last.pair} MHz"
        held = "at last" if totals.held else "at last, still searching"
        progress = last.measurement.progress
        pace = f"not measured: {progress.reason}" if math.isnan(progress.work_rate) else f"by {progress.kind}"
        saved = [
            f"energy saved  {percent(totals.saving)} over the whole run, search and clock changes paid",
            f"slowdown      {percent(totals.slowdown)} over the whole run",
        ]
        return [
            f"clocks        {pair} {held}",
            f"progress      {pace}",
            *([] if self.live.observe or self.live.dry_run else saved),
            f"spent         {totals.joules / 1000:.1f} kJ in {totals.seconds:.0f} s, {count(totals.windows, 'window')}",
        ]

    def _ended_by(self, outcome: Outcome) -> str:
        if outcome.error is not None:
            return "an error"
        if outcome.signal is not None:
            return signal.Signals(outcome.signal).name
        return "the end of the program or of its time" if self.live.command else "the end of its time"
