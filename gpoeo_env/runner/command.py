"""The training program that a live run starts, and ends with."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from gpoeo_env.errors import UsageError

__all__ = ["Command"]


class Command:
    """A program in this process's group, with its terminal and its standard streams; no shell in between.

    Its arguments can hold tokens: they are given to the program, and to nothing and nobody else.
    """

    def __init__(self, process: subprocess.Popen[bytes], name: str) -> None:
        """Take a process that runs; see `start`."""
        self._process = process
        self.name = name
        """The program without its folder and its arguments."""

    @classmethod
    def start(cls, argv: Sequence[str]) -> Self:
        """Start a program.

        Args:
            argv: program and arguments.

        Raises:
            UsageError: there is no such program, or it cannot be run.
        """
        name = Path(argv[0]).name
        try:
            return cls(subprocess.Popen(list(argv)), name)
        except OSError as error:
            raise UsageError(f"cannot start {name}: {error.strerror}; name a program that can be run") from None

    def poll(self) -> int | None:
        """Return the exit code as a shell has it; None while the program runs."""
        code = self._process.poll()
        return None if code is None else _as_a_shell(code)

    def send(self, number: int) -> None:
        """Send a signal; nothing happens where the program has ended."""
        self._process.send_signal(number)

    def wait(self, timeout_s: float | None = None) -> int:
        """Wait for its end and return the exit code as a shell has it: 128 + n where signal n ended it.

        Raises:
            TimeoutError: it still runs after that time.
        """
        try:
            return _as_a_shell(self._process.wait(timeout_s))
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{self.name} still runs after {timeout_s:g} s") from None


def _as_a_shell(code: int) -> int:
    return 128 - code if code < 0 else code
