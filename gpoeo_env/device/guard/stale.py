"""Journals that nobody minds any more: found, read with care, and acted on.

Whoever can write into the shared folder can write a journal, so what a journal says is believed only as far as its
author could have done it himself:

* a journal of root or of ourselves names the actuator to build and the clocks to restore;
* root does not run what another user's journal names: it resets that GPU through the driver, to the default;
* nobody but root restores another user's journal.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass

from gpoeo_env.device.guard.actuator import DRIVER_FACTORY, Actuator, ActuatorDescription, ClockRange, rebuild
from gpoeo_env.device.guard.folder import Folder
from gpoeo_env.device.guard.giving_back import GivenBack, give_back
from gpoeo_env.device.guard.journal import SUFFIX, Journal, journal_name
from gpoeo_env.device.guard.processes import user_name
from gpoeo_env.errors import ArtefactError, DeviceError

__all__ = ["StaleJournal", "clear", "clear_before_use", "read_stale", "with_journals"]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StaleJournal:
    """A journal, as far as it can be used.

    Attributes:
        gpu_uuid: from the file's name.
        journal: what it says; None where it cannot be read, or where a stranger wrote it.
        problem: why there is none.
    """

    gpu_uuid: str
    journal: Journal | None
    problem: str | None

    @property
    def is_of_another_boot(self) -> bool:
        """Whether the machine has booted since, which has unlocked the clocks."""
        return self.journal is not None and not self.journal.is_of_this_boot

    @property
    def restore_to(self) -> ClockRange | None:
        """SM clocks to lock; None = the driver's default."""
        return None if self.journal is None else self.journal.restore_to

    @property
    def description(self) -> ActuatorDescription | None:
        """The actuator to build; None = one that resets through the driver."""
        return None if self.journal is None else self.journal.description


def with_journals(folder: Folder) -> list[str]:
    """Return the UUIDs of the GPUs that have a journal, sorted."""
    return folder.names(SUFFIX)


def read_stale(folder: Folder, gpu_uuid: str) -> StaleJournal | None:
    """Read a journal whose controller is gone; None where there is none.

    Raises:
        ArtefactError: the file could have been written by anybody.
        DeviceError: it belongs to another user, and we are not root.
    """
    stored = folder.read(journal_name(gpu_uuid))
    if stored is None:
        return None
    if os.geteuid() not in {0, stored.owner_uid}:
        raise DeviceError(
            f"the clocks of {gpu_uuid} are left locked by {user_name(stored.owner_uid)}, and only they and root can "
            "give them back; run `sudo gpoeo restore`"
        )
    if not stored.is_trusted:
        return StaleJournal(gpu_uuid, None, f"its journal is of {user_name(stored.owner_uid)} and was not followed")
    try:
        journal = Journal.from_text(stored.text)
    except ArtefactError as error:
        return StaleJournal(gpu_uuid, None, f"its journal cannot be used: {error}")
    if journal.gpu_uuid != gpu_uuid:
        return StaleJournal(gpu_uuid, None, f"its journal is about {journal.gpu_uuid}")
    return StaleJournal(gpu_uuid, journal, None)


def clear(folder: Folder, stale: StaleJournal, driver_factory: str = DRIVER_FACTORY) -> GivenBack:
    """Give back what a journal says, and remove it. Call it with the GPU's lock held.

    Args:
        folder: where it lies.
        stale: the journal.
        driver_factory: builds the actuator where the journal's own cannot be had.

    Raises:
        GpoeoError: the actuator cannot be built; the journal stays.
    """
    if stale.is_of_another_boot:
        folder.remove(journal_name(stale.gpu_uuid))
        return GivenBack((), ())
    actuator = rebuild(stale.description or ActuatorDescription(driver_factory), stale.gpu_uuid)
    return _clear_with(actuator, folder, stale)


def clear_before_use(folder: Folder, actuator: Actuator) -> None:
    """Give back what an earlier controller of this GPU left locked, by the means of the next one.

    Raises:
        DeviceError: something cannot be given back, or as `read_stale`; the journal stays.
        ArtefactError: as `read_stale`.
    """
    stale = read_stale(folder, actuator.gpu_uuid)
    if stale is None:
        return
    if stale.is_of_another_boot:
        folder.remove(journal_name(stale.gpu_uuid))
        _LOG.warning("the journal of %s was from before the last boot, which has unlocked its clocks", stale.gpu_uuid)
        return
    _LOG.warning("an earlier controller left clocks of %s locked; giving them back first", stale.gpu_uuid)
    given = _clear_with(actuator, folder, stale)
    if not given.is_complete:
        raise DeviceError(f"{stale.gpu_uuid} cannot be used before it is restored: {'; '.join(given.failed)}")


def _clear_with(actuator: Actuator, folder: Folder, stale: StaleJournal) -> GivenBack:
    given = give_back(actuator, stale.restore_to)
    if given.is_complete:
        folder.remove(journal_name(stale.gpu_uuid))
    return given
