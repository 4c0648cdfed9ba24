"""The controller's end of the watchdog: starts it, proves that it is there, and replaces one that is not.

`Watch.confirm` is a round trip: an answer means that the watchdog lives and that the lease is renewed now. It is made
before clocks are set, and by a `Heartbeat` in between.
"""

from __future__ import annotations

import logging
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gpoeo_env.device.guard import watchdog_start
from gpoeo_env.device.guard.lease import BEAT, FAILED, KEPT, LARGEST_PACKET, QUIT, READY, WatchOrder
from gpoeo_env.errors import DeviceError

__all__ = ["Heartbeat", "Watch", "import_path"]

_LOG = logging.getLogger(__name__)
_START_S = 10.0
"""How long a start may take: a tenth of a second, and seconds where Python comes from a slow file system."""
_ANSWER_S = 2.0
"""How long an answer may take; giving clocks back, which it may be busy with, takes milliseconds."""


class Watch:
    """One watchdog at a time, for one order. Threads may share it; forked children may not."""

    def __init__(self, order: WatchOrder, lock_descriptor: int) -> None:
        """Take what the watchdog is to be told, and the lock that it shares with us. Nothing is started yet."""
        self._order = order
        self._lock_descriptor = lock_descriptor
        self._mutex = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._link: socket.socket | None = None
        self._is_dismissed = False

    @property
    def pid(self) -> int | None:
        """Process id of the watchdog; None where none has been started."""
        return None if self._process is None else self._process.pid

    def confirm(self) -> bool:
        """Make sure that a watchdog watches, and renew the lease.

        Returns:
            Whether the lease had been kept; False = the clocks have been given back since the last call.

        Raises:
            DeviceError: no watchdog can be started.
        """
        with self._mutex:
            if self._is_dismissed:
                return True
            if self._process is None:
                self._start()
                return True
            answer = self._exchange()
            if answer is not None:
                return answer == KEPT
            _LOG.warning("the watchdog of %s does not answer (killed?); starting another", self._order.gpu_uuid)
            self._discard()
            self._start()
            return True

    def dismiss(self) -> None:
        """End the watchdog: there is nothing left to give back. Calling it twice is fine."""
        with self._mutex:
            self._is_dismissed = True
            if self._link is not None:
                with suppress(OSError):
                    self._link.send(QUIT)
            if self._process is not None:
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(_ANSWER_S)
            self._discard()

    def forget(self) -> None:
        """In a forked child: close what belongs to the parent, and touch nothing else."""
        if self._link is not None:
            self._link.close()

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", watchdog_start.__file__, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,  # stderr stays ours: its messages are for whoever watches the controller
                    pass_fds=(theirs.fileno(), self._lock_descriptor),
                    start_new_session=True,
                    cwd="/",
                )
            self._link = ours
            ours.send(self._order.to_packet())
            answer = self._receive(_START_S) or FAILED + b"it ended or hangs"
        except OSError as error:
            self._link = ours
            answer = FAILED + str(error).encode()
        if answer != READY:
            self._discard()
            reason = answer.removeprefix(FAILED).decode("utf-8", "replace")
            raise DeviceError(f"no watchdog can be started for {self._order.gpu_uuid}, so no clock is set: {reason}")

    def _exchange(self) -> bytes | None:
        """Send a heartbeat and return the answer; None where there is none."""
        if self._link is None or self._process is None or self._process.poll() is not None:
            return None
        try:
            self._link.send(BEAT)
            return self._receive(_ANSWER_S)
        except OSError:
            return None

    def _receive(self, seconds: float) -> bytes | None:
        if self._link is None or not select.select([self._link], [], [], seconds)[0]:
            return None
        return self._link.recv(LARGEST_PACKET) or None

    def _discard(self) -> None:
        """End what there is, whatever state it is in."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._link is not None:
            self._link.close()
            self._link = None


class Heartbeat:
    """A thread that calls a function again and again, until it is stopped."""

    def __init__(self, beat: Callable[[], None], every_s: float) -> None:
        """Take the function and the pause between its calls, in seconds."""
        self._beat = beat
        self._every_s = every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gpoeo-heartbeat", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after the call in progress; calling it twice, or before the start, is fine."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=2 * _ANSWER_S)

    def _run(self) -> None:
        while not self._stop.wait(self._every_s):
            self._beat()


def import_path() -> tuple[str, ...]:
    """Return where this process finds modules, for another one with another current folder."""
    return tuple(str(Path(entry or os.curdir).resolve()) for entry in sys.path)
