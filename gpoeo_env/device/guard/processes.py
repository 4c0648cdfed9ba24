"""Which process is that? Read from /proc: a process by its id and start time, because ids are used again."""

from __future__ import annotations

import os
import pwd
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Process", "boot_id", "find_process", "this_process", "user_name"]

_STARTED_FIELD = 19
"""Field 22 of /proc/PID/stat (proc(5)), counted from what follows the name: ticks from boot to the start."""


@dataclass(frozen=True, slots=True)
class Process:
    """A living process.

    Attributes:
        pid: its id.
        started: clock ticks from boot to its start; with the id, it names one process of this boot.
        user: who runs it.
        command: its name alone; arguments can hold secrets.
    """

    pid: int
    started: int
    user: str
    command: str

    def __str__(self) -> str:
        """Return a description for messages."""
        return f"process {self.pid} ({self.command}, of user {self.user})"


def find_process(pid: int) -> Process | None:
    """Return the process with that id; None where there is none, or it has ended and waits for its parent."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        uid = Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return None
    command, _, rest = stat.partition("(")[2].rpartition(")")
    fields = rest.split()
    if fields[0] in {"Z", "X"}:
        return None
    return Process(pid, int(fields[_STARTED_FIELD]), user_name(uid), command)


def boot_id() -> str:
    """Return the kernel's name for this boot: it differs after the next one. "unknown" without /proc."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return "unknown"


def user_name(uid: int) -> str:
    """Return a user's name, or the number where the system knows none (a user of another container)."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def this_process() -> Process:
    """Return the process that asks."""
    found = find_process(os.getpid())
    return found or Process(os.getpid(), 0, user_name(os.geteuid()), "unknown")
