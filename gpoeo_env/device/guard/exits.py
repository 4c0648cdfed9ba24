"""Signals that end a program: clocks are given back first, then whoever handled the signal before goes on.

    SIGINT    Python's own handler raises KeyboardInterrupt: 130 in a shell
    SIGTERM   where nobody handled it, SystemExit(143)
    SIGHUP    where nobody handled it, SystemExit(129); left alone under nohup, which ignores it

Two rules make this safe. While clocks are being changed or given back, a signal waits: it can neither interrupt
a change half-way nor be answered twice. And only the process that opened the guard answers; forked children, which
inherit handlers, pass a signal on.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["ExitSignals"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ExitSignals:
    """The handlers of one guard."""

    def __init__(self, on_exit: Callable[[], None]) -> None:
        """Take what to do before the program ends. It must not raise, and may be called again."""
        self._on_exit = on_exit
        self._previous: dict[signal.Signals, Callable[[int, FrameType | None], object] | int] = {}
        self._pending: list[tuple[int, FrameType | None]] = []
        self._holding = 0
        self._pid = os.getpid()

    def install(self) -> None:
        """Handle the signals, in the main thread; elsewhere Python cannot, and the watchdog has to do."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in _SIGNALS:
            previous = signal.getsignal(number)
            if previous is not None and previous is not signal.SIG_IGN:  # None: set by C code, which cannot be chained
                self._previous[number] = previous
                signal.signal(number, self._handle)

    def uninstall(self) -> None:
        """Put the previous handlers back, except where somebody has put another one on top of ours."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number, previous in self._previous.items():
            if signal.getsignal(number) == self._handle:
                signal.signal(number, previous)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let signals wait until the block is left."""
        if threading.current_thread() is not threading.main_thread():  # handlers run in the main thread alone
            yield
            return
        self._holding += 1
        try:
            yield
        finally:
            self._holding -= 1
            self._answer()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._pending.append((number, frame))
        self._answer()

    def _answer(self) -> None:
        while self._pending and not self._holding:
            self._holding += 1
            try:
                if os.getpid() == self._pid:
                    self._on_exit()
            finally:
                self._holding -= 1
            number, frame = self._pending.pop(0)
            self._pass_on(number, frame)

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        previous = self._previous[signal.Signals(number)]
        if callable(previous):
            previous(number, frame)
        else:
            raise SystemExit(128 + number)
