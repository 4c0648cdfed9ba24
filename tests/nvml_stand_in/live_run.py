"""`gpoeo run` on stand-in GPUs, in a process of its own that a test can signal, kill and read."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.nvml_stand_in.stand_in import StandIn

__all__ = ["Ended", "LiveRun", "within"]

GPOEO = [sys.executable, "-W", "error", "-c", "from gpoeo_env.cli.main import main; main()"]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended, and what it printed.

    Attributes:
        code: exit code as a shell has it.
    """

    code: int
    out: str
    err: str


class LiveRun:
    """A command of `gpoeo` that sees the stand-in."""

    def __init__(
        self, stand_in: StandIn, folder: Path, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> None:
        """Start it in a folder, from which it can import modules."""
        self.stand_in = stand_in
        self.process = subprocess.Popen(
            [*GPOEO, *arguments],
            cwd=folder,
            env={**os.environ, **stand_in.environment, "COLUMNS": "200", **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # no terminal, from which a Ctrl-C could have come
        )

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the command alone."""
        self.process.send_signal(number)

    def wait_for_lock(self, sm_mhz: int | None = None, gpu: int = 0) -> None:
        """Wait until an SM clock is locked, a certain one or any."""
        self._wait(lambda: self.stand_in.locked(gpu)[0] in ((sm_mhz,) if sm_mhz else range(1, 10_000)))

    def wait_for_reader(self, gpu: int = 0) -> None:
        """Wait until it reads a sensor."""
        self._wait(lambda: self.stand_in.state.gpus[gpu].refresh >= 0)

    def end(self, timeout_s: float = 60.0) -> Ended:
        """Wait for its end."""
        out, err = self.process.communicate(timeout=timeout_s)
        code = self.process.returncode
        return Ended(128 - code if code < 0 else code, out, err)

    def _wait(self, is_so: Callable[[], bool]) -> None:
        if not within(60.0, lambda: is_so() or self.process.poll() is not None) or not is_so():
            self.process.kill()
            raise AssertionError(f"what was waited for did not come: {self.end()}")


def within(seconds: float, is_so: Callable[[], bool]) -> bool:
    """Wait until something is so, and say whether it came to that."""
    until_s = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > until_s:
            return False
        time.sleep(0.01)
    return True
