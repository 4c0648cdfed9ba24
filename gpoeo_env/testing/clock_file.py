"""A GPU whose clocks are a file that all processes see: for tests of what must survive processes.

The file is a log, one JSON object a line, appended whole: what was set, when, and by which process. Its last lines are
the clocks in force. A file beside it, ``NAME.fail``, names operations that fail.

    ClockFile(path, "GPU-1").lock(ClockPair(1200, 5001))
    read_clock_file(path)[-1]    # {"domain": "memory", "clocks": [5001, 5001], "pid": ..., "time_s": ..., ...}
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpoeo_env.device.guard.actuator import ActuatorDescription, ClockRange, Domain, Setting
from gpoeo_env.errors import DeviceError

if TYPE_CHECKING:
    from gpoeo_env.clocks import ClockPair  # for types alone: it loads numpy, which a watchdog does without

__all__ = ["ClockEvent", "ClockFile", "locked_clocks", "read_clock_file", "rebuild"]


@dataclass(frozen=True, slots=True)
class ClockEvent:
    """One call of a setter.

    Attributes:
        domain: "sm" or "memory".
        clocks: low and high in MHz; None = released.
        pid: who called.
        time_s: when, on CLOCK_MONOTONIC.
        has_journal: whether the journal existed at that moment; None where no journal was named.
    """

    domain: Domain
    clocks: tuple[int, int] | None
    pid: int
    time_s: float
    has_journal: bool | None


class ClockFile:
    """An `Actuator` on such a file."""

    name = "clock-file"
    domains: tuple[Domain, ...] = ("sm", "memory")

    def __init__(self, path: Path, gpu_uuid: str, journal: Path | None = None, pause_s: float = 0.0) -> None:
        """Take the file; `pause_s` lies between the two halves of `lock`, so that a kill can fall there."""
        self.gpu_uuid = gpu_uuid
        self._path = path
        self._journal = journal
        self._pause_s = pause_s

    @property
    def description(self) -> ActuatorDescription:
        """How another process builds it again."""
        journal = "" if self._journal is None else str(self._journal)
        settings: dict[str, Setting] = {"path": str(self._path), "journal": journal, "pause_s": self._pause_s}
        return ActuatorDescription("gpoeo_env.testing.clock_file:rebuild", settings)

    def lock(self, pair: ClockPair) -> None:
        """Lock both clocks."""
        self._set("sm", (pair.sm_mhz, pair.sm_mhz))
        time.sleep(self._pause_s)
        self._set("memory", (pair.mem_mhz, pair.mem_mhz))

    def lock_sm_range(self, clocks: ClockRange) -> None:
        """Lock the SM clock to a range."""
        self._set("sm", (clocks.low_mhz, clocks.high_mhz))

    def release_sm(self) -> None:
        """Release the SM clock."""
        self._set("sm", None)

    def release_memory(self) -> None:
        """Release the memory clock."""
        self._set("memory", None)

    def _set(self, domain: Domain, clocks: tuple[int, int] | None) -> None:
        failing = self._path.with_suffix(".fail")
        if failing.exists() and domain in failing.read_text(encoding="utf-8").split():
            raise DeviceError(f"the {domain} clock of {self.gpu_uuid} cannot be set, as the test wishes")
        event = {
            "domain": domain,
            "clocks": clocks,
            "pid": os.getpid(),
            "time_s": time.monotonic(),
            "has_journal": None if self._journal is None else self._journal.exists(),
        }
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")  # one write of a short line in append mode: whole, whoever else writes


def rebuild(gpu_uuid: str, settings: Mapping[str, Setting]) -> ClockFile:
    """Build the actuator from its description."""
    journal = str(settings["journal"])
    pause_s = settings["pause_s"]
    assert isinstance(pause_s, float | int)
    return ClockFile(Path(str(settings["path"])), gpu_uuid, Path(journal) if journal else None, float(pause_s))


def read_clock_file(path: Path) -> list[ClockEvent]:
    """Return every call so far, oldest first."""
    if not path.exists():
        return []
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [ClockEvent(**row | {"clocks": row["clocks"] and tuple(row["clocks"])}) for row in rows]


def locked_clocks(path: Path) -> dict[str, tuple[int, int]]:
    """Return what is locked now, by domain."""
    last = {event.domain: event.clocks for event in read_clock_file(path)}
    return {domain: clocks for domain, clocks in last.items() if clocks is not None}
