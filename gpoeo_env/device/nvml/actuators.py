"""What sets clocks through NVML; with its way back after the process that set them is gone.

The watchdog imports this module, so nothing heavy is loaded here. Application clocks are never touched: NVML 13
deprecates them and CUDA 14 drops them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gpoeo_env.device.guard.actuator import ActuatorDescription, ClockRange, Domain, Setting
from gpoeo_env.device.nvml.library import Nvml
from gpoeo_env.errors import NotOfferedError

if TYPE_CHECKING:
    from gpoeo_env.clocks import ClockPair  # for types alone: it loads numpy, which the watchdog does without

__all__ = ["NvmlActuator", "rebuild"]

_SM_FIRST: tuple[Domain, ...] = ("sm",)
_BOTH: tuple[Domain, ...] = ("memory", "sm")


class NvmlActuator:
    """Locks the clocks of one GPU by NVML's own calls; an `Actuator` and one that `LocksRanges`."""

    name = "nvml"

    def __init__(self, gpu_uuid: str, nvml: Nvml | None = None) -> None:
        """Take a GPU.

        Args:
            gpu_uuid: the GPU.
            nvml: open; None = opened at the first call, and left open.
        """
        self.gpu_uuid = gpu_uuid
        self._nvml = nvml
        self._domains = _BOTH

    @property
    def domains(self) -> tuple[Domain, ...]:
        """What `lock` sets; without the memory clock after `probe` has found that this GPU cannot lock it."""
        return self._domains

    @property
    def description(self) -> ActuatorDescription:
        """How another process builds it again."""
        return ActuatorDescription("gpoeo_env.device.nvml.actuators:rebuild")

    def probe(self, restore_to: ClockRange | None = None) -> None:
        """Find out what may be set, by setting what is in force already.

        NVML cannot be asked for rights or for locks, so this sets the state that holds before the first lock: the
        driver's default, or the range that an operator is said to have locked.

        Raises:
            PermissionMissingError: this user may not set clocks; the message lists the ways out.
            NotOfferedError: this GPU cannot lock even its SM clock.
            GpoeoError: as `Nvml.call`.
        """
        if restore_to is None:
            self._call("nvmlDeviceResetGpuLockedClocks")
        else:
            self.lock_sm_range(restore_to)
        try:
            self._call("nvmlDeviceResetMemoryLockedClocks")
        except NotOfferedError:
            self._domains = _SM_FIRST

    def lock(self, pair: ClockPair) -> None:
        """Lock the memory clock, then the SM clock.

        Raises:
            GpoeoError: as `Nvml.call`.
        """
        if "memory" in self._domains:
            self._call("nvmlDeviceSetMemoryLockedClocks", pair.mem_mhz, pair.mem_mhz)
        self.lock_sm_range(ClockRange(pair.sm_mhz, pair.sm_mhz))

    def lock_sm_range(self, clocks: ClockRange) -> None:
        """Lock the SM clock to a range.

        Raises:
            GpoeoError: as `Nvml.call`.
        """
        self._call("nvmlDeviceSetGpuLockedClocks", clocks.low_mhz, clocks.high_mhz)

    def release_sm(self) -> None:
        """Give the SM clock back to the driver.

        Raises:
            GpoeoError: as `Nvml.call`.
        """
        self._call("nvmlDeviceResetGpuLockedClocks")

    def release_memory(self) -> None:
        """Give the memory clock back to the driver; nothing to do where it cannot be locked.

        Raises:
            GpoeoError: as `Nvml.call`.
        """
        with suppress(NotOfferedError):
            self._call("nvmlDeviceResetMemoryLockedClocks")

    def _call(self, function: str, *arguments: Any) -> None:
        """Call a setter of this GPU. `Any`: as `Nvml.call`."""
        if self._nvml is None:
            self._nvml = Nvml.open()
        handle = self._nvml.call("nvmlDeviceGetHandleByUUID", self.gpu_uuid)
        self._nvml.call(function, handle, *arguments)


def rebuild(gpu_uuid: str, settings: Mapping[str, Setting]) -> NvmlActuator:  # noqa: ARG001 - every factory has both
    """Build the actuator in another process; it needs no settings."""
    return NvmlActuator(gpu_uuid)
