"""What can set and reset the clocks of one GPU, and how another process builds it again.

An actuator describes itself as plain data: the name of a function and its settings. The watchdog and ``gpoeo
restore`` call that function in their own process; nothing is pickled. What a description holds is written into a
journal that every user of the machine can read, so it holds no secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, cast, runtime_checkable

from gpoeo_env.errors import GpoeoError, UsageError
from gpoeo_env.registry import load_object

if TYPE_CHECKING:
    from gpoeo_env.clocks import ClockPair  # for types alone: it loads numpy, which the watchdog does without

__all__ = [
    "DRIVER_FACTORY",
    "Actuator",
    "ActuatorDescription",
    "ClockRange",
    "Domain",
    "LocksRanges",
    "Setting",
    "rebuild",
    "undo_command",
]

Domain = Literal["sm", "memory"]
"""A clock domain that can be locked on its own."""
Setting = str | int | float | bool | list[str]

DRIVER_FACTORY = "gpoeo_env.device.nvml.actuators:rebuild"
"""Resets clocks through the driver. It stands in where a journal's own description cannot be read or trusted."""


@dataclass(frozen=True, slots=True)
class ClockRange:
    """A range of clocks in whole MHz, as ``nvidia-smi --lock-gpu-clocks=LOW,HIGH`` takes it."""

    low_mhz: int
    high_mhz: int

    def __post_init__(self) -> None:
        """Refuse what is no range.

        Raises:
            UsageError: a clock is not positive, or low is above high.
        """
        if not 0 < self.low_mhz <= self.high_mhz:
            raise UsageError(f"{self} MHz is no clock range; write LOW,HIGH with 0 < LOW <= HIGH, for example 210,1410")

    def __str__(self) -> str:
        """Return ``LOW,HIGH`` in MHz."""
        return f"{self.low_mhz},{self.high_mhz}"

    @classmethod
    def parse(cls, text: str) -> ClockRange:
        """Read ``LOW,HIGH`` in MHz.

        Raises:
            UsageError: the text is not two positive whole numbers, the lower first.
        """
        parts = text.split(",")
        if len(parts) != 2 or not all(part.strip().isdecimal() for part in parts):
            raise UsageError(f"{text!r} is no clock range; write LOW,HIGH in whole MHz, for example 210,1410")
        return cls(int(parts[0]), int(parts[1]))


@dataclass(frozen=True, slots=True)
class ActuatorDescription:
    """How to build an actuator again.

    Attributes:
        factory: ``module:function``, called as ``function(gpu_uuid, settings)``; returns an `Actuator`.
        settings: plain values, readable by everybody on the machine.
    """

    factory: str
    settings: Mapping[str, Setting] = field(default_factory=dict)


class Actuator(Protocol):
    """Sets and resets the clocks of one GPU. Methods raise `GpoeoError` or `OSError` when they fail."""

    @property
    def name(self) -> str:
        """What it is called, for messages: "nvml", "command"."""

    @property
    def gpu_uuid(self) -> str:
        """The GPU, as the driver names it."""

    @property
    def domains(self) -> tuple[Domain, ...]:
        """What `lock` sets, in that order; ("sm",) where the memory clock cannot be locked."""

    @property
    def description(self) -> ActuatorDescription:
        """How another process builds it again."""

    def lock(self, pair: ClockPair) -> None:
        """Lock every domain to the pair."""

    def release_sm(self) -> None:
        """Give the SM clock back to the driver; harmless where it is not locked."""

    def release_memory(self) -> None:
        """Give the memory clock back to the driver; harmless where it is not locked."""


@runtime_checkable
class LocksRanges(Protocol):
    """An actuator that can also set what an operator had set before us."""

    def lock_sm_range(self, clocks: ClockRange) -> None:
        """Lock the SM clock to a range."""


def rebuild(description: ActuatorDescription, gpu_uuid: str) -> Actuator:
    """Build an actuator from its description, in whatever process this is.

    Raises:
        GpoeoError: the factory cannot be imported, is none, fails, or built something for another GPU.
    """
    factory = load_object(description.factory)
    if not callable(factory):
        raise UsageError(f"{description.factory} cannot be called; an actuator's factory is module:function")
    actuator = cast("Actuator", factory(gpu_uuid, dict(description.settings)))
    if actuator.gpu_uuid != gpu_uuid:
        raise GpoeoError(f"{description.factory} was asked for {gpu_uuid} and built {actuator.gpu_uuid}; mend it")
    return actuator


def undo_command(gpu_uuid: str, domains: tuple[Domain, ...], restore_to: ClockRange | None = None) -> str:
    """Return the plain nvidia-smi commands that give the clocks back, for somebody without this package."""
    back = {
        "sm": "--reset-gpu-clocks" if restore_to is None else f"--lock-gpu-clocks={restore_to}",
        "memory": "--reset-memory-clocks",
    }
    return " && ".join(f"nvidia-smi -i {gpu_uuid} {back[domain]}" for domain in reversed(domains))
