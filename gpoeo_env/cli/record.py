"""`gpoeo record`: what a live GPU reports, as a recording that the `gpoeo trace` commands read."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.live import Live
from rich.text import Text

from gpoeo_env.cli.options import JsonOption
from gpoeo_env.cli.output import print_json, stderr
from gpoeo_env.cli.tables import count
from gpoeo_env.device.nvml.device import NvmlDevice
from gpoeo_env.device.nvml.opening import build
from gpoeo_env.device.nvml.sampling import Row
from gpoeo_env.errors import ArtefactError, GpoeoError, UsageError
from gpoeo_env.runner.ending import Ended, ended_by_signals
from gpoeo_env.runner.live import Outcome
from gpoeo_env.runner.program import Program
from gpoeo_env.runner.recording import Recorder
from gpoeo_env.signals import POWER
from gpoeo_env.trace.recording import Recording

__all__ = ["record"]

SHOWN_EVERY_S = 1.0


def record(
    *,
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- COMMAND...]",
            help="Training program to start and to end with; its exit code and its signals are passed on.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="Recording to make, a Parquet file.", show_default=False),
    ],
    gpu: Annotated[
        str | None,
        typer.Option(
            metavar="GPU",
            help="Number or UUID.  [default: the only one there, or that CUDA_VISIBLE_DEVICES leaves]",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[float, typer.Option(metavar="HZ", help="Rows a second, 10 to 100.")] = 20.0,
    duration: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="End the recording after that time.  [default: with the command, or with Ctrl-C]",
            show_default=False,
        ),
    ] = None,
    recover: Annotated[
        bool, typer.Option("--recover", help="Record nothing: make FILE of what a killed recorder has left.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace FILE, and forget what a killed recorder has left.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Record what a GPU reports, at a steady pace; nothing is ever set.

    The rows go to FILE.journal at once, and become FILE in the end: a killed recorder loses nothing, a machine that
    dies the last seconds, and --recover gets the rest back. The energy counter, which is slow to read, is read every
    five seconds. The program's command line is not recorded. See also: gpoeo trace info, period, progress, shifts.
    """
    asked = _Asked(output, gpu, rate, math.inf if duration is None else duration, tuple(command or ()), is_json=json)
    asked.check()
    if recover:
        if command or gpu is not None or duration is not None:
            raise UsageError("--recover records nothing; leave out --gpu, --duration and the command")
        _say(Recorder(output, overwrite=force).recover(), output, missed=None, is_json=json)
        return
    program = Program(asked.command)
    with ended_by_signals(program.pass_on):
        outcome = _Run(asked, Recorder(output, overwrite=force), program).outcome()
        _say_error(outcome.error, program)
        code = program.exit_code(outcome.exit_code)
    raise typer.Exit(code)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The options of a recording."""

    output: Path
    gpu: str | None
    rate_hz: float
    duration_s: float
    command: tuple[str, ...]
    is_json: bool

    def check(self) -> None:
        if not self.duration_s > 0:
            raise UsageError(f"--duration is a positive number of seconds; got {self.duration_s:g}")
        if self.command and self.is_json:
            raise UsageError("--json and the program would both write to stdout; leave it out")


class _Run:
    """One recording from its start to its file."""

    def __init__(self, asked: _Asked, recorder: Recorder, program: Program) -> None:
        self._asked = asked
        self._recorder = recorder
        self._program = program
        self._missed = 0

    def outcome(self) -> Outcome:
        """Record, and make the file however that ended.

        Raises:
            GpoeoError: before anything was recorded or started.
        """
        outcome = Outcome()
        try:
            with build(self._asked.gpu, {"actuator": "observe", "rate_hz": self._asked.rate_hz}) as device:
                try:
                    self._record(device)
                finally:
                    self._missed = device.missed_ticks
        except Ended as end:
            outcome = Outcome(signal=end.number)
        except GpoeoError as error:
            if not self._recorder.rows:
                self._recorder.discard()
                raise
            outcome = Outcome(error=error)
        while self._recorder.has_begun:
            try:
                return self._finished(outcome)
            except Ended as end:  # ended while the file was being made: then it is made anew, undisturbed
                outcome = Outcome(signal=end.number, error=outcome.error)
        return outcome

    def _record(self, device: NvmlDevice) -> None:
        device.end_when(self._program.has_ended)
        with self._recorder.open(device, self._asked.rate_hz), _showing(self._recorder, device, self._asked) as watch:
            self._program.start()
            self._recorder.record(device, self._asked.duration_s, watch)

    def _finished(self, outcome: Outcome) -> Outcome:
        """Make the file; where that fails, that is the error, after the one that ended the recording."""
        ending = f"ended by an error: {outcome.error}" if outcome.error else ""
        try:
            recording = self._recorder.finish(ending)
        except ArtefactError as error:
            first = f"{outcome.error}; then " if outcome.error else ""
            return Outcome(signal=outcome.signal, error=type(error)(f"{first}{error}"))
        _say(recording, self._asked.output, missed=self._missed, is_json=self._asked.is_json)
        return outcome


def _say(recording: Recording, output: Path, *, missed: int | None, is_json: bool) -> None:
    """Print what was recorded; how many rows were missed is not known of one that was cut off."""
    rows, seconds = len(recording.t_s), recording.duration_s
    if is_json:
        source = recording.provenance.source
        print_json({"file": output, "rows": rows, "seconds": seconds, "missed_rows": missed, "source": source})
        return
    late = f", {count(missed, 'row')} missed" if missed else ""
    stderr().print(
        f"recorded {count(rows, 'row')} of {count(len(recording.signals), 'signal')} in {seconds:.1f} s{late}: "
        f"{output}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def _say_error(error: GpoeoError | None, program: Program) -> None:
    if error is not None:
        then = f"; {program.running.name} goes on, and nobody records" if program.running else ""
        sys.stderr.write(f"gpoeo: {' '.join(str(error).split())}{then}\n")


@contextmanager
def _showing(recorder: Recorder, device: NvmlDevice, asked: _Asked) -> Iterator[Callable[[Row], None]]:
    """Keep one line of a terminal up to date, which the program does not need for itself."""
    console = stderr()
    if asked.command or not console.is_terminal:
        console.print(
            f"recording {device.info.gpu_name} at {asked.rate_hz:g} Hz", markup=False, highlight=False, soft_wrap=True
        )
        yield lambda _row: None
        return
    column = device.signals.index(POWER) if POWER in device.signals else None
    with Live(console=console, auto_refresh=False, transient=True) as line:
        started_s = time.monotonic()
        due_s = started_s

        def show(row: Row) -> None:
            nonlocal due_s
            if row.t_s < due_s:
                return
            due_s = row.t_s + SHOWN_EVERY_S
            power = "" if column is None else f", {row.values[column]:.0f} W"
            so_far = f"{row.t_s - started_s:.0f} s, {count(recorder.rows, 'row')}{power}"
            line.update(Text(f"recording {device.info.gpu_name}: {so_far}"), refresh=True)

        yield show
