"""A GPU that is a file, and the folder of its journal."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpoeo_env.clocks import ClockPair
from gpoeo_env.device.guard.folder import Folder
from gpoeo_env.testing.clock_file import ClockFile, locked_clocks, read_clock_file

__all__ = ["GPU", "PAIR", "Place", "eventually"]

GPU = "GPU-11111111-2222-3333-4444-555555555555"
PAIR = ClockPair(1200, 5001)


@dataclass
class Place:
    """Where everything lies."""

    root: Path

    @property
    def gpu(self) -> Path:
        return self.root / "gpu.log"

    @property
    def folder(self) -> Path:
        return self.root / "guard"

    @property
    def journal(self) -> Path:
        return self.folder / f"{GPU}.journal"

    def actuator(self) -> ClockFile:
        return ClockFile(self.gpu, GPU, self.journal)

    def open(self) -> Folder:
        return Folder.at(self.folder)

    def locked(self) -> dict[str, tuple[int, int]]:
        return locked_clocks(self.gpu)

    def fail(self, *domains: str) -> None:
        self.gpu.with_suffix(".fail").write_text(" ".join(domains), encoding="utf-8")

    def every_lock_had_a_journal(self) -> bool:
        locks = [event for event in read_clock_file(self.gpu) if event.clocks is not None]
        return bool(locks) and all(event.has_journal for event in locks)


def eventually(holds: Callable[[], bool], within_s: float = 5.0) -> bool:
    """Wait until something holds; False where it does not in time."""
    until_s = time.monotonic() + within_s
    while time.monotonic() < until_s:
        if holds():
            return True
        time.sleep(0.02)
    return holds()
