"""Restoring on request: what ``gpoeo restore`` does, for every GPU that has a journal."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

from gpoeo_env.device.guard.actuator import DRIVER_FACTORY
from gpoeo_env.device.guard.controller_lock import ControllerLock, holder_of
from gpoeo_env.device.guard.folder import Folder
from gpoeo_env.device.guard.processes import find_process
from gpoeo_env.device.guard.stale import StaleJournal, clear, read_stale, with_journals
from gpoeo_env.errors import DeviceError, GpoeoError

__all__ = ["Outcome", "Restored", "end_controller", "restore"]

PATIENCE_S = 10.0
WAIT_FOR_WATCHDOG_S = 10.0
_POLL_S = 0.05


class Outcome(Enum):
    """What became of a journal."""

    RESTORED = "restored"
    """The clocks have been given back, the journal is gone."""
    OUTDATED = "outdated"
    """It was from before the last boot, which has unlocked the clocks; the journal is gone."""
    IN_USE = "in use"
    """Its controller lives; nothing was touched."""
    FAILED = "failed"
    """Something could not be restored, or the journal is not safe to use; it stays."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What was done for one GPU.

    Attributes:
        gpu_uuid: the GPU.
        outcome: what became of its journal.
        detail: what was restored, who uses it, or why it failed.
    """

    gpu_uuid: str
    outcome: Outcome
    detail: str

    @property
    def is_done(self) -> bool:
        """Whether no clock is left locked."""
        return self.outcome in {Outcome.RESTORED, Outcome.OUTDATED}


def restore(
    folder: Folder,
    gpu_uuids: Iterable[str] | None = None,
    *,
    force: bool = False,
    patience_s: float = PATIENCE_S,
    driver_factory: str = DRIVER_FACTORY,
) -> tuple[Restored, ...]:
    """Give back what journals say, and remove them; one GPU's failure does not keep the others from it.

    Args:
        folder: where journals lie.
        gpu_uuids: some GPUs; None = all that have a journal. One without a journal needs nothing and is left out.
        force: end living controllers first, see `end_controller`.
        patience_s: how long they have for that before they are killed.
        driver_factory: builds the actuator where the journal's own cannot be had.
    """
    journals = with_journals(folder)
    wanted = journals if gpu_uuids is None else [one for one in gpu_uuids if one in journals]
    found = []
    for gpu_uuid in wanted:
        try:
            if force:
                end_controller(folder, gpu_uuid, patience_s)
            found.append(_restore_one(folder, gpu_uuid, driver_factory))
        except GpoeoError as error:
            found.append(Restored(gpu_uuid, Outcome.FAILED, str(error)))
    return tuple(restored for restored in found if restored is not None)


def end_controller(folder: Folder, gpu_uuid: str, patience_s: float) -> None:
    """End the process that controls a GPU: ask it with SIGTERM, and after `patience_s` kill it.

    It gives the clocks back itself, or else its watchdog does. Which process that is, the kernel says and not the
    journal, so a forged journal ends nobody. Nothing happens where the GPU is free.

    Raises:
        DeviceError: the process belongs to another user.
    """
    for number, seconds in ((signal.SIGTERM, patience_s), (signal.SIGKILL, WAIT_FOR_WATCHDOG_S)):
        pid = holder_of(folder, gpu_uuid)
        if pid is None or find_process(pid) is None:
            return
        try:
            _signal(folder, gpu_uuid, pid, number)
        except PermissionError as error:
            raise DeviceError(f"{find_process(pid) or pid} cannot be ended by you; use sudo") from error
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s and find_process(pid) is not None:
            time.sleep(_POLL_S)


def _signal(folder: Folder, gpu_uuid: str, pid: int, number: signal.Signals) -> None:
    """Signal a process if it still holds the lock once we hold on to it: its id may have been used again."""
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        try:
            if holder_of(folder, gpu_uuid) == pid:
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)


def _restore_one(folder: Folder, gpu_uuid: str, driver_factory: str) -> Restored | None:
    try:
        lock = ControllerLock.take(folder, gpu_uuid, wait_s=WAIT_FOR_WATCHDOG_S)
    except DeviceError as error:
        return Restored(gpu_uuid, Outcome.IN_USE, str(error))
    try:
        stale = read_stale(folder, gpu_uuid)
        return None if stale is None else _cleared(folder, stale, driver_factory)
    finally:
        lock.release()


def _cleared(folder: Folder, stale: StaleJournal, driver_factory: str) -> Restored:
    if stale.is_of_another_boot:
        clear(folder, stale)
        detail = "the machine has booted since the journal was written, which has unlocked the clocks"
        return Restored(stale.gpu_uuid, Outcome.OUTDATED, detail)
    given = clear(folder, stale, driver_factory)
    if not given.is_complete:
        return Restored(stale.gpu_uuid, Outcome.FAILED, "; ".join(given.failed))
    owner = stale.problem if stale.journal is None else f"left by {stale.journal.owner}, which has ended"
    return Restored(stale.gpu_uuid, Outcome.RESTORED, f"{', '.join(given.done)} ({owner})")
