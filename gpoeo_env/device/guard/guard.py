"""The guard around an actuator: a watchdog first, then the journal, then the clocks; and back again in the end."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Self

from gpoeo_env.clocks import ClockPair
from gpoeo_env.device.guard.actuator import Actuator, ClockRange, LocksRanges, rebuild, undo_command
from gpoeo_env.device.guard.controller_lock import ControllerLock
from gpoeo_env.device.guard.exits import ExitSignals
from gpoeo_env.device.guard.folder import Folder, check_gpu_uuid
from gpoeo_env.device.guard.giving_back import GivenBack, give_back
from gpoeo_env.device.guard.journal import Journal, journal_name
from gpoeo_env.device.guard.lease import WatchOrder
from gpoeo_env.device.guard.processes import this_process
from gpoeo_env.device.guard.stale import clear_before_use
from gpoeo_env.device.guard.watch import Heartbeat, Watch, import_path
from gpoeo_env.errors import DeviceError, GpoeoError, UsageError

__all__ = ["Guard"]

_LOG = logging.getLogger(__name__)
LEASE_S = 4.0
"""A suspended controller's clocks are given back after that; less would mistake a busy machine for it."""
BEAT_S = 0.5
PATIENCE_S = 60.0
WAIT_FOR_WATCHDOG_S = 10.0


