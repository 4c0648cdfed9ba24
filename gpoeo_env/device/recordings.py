"""Replay of raw recordings, one for each clock pair of the same work: what was logged, with all the sensors' faults.

    device = RecordingsDevice(read_recording_set(Path("a100.recordings.parquet")))
    device.begin(seed=0, workload="lbm")
    device.set_clocks(device.clocks.pairs[3])
    device.observe(20.0)                        # the rows that were logged at these clocks

A sweep holds one number for each pair; here windows are cut from samples, progress is measured from counters that were
dropped or polled too fast, and what a window happens to see of the program is part of the result.

- The program starts again whenever it ends (see `gpoeo_env.device.recorded_run` for what a lap is). Every lap at one
  pair is the same recording: longer windows average over the phases of the program, not over the luck of that run.
- A clock change goes to the other recording at the same share of work done. What settling costs was not recorded: it
  is 0 here, and the rows after a change are those of a GPU that had these clocks all along.
- A seed chooses where in the program a run begins.
- Nothing is invented: a pair without a recording is refused, and action 0 plays the declared reference pair.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.config import validated
from gpoeo_env.device.base import DeviceInfo
from gpoeo_env.device.measured_sweep import measured_sweeps
from gpoeo_env.device.recorded_run import RecordedRun
from gpoeo_env.errors import DeviceError, UnknownNameError, UsageError
from gpoeo_env.records import Window
from gpoeo_env.signals import MEM_CLOCK, SM_CLOCK, Signal
from gpoeo_env.trace.recording_set import RecordingSet
from gpoeo_env.trace.recording_set_store import read_recording_set
from gpoeo_env.trace.sweep import Sweep

__all__ = ["RecordingsDevice", "build"]

LESSON_WINDOW_S = 240.0
"""Twenty laps of a program that takes 12 s: on recordings, long windows cost nothing, and where they cut a lap hardly
matters."""

Floats = NDArray[np.float64]


@dataclass(slots=True)
class _Play:
    """Where the tape stands: a row of one run, and what the device's own clock and counters are ahead of it."""

    pair: ClockPair
    run: RecordedRun
    row: int
    ahead_s: float
    ahead: Floats
    requested: ClockPair | None = None

    def readings(self, last: int) -> tuple[Floats, Floats]:
        """Return times and values from the current row to ``last``, both included."""
        rows = np.arange(self.row, last + 1)
        return self.run.time_at(rows) + self.ahead_s, self.run.values_at(rows) + self.ahead

    def row_after(self, seconds: float) -> int:
        """Return the row nearest to that much time from now; at least the next one."""
        now_s = float(self.run.time_at(np.array([self.row]))[0])
        return max(self.row + 1, self.run.row_at(now_s + seconds))

    def switch(self, pair: ClockPair, run: RecordedRun) -> None:
        """Go on in another recording at the same share of work; time and counters go on from where they are."""
        row = run.row_of_share(self.run.share_at(self.row))
        self.ahead = self.ahead + self.run.totals_at(self.row) - run.totals_at(row)
        self.ahead_s += float(self.run.time_at(np.array([self.row]))[0] - run.time_at(np.array([row]))[0])
        self.pair, self.run, self.row = pair, run, row


