"""One controller a GPU: a lock that the kernel drops when its last holder ends, however it ends.

The watchdog inherits the lock. So when a controller is killed, no other can begin before its clocks are given back.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

from gpoeo_env.device.guard.folder import Folder
from gpoeo_env.device.guard.processes import find_process
from gpoeo_env.errors import DeviceError

__all__ = ["ControllerLock", "holder_of"]

SUFFIX = ".lock"
_POLL_S = 0.05


class ControllerLock:
    """A held lock. Children that are forked share it, so they must close it."""

    def __init__(self, descriptor: int) -> None:
        """Take what `take` has locked."""
        self.descriptor = descriptor

    @classmethod
    def take(cls, folder: Folder, gpu_uuid: str, wait_s: float = 0.0) -> Self:
        """Lock a GPU for this process and for those that it passes the descriptor on to.

        Args:
            folder: where locks lie.
            gpu_uuid: the GPU.
            wait_s: how long to wait where the owner has ended and its watchdog is giving the clocks back.

        Raises:
            DeviceError: another process controls the GPU; the message names it.
        """
        descriptor = folder.open_for_lock(f"{gpu_uuid}{SUFFIX}")
        until_s = time.monotonic() + wait_s
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return cls(descriptor)
            pid = _holder(descriptor)
            if time.monotonic() >= until_s or (pid is not None and find_process(pid) is not None):
                os.close(descriptor)
                raise DeviceError(_refusal(gpu_uuid, pid))
            time.sleep(_POLL_S)

    def release(self) -> None:
        """Let others in, unless somebody else holds the descriptor, too; calling it twice is fine."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def holder_of(folder: Folder, gpu_uuid: str) -> int | None:
    """Return the process id that took a GPU's lock, as the kernel has it; None where it is free or hidden."""
    descriptor = folder.open_for_lock(f"{gpu_uuid}{SUFFIX}")
    try:
        return _holder(descriptor)
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> int | None:
    """Find the lock in /proc/locks (proc(5)): kind, mode, access, process, and device:inode, numbers of it hexadecimal.

    Overlay file systems show another device there than stat does, so a single lock on that inode is taken for it.
    """
    facts = os.fstat(descriptor)
    device = f"{os.major(facts.st_dev):02x}:{os.minor(facts.st_dev):02x}"
    found: list[tuple[bool, int]] = []
    with suppress(OSError):
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            fields = line.split()
            if fields[1] != "FLOCK":  # "->" marks one that waits
                continue
            on_device, _, inode = fields[5].rpartition(":")
            if int(inode) == facts.st_ino:
                found.append((on_device == device, int(fields[4])))
    matching = [pid for is_same_device, pid in found if is_same_device or len(found) == 1]
    return matching[0] if matching and matching[0] > 0 else None


def _refusal(gpu_uuid: str, pid: int | None) -> str:
    if pid is None:
        return f"{gpu_uuid} is controlled by a process that cannot be seen from here (another container?); end it first"
    owner = find_process(pid)
    if owner is None:
        return (
            f"{gpu_uuid} was controlled by process {pid}, which has ended, and its watchdog is still giving the clocks "
            "back; try again in a few seconds"
        )
    return f"{gpu_uuid} is controlled by {owner}; end that first, or choose another GPU"