class Guard:
    """Sets clocks so that they are always given back. Opened by the process that controls a GPU; not for its forks."""

    def __init__(
        self,
        actuator: Actuator,
        folder: Folder,
        lock: ControllerLock,
        watch: Watch,
        *,
        restore_to: ClockRange | None,
        patience_s: float,
        tell: Callable[[str], None],
    ) -> None:
        """Take the parts; see `open`."""
        self._actuator = actuator
        self._folder = folder
        self._lock = lock
        self._watch = watch
        self._restore_to = restore_to
        self._patience_s = patience_s
        self._tell = tell
        self._owner = this_process()
        self._mutex = threading.RLock()
        self._exits = ExitSignals(self._on_signal)
        self._heartbeat = Heartbeat(self._beat, BEAT_S)
        self._attended_s = time.monotonic()
        self._has_journal = False
        self._has_told = False
        self._is_lost = False
        self._is_closed = False

    @classmethod
    def open(
        cls,
        actuator: Actuator,
        folder: Folder | None = None,
        *,
        restore_to: ClockRange | None = None,
        lease_s: float = LEASE_S,
        patience_s: float = PATIENCE_S,
        tell: Callable[[str], None] = _LOG.warning,
    ) -> Self:
        """Become the one controller of a GPU. What an earlier one left locked is given back first.

        Args:
            actuator: sets and resets its clocks.
            folder: of journals and locks, which the guard closes; None = the machine's own.
            restore_to: SM clocks to restore in the end, because the driver cannot be asked what was locked before;
                None = the driver's default.
            lease_s: how long this process may be suspended before the watchdog gives the clocks back.
            patience_s: how long the control loop may go without a call of this guard before it counts as hanging.
            tell: hears the one line that says how to undo by hand.

        Raises:
            DeviceError: another process controls the GPU, or what an earlier one left cannot be given back.
            UsageError: the actuator cannot restore to a range.
            GpoeoError: the actuator cannot be built again from its description.
            ArtefactError: the folder or a journal in it is not safe to use.
        """
        gpu_uuid = check_gpu_uuid(actuator.gpu_uuid)
        if restore_to is not None and not isinstance(actuator, LocksRanges):
            raise UsageError(f"actuator {actuator.name} cannot restore to {restore_to} MHz; leave restore_to out")
        rebuild(actuator.description, gpu_uuid)
        opened = folder or Folder.shared()
        with ExitStack() as undo:
            undo.callback(opened.close)
            lock = ControllerLock.take(opened, gpu_uuid, wait_s=WAIT_FOR_WATCHDOG_S)
            undo.callback(lock.release)
            clear_before_use(opened, actuator)
            undo.pop_all()
        order = WatchOrder(
            gpu_uuid, actuator.description, restore_to, str(opened.path.resolve()), os.getpid(), lease_s, import_path()
        )
        watch = Watch(order, lock.descriptor)
        guard = cls(actuator, opened, lock, watch, restore_to=restore_to, patience_s=patience_s, tell=tell)
        guard._arm()
        return guard

    @property
    def gpu_uuid(self) -> str:
        """The GPU."""
        return self._actuator.gpu_uuid

    @property
    def watchdog_pid(self) -> int | None:
        """Process id of the watchdog; None before clocks are first set."""
        return self._watch.pid

    def lock(self, pair: ClockPair) -> None:
        """Lock a pair: the lease first, then the journal, then the clocks.

        Raises:
            DeviceError: the guard is closed, no watchdog can be started, or the actuator fails.
            ArtefactError: the journal cannot be written. In both cases no clock has been set, unless the actuator
                failed half-way; that is given back in the end.
        """
        with self._changing():
            self._prepare(str(pair))
            self._actuator.lock(pair)

    def release(self) -> None:
        """Give all clocks to the driver. With something to restore in the end, the journal stays.

        Raises:
            DeviceError: the guard is closed, or a clock could not be released; the journal stays.
        """
        with self._changing():
            if self._restore_to is not None:
                self._prepare(None)
            given = give_back(self._actuator)
            if not given.is_complete:
                raise DeviceError(self._failure(given))
            if self._restore_to is None:
                self._remove_journal()
            self._is_lost = False

    def renew(self) -> bool:
        """Say that the control loop is alive; costs nothing, and belongs into every tick of it.

        Returns:
            Whether clocks are as they were set. False = the lease was lost (this process was suspended, or the loop
            hung) and they were given back; `lock` sets them again.
        """
        self._attended_s = time.monotonic()
        return not self._is_lost

    def close(self) -> None:
        """Give everything back and let others control the GPU; calling it twice is fine, forked children do nothing.

        Raises:
            DeviceError: something could not be restored; the journal stays, and the watchdog goes on trying.
        """
        if os.getpid() != self._owner.pid:
            return
        with self._exits.held():
            given = self._finish()
            self._exits.uninstall()
            atexit.unregister(self._at_exit)
        if given is not None and not given.is_complete:
            raise DeviceError(self._failure(given))

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def _arm(self) -> None:
        """Make sure that every ordinary end of this process comes by."""
        self._exits.install()
        atexit.register(self._at_exit)
        os.register_at_fork(after_in_child=_call_if_alive(weakref.WeakMethod(self._forget_in_child)))

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Let nothing come between the steps of a change."""
        if os.getpid() != self._owner.pid:
            raise DeviceError(f"the clocks of {self.gpu_uuid} belong to process {self._owner.pid}, which opened them")
        with self._exits.held(), self._mutex:
            if self._is_closed:
                raise DeviceError(f"the clocks of {self.gpu_uuid} have been given back; open the device again")
            self._attended_s = time.monotonic()
            yield

    def _prepare(self, pair: str | None) -> None:
        """Do what must come before a change: a watchdog first, so that whoever finds a journal has been watched."""
        self._is_lost = False  # before the lease is renewed: the heartbeat may find it lost again at once
        self._watch.confirm()
        journal = Journal.of(self._actuator, self._owner, pair=pair, restore_to=self._restore_to)
        self._has_journal = True
        self._folder.write(journal_name(self.gpu_uuid), journal.to_text())
        if not self._has_told:
            self._has_told = True
            self._heartbeat.start()
            self._tell(self._first_words())

    def _beat(self) -> None:
        """Renew the lease for a control loop that lives; called by the heartbeat's thread."""
        if time.monotonic() - self._attended_s > self._patience_s:
            return
        try:
            if not self._watch.confirm():
                self._is_lost = True
                _LOG.warning("the lease on the clocks of %s had run out, and they were given back", self.gpu_uuid)
        except DeviceError as error:
            _LOG.error("%s; the journal stays: `gpoeo restore` gives the clocks back should this process die", error)

    def _finish(self) -> GivenBack | None:
        """Give back, once. None = it has been done before."""
        with self._mutex:
            if self._is_closed:
                return None
            self._is_closed = True
            given = give_back(self._actuator, self._restore_to) if self._has_journal else GivenBack((), ())
            self._heartbeat.stop()
            if given.is_complete:
                self._remove_journal()
                self._watch.dismiss()
            self._lock.release()
            self._folder.close()
            return given

    def _on_signal(self) -> None:
        try:
            given = self._finish()
        except GpoeoError as error:
            _LOG.error("%s", error)
            return
        if given is not None and not given.is_complete:
            _LOG.error("%s", self._failure(given))

    def _at_exit(self) -> None:
        try:
            self.close()
        except GpoeoError as error:
            _LOG.error("%s", error)

    def _forget_in_child(self) -> None:
        """After a fork: a child that lives longer must not keep the GPU from others."""
        self._lock.release()
        self._watch.forget()

    def _remove_journal(self) -> None:
        if self._has_journal:
            self._folder.remove(journal_name(self.gpu_uuid))
            self._has_journal = False

    def _first_words(self) -> str:
        default = f"SM clocks of {self._restore_to} MHz" if self._restore_to else "the driver's default"
        return (
            f"locking clocks of {self.gpu_uuid}; {default} will be restored in the end (a lock that was set before "
            "cannot be read back: state it with --restore-to LOW,HIGH). By hand: `gpoeo restore`, or "
            f"`{undo_command(self.gpu_uuid, self._actuator.domains, self._restore_to)}`"
        )

    def _failure(self, given: GivenBack) -> str:
        undo = undo_command(self.gpu_uuid, self._actuator.domains, self._restore_to)
        return f"{self.gpu_uuid} is not as it was: {'; '.join(given.failed)}; run `gpoeo restore`, or `{undo}`"


def _call_if_alive(method: weakref.WeakMethod[Callable[[], None]]) -> Callable[[], None]:
    """Return a function that keeps no guard alive: what is registered for forks stays so until the process ends."""

    def call() -> None:
        found = method()
        if found is not None:
            found()

    return call
