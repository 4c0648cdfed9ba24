"""Controllers: real processes with a guard, that a test can kill, stop and ask."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

from gpoeo_env.clocks import ClockPair
from tests.device.guard.place import GPU, PAIR, Place

__all__ = ["Controller"]

CONTROLLER = """
import json, os, sys, time
from pathlib import Path
from gpoeo_env.clocks import ClockPair
from gpoeo_env.device.guard.actuator import ClockRange
from gpoeo_env.device.guard.folder import Folder
from gpoeo_env.device.guard.guard import Guard
from gpoeo_env.testing.clock_file import ClockFile

told = json.loads(sys.argv[1])
restore_to = ClockRange.parse(told["restore_to"]) if told["restore_to"] else None
actuator = ClockFile(Path(told["gpu"]), told["uuid"], Path(told["journal"]), told["pause_s"])
exec(told["before"])
options = dict(restore_to=restore_to, lease_s=told["lease_s"], patience_s=told["patience_s"])
with Guard.open(actuator, Folder.at(Path(told["folder"])), **options) as guard:
    print("opened", flush=True)
    for line in sys.stdin:
        word, *rest = line.split(maxsplit=1)
        answer = eval(rest[0]) if word == "eval" else exec(rest[0]) or "done"
        print(answer, flush=True)
"""
"""Runs what it reads from stdin, with `guard` at hand, and prints what came of it; ends when stdin does."""


class Controller:
    """A process with a guard."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    @classmethod
    def start(
        cls,
        place: Place,
        *,
        lease_s: float = 4.0,
        patience_s: float = 60.0,
        restore_to: str = "",
        pause_s: float = 0.0,
        before: str = "",
    ) -> Controller:
        """Start one; `before` runs in it before the guard is opened."""
        told = {
            "gpu": str(place.gpu),
            "uuid": GPU,
            "journal": str(place.journal),
            "folder": str(place.folder),
            "lease_s": lease_s,
            "patience_s": patience_s,
            "restore_to": restore_to,
            "pause_s": pause_s,
            "before": before,
        }
        command = [sys.executable, "-W", "error", "-c", CONTROLLER, json.dumps(told)]
        pipe = subprocess.PIPE
        controller = cls(subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=pipe))
        said = controller.says()
        assert said == "opened", controller.end()
        return controller

    @property
    def pid(self) -> int:
        return self.process.pid

    def says(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self, word: str, code: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{word} {code}\n")
        self.process.stdin.flush()

    def eval(self, code: str) -> str:
        self.tell("eval", code)
        return self.says()

    def exec(self, code: str) -> None:
        self.tell("exec", code)
        assert self.says() == "done"

    def lock(self, pair: ClockPair = PAIR) -> None:
        self.exec(f"guard.lock(ClockPair({pair.sm_mhz}, {pair.mem_mhz}))")

    def watchdog(self) -> int:
        return int(self.eval("guard.watchdog_pid or 0"))

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def end(self) -> tuple[int, str]:
        """Wait for it; return its exit code as a shell has it, and its stderr."""
        _, messages = self.process.communicate(timeout=30)
        code = self.process.returncode
        return (128 - code if code < 0 else code), messages
