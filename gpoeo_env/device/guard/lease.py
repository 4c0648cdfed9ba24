"""The lease that a controller holds on its clocks: renewed by heartbeats, lost when they stay away.

The two sides talk over a pair of sockets that keep packets apart. The controller sends its `WatchOrder`, and the
watchdog answers `READY`, or `FAILED` and the reason. From then on every `BEAT` is answered: `KEPT`, or `LOST` once when
the lease had run out and the clocks were given back meanwhile. `QUIT` ends the watchdog.

Time is CLOCK_MONOTONIC, which stands still while the whole machine sleeps.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

from gpoeo_env.device.guard.actuator import ActuatorDescription, ClockRange

__all__ = ["BEAT", "FAILED", "KEPT", "LARGEST_PACKET", "LOST", "QUIT", "READY", "Lease", "WatchOrder"]

BEAT, QUIT = b"beat", b"quit"
READY, FAILED, KEPT, LOST = b"ready", b"failed ", b"kept", b"lost"
LARGEST_PACKET = 64 * 1024


class Lease:
    """Running until `lease_s` after the last heartbeat."""

    def __init__(self, lease_s: float, now_s: float) -> None:
        """Begin now."""
        self._lease_s = lease_s
        self._until_s = now_s + lease_s

    def renew(self, now_s: float) -> None:
        """Hear a heartbeat."""
        self._until_s = now_s + self._lease_s

    def end(self) -> None:
        """Stop asking for heartbeats until the next one: there is nothing left to lose."""
        self._until_s = math.inf

    def has_run_out(self, now_s: float) -> bool:
        """Tell whether heartbeats have stayed away for too long."""
        return now_s >= self._until_s


@dataclass(frozen=True, slots=True)
class WatchOrder:
    """What a watchdog is told at the start.

    Attributes:
        gpu_uuid: the GPU.
        description: how to build the actuator.
        restore_to: as `Journal.restore_to`.
        folder: where the journal lies.
        controller: process id to watch.
        lease_s: how long heartbeats may stay away, in seconds.
        import_path: where modules are found, absolute.
    """

    gpu_uuid: str
    description: ActuatorDescription
    restore_to: ClockRange | None
    folder: str
    controller: int
    lease_s: float
    import_path: tuple[str, ...]

    def to_packet(self) -> bytes:
        """Return the order as JSON."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_packet(cls, packet: bytes) -> WatchOrder:
        """Read what `to_packet` wrote; both sides are the same version, and nobody else holds the sockets."""
        values: dict[str, Any] = json.loads(packet)  # Any: JSON
        restore_to = values["restore_to"]
        return cls(
            gpu_uuid=values["gpu_uuid"],
            description=ActuatorDescription(**values["description"]),
            restore_to=restore_to and ClockRange(**restore_to),
            folder=values["folder"],
            controller=values["controller"],
            lease_s=values["lease_s"],
            import_path=tuple(values["import_path"]),
        )
