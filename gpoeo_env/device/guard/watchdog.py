"""The watchdog: a small process that gives clocks back when its controller no longer can.

It is a child of the controller in a session of its own, so neither Ctrl-C nor a closed terminal reaches it, and it
ignores the signals that ask a program to end: the controller gets them, too, and the watchdog ends after it. The
actuator is built at the start, so that nothing has to be loaded, and nothing can be missing, when it is needed.

    watching --heartbeats stay away--> watching, clocks given back --a heartbeat--> watching
    watching --the controller ends--> clocks given back, journal removed; ends
    watching --QUIT--> ends
"""

from __future__ import annotations

import logging
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path

from gpoeo_env.device.guard.actuator import Actuator, rebuild
from gpoeo_env.device.guard.folder import Folder
from gpoeo_env.device.guard.giving_back import give_back
from gpoeo_env.device.guard.journal import SUFFIX, journal_name
from gpoeo_env.device.guard.lease import BEAT, FAILED, KEPT, LARGEST_PACKET, LOST, QUIT, READY, Lease, WatchOrder
from gpoeo_env.device.guard.system_log import SystemLog
from gpoeo_env.errors import GpoeoError

__all__ = ["Watchdog", "main"]

_LOG = logging.getLogger(__name__)
_TICK_S = 0.2
"""How often to see whether the controller is still our parent. Usually its closing socket wakes us before."""
_ATTEMPTS_AFTER_S = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


def main(descriptor: int) -> int:
    """Watch the process at the other end of a socket; return an exit code, 0 where no clock is left locked."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    logging.basicConfig(format="gpoeo watchdog: %(message)s", level=logging.INFO)
    logging.getLogger().addHandler(SystemLog())
    link = socket.socket(fileno=descriptor)
    packet = link.recv(LARGEST_PACKET)
    if not packet:  # killed before it gave an order, and so before it set a clock
        return 0
    order = WatchOrder.from_packet(packet)
    sys.path[:] = order.import_path
    try:
        watchdog = Watchdog(order, link, rebuild(order.description, order.gpu_uuid))
    except (GpoeoError, OSError) as error:
        _answer(link, FAILED + str(error).encode())
        return 1
    _answer(link, READY)
    return watchdog.run()


def _answer(link: socket.socket, packet: bytes) -> None:
    """Answer the controller; if it has ended since, the next look at our parent will tell."""
    with suppress(OSError):
        link.send(packet)


class Watchdog:
    """Watches one controller of one GPU."""

    def __init__(self, order: WatchOrder, link: socket.socket, actuator: Actuator) -> None:
        """Take what to watch, the socket to its controller, and what resets the clocks."""
        self._order = order
        self._link: socket.socket | None = link
        self._actuator = actuator
        self._folder = Folder.at(Path(order.folder))
        self._lease = Lease(order.lease_s, time.monotonic())
        self._is_lost = False

    def run(self) -> int:
        """Watch until the controller says that it is done, or ends without saying so."""
        while True:
            packet = self._next_packet()
            if packet == QUIT:
                return 0
            if packet == BEAT:
                self._renew()
            if os.getppid() != self._order.controller:  # it has ended, and the system has adopted us
                return self._clean_up()
            if self._lease.has_run_out(time.monotonic()) and self._is_locked():
                self._take_back()

    def _next_packet(self) -> bytes | None:
        """Return what the controller says; None where it says nothing for a tick."""
        if self._link is None:
            time.sleep(_TICK_S / 10)
            return None
        if not select.select([self._link], [], [], _TICK_S)[0]:
            return None
        packet = b""
        with suppress(ConnectionError):
            packet = self._link.recv(LARGEST_PACKET)
        if not packet:  # it is ending, or has closed what it should not have: the parent's id will tell
            self._link.close()
            self._link = None
        return packet

    def _renew(self) -> None:
        self._lease.renew(time.monotonic())
        answer = LOST if self._is_lost else KEPT
        self._is_lost = False
        if self._link is not None:
            _answer(self._link, answer)

    def _take_back(self) -> None:
        """Give clocks back under a living controller. The journal stays: it may set clocks again at any moment."""
        _LOG.warning(
            "process %s has not been heard of for %g s (suspended or hanging?); giving the clocks of %s back",
            self._order.controller,
            self._order.lease_s,
            self._order.gpu_uuid,
        )
        self._is_lost = True
        if give_back(self._actuator, self._order.restore_to).is_complete:
            self._lease.end()
        else:
            self._lease.renew(time.monotonic())  # try again after as long

    def _clean_up(self) -> int:
        """Give clocks back after the controller's end, as often as it takes."""
        for pause_s in _ATTEMPTS_AFTER_S:
            time.sleep(pause_s)
            if not self._is_locked():
                return 0
            given = give_back(self._actuator, self._order.restore_to)
            if given.is_complete:
                self._folder.remove(journal_name(self._order.gpu_uuid))
                _LOG.warning(
                    "process %s has ended without giving the clocks of %s back; done in its place (%s)",
                    self._order.controller,
                    self._order.gpu_uuid,
                    ", ".join(given.done),
                )
                return 0
        _LOG.error("the clocks of %s are still locked; run `gpoeo restore`", self._order.gpu_uuid)
        return 1

    def _is_locked(self) -> bool:
        return self._order.gpu_uuid in self._folder.names(SUFFIX)
