"""The training program beside a live run, if there is one: started late, told of signals, waited for in the end."""

from __future__ import annotations

from collections.abc import Sequence

from gpoeo_env.runner.command import Command
from gpoeo_env.runner.ending import Ended, is_from_terminal

__all__ = ["Program"]


class Program:
    """A program that runs, has not been started yet, or was never asked for.

    with ended_by_signals(program.pass_on):
        program.start()
    """

    def __init__(self, argv: Sequence[str]) -> None:
        """Take program and arguments; empty = there is none."""
        self._argv = tuple(argv)
        self.running: Command | None = None

    def start(self) -> None:
        """Start it, if there is one.

        Raises:
            UsageError: there is no such program, or it cannot be run.
        """
        if self._argv:
            self.running = Command.start(self._argv)

    def pass_on(self, number: int) -> None:
        """Send it a signal, unless the terminal has sent it there, too."""
        if self.running is not None and not is_from_terminal(number):
            self.running.send(number)

    def has_ended(self) -> bool:
        """Tell whether it was started and has ended."""
        return self.running is not None and self.running.poll() is not None

    def exit_code(self, otherwise: int) -> int:
        """Wait for its end and return its exit code as a shell has it; another one where none was started.

        To be called within `ended_by_signals`, whose signals are passed on: the program decides when it ends.
        """
        if self.running is None:
            return otherwise
        while True:
            try:
                return self.running.wait()
            except Ended:
                continue
