"""What a GPU is: name, identity and the modes that decide what can be done with it."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import Any

from gpoeo_env.device.nvml.library import Nvml
from gpoeo_env.errors import DeviceError

__all__ = ["UNREADABLE_NAME", "GpuFacts", "every_gpu", "gpu_with", "why_no_control"]

_LOG = logging.getLogger(__name__)
UNREADABLE_NAME = "NVIDIA GPU (its name cannot be read)"
VGPU = 2
"""Virtualisation mode of a slice of a GPU that a hypervisor shares out."""


@dataclass(frozen=True, slots=True)
class GpuFacts:
    """One GPU of this machine.

    Attributes:
        index: NVML's number of it, as ``nvidia-smi`` shows it.
        uuid: what names it for good.
        name: for people.
        architecture: NVML's code (7 Ampere, 8 Ada, 9 Hopper); None = unknown.
        is_persistent: whether the driver stays loaded without a client; None = unknown.
        is_mig: whether it is cut into MIG instances.
        is_vgpu: whether it is a share of a GPU.
        power_limit_w: in force; NaN where unknown.
    """

    index: int
    uuid: str
    name: str
    architecture: int | None
    is_persistent: bool | None
    is_mig: bool
    is_vgpu: bool
    power_limit_w: float


def every_gpu(nvml: Nvml) -> tuple[GpuFacts, ...]:
    """Return the GPUs that the driver shows, in its order.

    Raises:
        GpoeoError: as `Nvml.call`.
    """
    count = nvml.call("nvmlDeviceGetCount")
    return tuple(_facts(nvml, index) for index in range(count))


def gpu_with(nvml: Nvml, uuid: str) -> GpuFacts:
    """Return the GPU of that UUID.

    Raises:
        NotOfferedError: there is none.
        GpoeoError: as `Nvml.call`.
    """
    handle = nvml.call("nvmlDeviceGetHandleByUUID", uuid)
    return _facts(nvml, nvml.call("nvmlDeviceGetIndex", handle))


def why_no_control(gpu: GpuFacts) -> str | None:
    """Say why the clocks of a GPU cannot be set whoever asks; None = nothing speaks against it."""
    if gpu.is_mig:
        return (
            "it is cut into MIG instances, which share one clock, so a lock would slow other people's work; turn MIG "
            "off, or only look (gpoeo run --observe, actuator=observe)"
        )
    if gpu.is_vgpu:
        return "it is a vGPU: no control, no energy; replay and simulation work here"
    return None


def _facts(nvml: Nvml, index: int) -> GpuFacts:
    handle = nvml.call("nvmlDeviceGetHandleByIndex", index)
    persistence = nvml.ask("nvmlDeviceGetPersistenceMode", handle)
    mig = nvml.ask("nvmlDeviceGetMigMode", handle)
    limit_mw = nvml.ask("nvmlDeviceGetEnforcedPowerLimit", handle)
    uuid = _text(nvml, "nvmlDeviceGetUUID", handle)
    if not uuid:
        raise DeviceError(
            f"GPU {index} has no UUID that can be read, so it cannot be told from others; update the driver"
        )
    return GpuFacts(
        index=index,
        uuid=uuid,
        name=_text(nvml, "nvmlDeviceGetName", handle) or _unreadable(index),
        architecture=nvml.ask("nvmlDeviceGetArchitecture", handle),
        is_persistent=None if persistence is None else bool(persistence),
        is_mig=bool(mig and mig[0]),
        is_vgpu=nvml.ask("nvmlDeviceGetVirtualizationMode", handle) == VGPU,
        power_limit_w=math.nan if limit_mw is None else limit_mw / 1e3,
    )


def _text(nvml: Nvml, function: str, handle: Any) -> str | None:
    """Return text; None where it is missing or is none. `Any`: NVML's handle.

    Depending on their version, the bindings give bytes or decode them themselves, and fail where that is impossible.
    """
    try:
        found = nvml.ask(function, handle)
        return found.decode() if isinstance(found, bytes) else found
    except UnicodeDecodeError:
        return None


def _unreadable(index: int) -> str:
    _LOG.warning("the name of GPU %d cannot be read; it is called %r here", index, UNREADABLE_NAME)
    return UNREADABLE_NAME
