"""Journals of controllers that did not give their clocks back."""

from __future__ import annotations

from collections.abc import Iterator

from gpoeo_env.device.guard.controller_lock import holder_of
from gpoeo_env.device.guard.folder import Folder
from gpoeo_env.device.guard.processes import find_process
from gpoeo_env.device.guard.stale import read_stale, with_journals
from gpoeo_env.errors import DeviceError
from gpoeo_env.runner.doctor.findings import Finding, Level

__all__ = ["stale_journals"]


def stale_journals(folder: Folder) -> Iterator[Finding]:
    """Find the GPUs whose clocks may still be locked although nobody controls them."""
    for gpu_uuid in with_journals(folder):
        holder = holder_of(folder, gpu_uuid)
        if holder is not None and find_process(holder) is not None:
            continue  # its controller lives
        stale = read_stale(folder, gpu_uuid)
        if stale is None:
            continue  # it was given back a moment ago
        if stale.is_of_another_boot:
            what = "a journal from before the last boot, which has unlocked the clocks"
            yield Finding(gpu_uuid, Level.NOTE, what, "gpoeo restore")
            continue
        who = "an unknown process" if stale.journal is None else str(stale.journal.owner)
        what = f"clocks may still be locked: a journal of {who} in {folder.path}, which has ended"
        yield Finding(gpu_uuid, Level.PROBLEM, what, "gpoeo restore", DeviceError.exit_code)
