"""Signals that end a live run: the first one ends the control, all are passed on.

Installed before a GPU is opened, it is what the guard's handlers hand over to, once the clocks are given back.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

__all__ = ["Ended", "ended_by_signals", "is_from_terminal"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(BaseException):
    """A signal ended the run; like KeyboardInterrupt, it is no error that somebody might handle by going on."""

    def __init__(self, number: int) -> None:
        """Take the signal's number."""
        super().__init__(number)
        self.number = number


@contextmanager
def ended_by_signals(on_signal: Callable[[int], None]) -> Iterator[None]:
    """Let the first of SIGINT, SIGTERM and SIGHUP raise `Ended` in the block; later ones disturb nothing any more.

    A signal that is ignored stays so: under nohup, SIGHUP is. To be called in the main thread.

    Args:
        on_signal: hears of every signal, the first one included.
    """
    has_ended = False

    def handle(number: int, _frame: FrameType | None) -> None:
        nonlocal has_ended
        on_signal(number)
        if not has_ended:
            has_ended = True
            raise Ended(number)

    previous = {number: signal.getsignal(number) for number in _SIGNALS}
    handled = {number: old for number, old in previous.items() if old not in (None, signal.SIG_IGN)}
    try:
        for number in handled:
            signal.signal(number, handle)
        yield
    finally:
        for number, old in handled.items():
            signal.signal(number, old)


def is_from_terminal(number: int) -> bool:
    """Tell whether a terminal has sent a signal, as it does with Ctrl-C: to the whole foreground group at once.

    The sender of a signal cannot be asked for; being in the foreground of a terminal is what can be known.
    """
    if number != signal.SIGINT:
        return False
    try:
        with Path("/dev/tty").open("rb", buffering=0) as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False
