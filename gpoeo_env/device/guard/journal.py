"""The journal: what is locked on a GPU, by whom, and what to restore. Written before the first change.

One JSON file a GPU, ``GPU-....journal`` in the shared folder, readable by all users of the machine:

    {"version": 1, "gpu_uuid": "GPU-...", "actuator": "nvml", "factory": "module:function", "settings": {},
     "domains": ["sm", "memory"], "pair": "1200/5001", "restore_to": null,
     "pid": 4711, "pid_started": 123456, "user": "ann", "command": "gpoeo", "boot_id": "...", "created": "..."}

It is there exactly as long as clocks may be locked, so the name alone says that a GPU needs care.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from gpoeo_env.device.guard.actuator import Actuator, ActuatorDescription, ClockRange, Domain
from gpoeo_env.device.guard.processes import Process, boot_id
from gpoeo_env.errors import ArtefactError

__all__ = ["SUFFIX", "VERSION", "Journal", "journal_name"]

VERSION = 1
SUFFIX = ".journal"


def journal_name(gpu_uuid: str) -> str:
    """Return the file name of a GPU's journal."""
    return f"{gpu_uuid}{SUFFIX}"


@dataclass(frozen=True, slots=True)
class Journal:
    """What the file says.

    Attributes:
        gpu_uuid: the GPU.
        actuator: name of what set the clocks.
        description: how to build it again.
        domains: what may be locked, in the order of setting.
        pair: the pair that was about to be locked, ``SM/MEM`` in MHz; None = released, with something to restore.
        restore_to: SM clocks to lock instead of leaving them to the driver, as the operator stated.
        owner: the controller.
        boot_id: a reboot unlocks clocks, so a journal of another boot means nothing.
        created: UTC, ISO 8601.
    """

    gpu_uuid: str
    actuator: str
    description: ActuatorDescription
    domains: tuple[Domain, ...]
    pair: str | None
    restore_to: ClockRange | None
    owner: Process
    boot_id: str
    created: str

    @classmethod
    def of(cls, actuator: Actuator, owner: Process, *, pair: str | None, restore_to: ClockRange | None) -> Journal:
        """Return the journal for a change that is about to be made now."""
        return cls(
            gpu_uuid=actuator.gpu_uuid,
            actuator=actuator.name,
            description=actuator.description,
            domains=actuator.domains,
            pair=pair,
            restore_to=restore_to,
            owner=owner,
            boot_id=boot_id(),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    @property
    def is_of_this_boot(self) -> bool:
        """Whether the machine has not booted since."""
        return self.boot_id == boot_id()

    def to_text(self) -> str:
        """Return the file's content."""
        restore_to = self.restore_to and [self.restore_to.low_mhz, self.restore_to.high_mhz]
        document = {
            "version": VERSION,
            "gpu_uuid": self.gpu_uuid,
            "actuator": self.actuator,
            "factory": self.description.factory,
            "settings": dict(self.description.settings),
            "domains": self.domains,
            "pair": self.pair,
            "restore_to": restore_to,
            "pid": self.owner.pid,
            "pid_started": self.owner.started,
            "user": self.owner.user,
            "command": self.owner.command,
            "boot_id": self.boot_id,
            "created": self.created,
        }
        return json.dumps(document, indent=1) + "\n"

    @classmethod
    def from_text(cls, text: str) -> Journal:
        """Read what `to_text` wrote.

        Raises:
            ArtefactError: the text is damaged or of another version.
        """
        fields = _Fields.read(text)
        version = fields.whole("version")
        if version != VERSION:
            raise ArtefactError(f"it is of version {version}, and this gpoeo-env reads version {VERSION}")
        return cls(
            gpu_uuid=fields.text("gpu_uuid"),
            actuator=fields.text("actuator"),
            description=ActuatorDescription(fields.text("factory"), fields.settings()),
            domains=fields.domains(),
            pair=fields.text("pair") if fields.has("pair") else None,
            restore_to=fields.clock_range("restore_to") if fields.has("restore_to") else None,
            owner=Process(
                fields.whole("pid"), fields.whole("pid_started"), fields.text("user"), fields.text("command")
            ),
            boot_id=fields.text("boot_id"),
            created=fields.text("created"),
        )


class _Fields:
    """The fields of a JSON object, each checked when it is taken."""

    def __init__(self, values: dict[str, Any]) -> None:  # Any: JSON
        self._values = values

    @classmethod
    def read(cls, text: str) -> _Fields:
        try:
            values = json.loads(text)
        except ValueError as error:
            raise ArtefactError(f"it is damaged: {error}") from error
        if not isinstance(values, dict):
            raise ArtefactError("it is damaged: no JSON object")
        return cls(values)

    def has(self, name: str) -> bool:
        return self._values.get(name) is not None

    def text(self, name: str) -> str:
        return cast("str", self._typed(name, str))

    def whole(self, name: str) -> int:
        return cast("int", self._typed(name, int))

    def settings(self) -> dict[str, Any]:  # Any: JSON
        return cast("dict[str, Any]", self._typed("settings", dict))

    def domains(self) -> tuple[Domain, ...]:
        listed = self._typed("domains", list)
        if not set(map(str, listed)) <= {"sm", "memory"}:
            raise ArtefactError(f"it is damaged: domains are {listed!r}")
        return tuple(listed)

    def clock_range(self, name: str) -> ClockRange:
        listed = self._typed(name, list)
        if len(listed) != 2 or not all(type(clock) is int for clock in listed) or not 0 < listed[0] <= listed[1]:
            raise ArtefactError(f"it is damaged: {name} is {listed!r}")
        return ClockRange(*listed)

    def _typed(self, name: str, kind: type) -> Any:  # Any: JSON
        value = self._values.get(name)
        if type(value) is not kind:
            raise ArtefactError(f"it is damaged: {name} is {value!r}")
        return value
