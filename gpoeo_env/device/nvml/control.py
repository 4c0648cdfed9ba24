"""Who may change the clocks of a GPU: the guard, or nobody."""

from __future__ import annotations

from typing import Protocol

from gpoeo_env.clocks import ClockPair
from gpoeo_env.device.guard.actuator import Actuator, ClockRange
from gpoeo_env.device.guard.guard import Guard
from gpoeo_env.errors import DeviceError

__all__ = ["ClockControl", "ObserveOnly", "ProbedActuator", "guarded"]


class ClockControl(Protocol):
    """What the device needs of a `Guard`."""

    def lock(self, pair: ClockPair) -> None:
        """Lock a pair."""

    def release(self) -> None:
        """Give all clocks to the driver."""

    def renew(self) -> bool:
        """Say that the control loop is alive; False = clocks were given back meanwhile."""

    def close(self) -> None:
        """Give everything back; calling it twice is fine."""


class ProbedActuator(Actuator, Protocol):
    """An actuator that can find out what it may do, without a change."""

    def probe(self, restore_to: ClockRange | None = None) -> None:
        """Set what is in force already; raise where that is not allowed."""


class ObserveOnly:
    """A control that never sets anything."""

    def lock(self, pair: ClockPair) -> None:
        """Refuse.

        Raises:
            DeviceError: always.
        """
        raise DeviceError(
            f"cannot lock {pair} MHz: this device only observes; open it with actuator=nvml to set clocks"
        )

    def release(self) -> None:
        """Do nothing: nothing was locked."""

    def renew(self) -> bool:
        """Return True: nothing can have been lost."""
        return True

    def close(self) -> None:
        """Do nothing."""


def guarded(actuator: ProbedActuator, restore_to: ClockRange | None = None) -> Guard:
    """Become the one controller of a GPU, and make sure that its clocks may be set; the caller closes the guard.

    The lock comes before the probe: what another controller has set must not be reset by a look.

    Raises:
        PermissionMissingError: this user may not set clocks.
        NotOfferedError: the GPU cannot lock clocks.
        DeviceError: another process controls it.
        GpoeoError: as `Guard.open`.
    """
    guard = Guard.open(actuator, restore_to=restore_to)
    try:
        actuator.probe(restore_to)
    except BaseException:
        guard.close()
        raise
    return guard