class RecordingsDevice:
    """Plays recordings; see the module."""

    def __init__(self, recordings: RecordingSet) -> None:
        """Take recordings."""
        self.recordings = recordings
        self._workload = recordings.workloads[0]
        self._clocks = recordings.clocks(self._workload)
        self._runs: dict[ClockPair, RecordedRun] = {}
        self._play: _Play | None = None
        self._is_closed = False

    @property
    def info(self) -> DeviceInfo:
        """What stays the same while the device is open."""
        provenance = self.recordings.provenance
        return DeviceInfo(
            kind="replay",
            gpu_name=self.recordings.gpu_name,
            workloads=self.recordings.workloads,
            default_pair=self.recordings.reference,
            power_limit_w=math.nan,
            provenance=f"raw recordings: {provenance.source}",
            is_deterministic=True,
            is_simulated=provenance.is_simulated,
        )

    @property
    def clocks(self) -> ClockTable:
        """The recorded pairs of the workload that `begin` chose (before it: the first)."""
        return self._clocks

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The columns of every window."""
        return self.recordings.signals

    def begin(self, seed: int | None, workload: str | None = None) -> None:
        """Rewind to time 0 at the reference pair.

        Args:
            seed: chooses where in the program the run begins, 0 or more; None draws one.
            workload: one of ``info.workloads``; None = the first of them.

        Raises:
            UnknownNameError: the device has no such workload.
            UsageError: the seed is negative.
            DeviceError: the device is closed.
        """
        self._check_open()
        name = self.recordings.workloads[0] if workload is None else workload
        if name not in self.recordings.workloads:
            raise UnknownNameError("workload", name, self.recordings.workloads)
        if seed is not None and seed < 0:
            raise UsageError(f"a seed is a whole number, 0 or more; got {seed}")
        if name != self._workload:
            self._workload, self._clocks, self._runs = name, self.recordings.clocks(name), {}
        pair = self.recordings.reference
        run = self._run_at(pair)
        rng = np.random.default_rng(None if seed is None else [seed, crc32(name.encode())])
        row = int(rng.integers(len(run.t_s)))
        ahead_s = -float(run.time_at(np.array([row]))[0])
        self._play = _Play(pair, run, row, ahead_s, np.zeros(len(self.signals)))

    def set_clocks(self, pair: ClockPair | None) -> None:
        """Go to the recording at a pair; None releases, which plays the reference pair.

        Raises:
            ClockNotSupportedError: there is no recording at the pair; nothing is changed.
            DeviceError: `begin` has not been called, or the device is closed.
        """
        play = self._playing()
        self._clocks.action_of(pair)
        wanted = pair or self.recordings.reference
        if wanted != play.pair:
            play.switch(wanted, self._run_at(wanted))
        play.requested = pair

    def observe(self, seconds: float) -> Window:
        """Return the rows that were recorded in the next ``seconds``, to the nearest row.

        Raises:
            UsageError: ``seconds`` is not positive.
            DeviceError: `begin` has not been called, or the device is closed.
        """
        play = self._playing()
        if not (math.isfinite(seconds) and seconds > 0):
            raise UsageError(f"a window needs a positive number of seconds; got {seconds:g}")
        last = play.row_after(seconds)
        t_s, values = play.readings(last)
        play.row = last
        window = Window(t_s, values, self.signals, requested=play.requested, observed=None)
        return _with_observed_clocks(window, play.pair)

    def lessons(self, workload: str | None) -> Sequence[Sweep]:
        """Return sweeps of the other workloads, measured on their recordings in long windows."""
        unseen = workload or self.recordings.workloads[0]
        others = [name for name in self.recordings.workloads if name != unseen]
        with RecordingsDevice(self.recordings) as player:  # this device stays where it is
            return measured_sweeps(player, others, window_s=LESSON_WINDOW_S).sweeps if others else ()

    def close(self) -> None:
        """End the device; calling it twice is fine."""
        self._play = None
        self._is_closed = True

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def _run_at(self, pair: ClockPair) -> RecordedRun:
        if pair not in self._runs:
            self._runs[pair] = RecordedRun.of(self.recordings.recordings(self._workload)[pair])
        return self._runs[pair]

    def _playing(self) -> _Play:
        self._check_open()
        if self._play is None:
            raise DeviceError("the device has not begun a run; call begin(seed, workload) first")
        return self._play

    def _check_open(self) -> None:
        if self._is_closed:
            raise DeviceError("the device is closed; open a new one")


class _Settings(BaseModel, extra="forbid", frozen=True):
    """A recording has no settings: noise, settling and phases are what was recorded."""


def build(argument: str | None, config: Mapping[str, Any]) -> RecordingsDevice:
    """Open ``recordings:FILE`` (entry point ``recordings``).

    Args:
        argument: path of a recording set.
        config: no setting is known. `Any`: it comes from a spec and is checked here.

    Raises:
        UsageError: no file is named.
        TraceError: the file cannot be used.
        ConfigError: a setting is given.
    """
    if argument is None:
        raise UsageError("device recordings needs a recording set, for example recordings:a100.recordings.parquet")
    validated(_Settings, config, f"device recordings:{argument}")
    return RecordingsDevice(read_recording_set(Path(argument)))


def _with_observed_clocks(window: Window, recorded_at: ClockPair) -> Window:
    """Say which clocks were in force: as read, and where a clock was not logged, the one of the recording."""
    sm_mhz, mem_mhz = window.mean(SM_CLOCK), window.mean(MEM_CLOCK)
    observed = ClockPair(
        round(sm_mhz) if sm_mhz >= 1 else recorded_at.sm_mhz, round(mem_mhz) if mem_mhz >= 1 else recorded_at.mem_mhz
    )
    return replace(window, observed=observed)
