"""From a spec to a live GPU: ``nvml:0,actuator=observe``, ``nvml:GPU-1b2c,rate_hz=20``."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

from gpoeo_env.config import validated
from gpoeo_env.device.group import GroupDevice
from gpoeo_env.device.guard.actuator import ClockRange, Domain
from gpoeo_env.device.nvml.actuators import NvmlActuator
from gpoeo_env.device.nvml.command import CommandActuator, Commands
from gpoeo_env.device.nvml.control import ClockControl, ObserveOnly, ProbedActuator, guarded
from gpoeo_env.device.nvml.counters import CounterSource, NoCounters
from gpoeo_env.device.nvml.device import LEAST_WINDOW_S, NvmlDevice
from gpoeo_env.device.nvml.exporter import DcgmExporter
from gpoeo_env.device.nvml.gpm import GpmCounters
from gpoeo_env.device.nvml.gpu import GpuFacts, every_gpu, gpu_with, why_no_control
from gpoeo_env.device.nvml.library import Nvml
from gpoeo_env.device.nvml.readings import Readings
from gpoeo_env.device.nvml.sampling import Instruments
from gpoeo_env.device.nvml.selection import selected
from gpoeo_env.device.nvml.tables import offered_clocks
from gpoeo_env.errors import DeviceError, UsageError
from gpoeo_env.signals import POWER

__all__ = ["NvmlSettings", "build", "open_device", "open_gpus", "selected_gpus"]

_LOG = logging.getLogger(__name__)


class NvmlSettings(BaseModel, extra="forbid", frozen=True):
    """Settings of a live GPU in a spec.

    Attributes:
        rate_hz: rows a second, 10 to 100.
        actuator: who sets clocks: NVML itself, the site's commands, or nobody ("observe").
        min_sm_mhz: pairs with a lower SM clock are not offered; left out = all that the driver offers.
        restore_to: SM clocks ``LOW,HIGH`` in MHz that an operator had locked before; left out = the driver's default.
        on_override: what happens when somebody else changes the clocks: set them again, or stop.
        least_window_s: shorter windows are refused.
        dcgm_url: of a dcgm-exporter, for counters of GPUs before Hopper; taken in the place of GPM where given.
        lock_sm, release_sm, lock_memory, release_memory: templates of ``actuator=command``.
    """

    rate_hz: Annotated[float, Field(ge=10, le=100)] = 10.0
    actuator: Literal["nvml", "command", "observe"] = "nvml"
    min_sm_mhz: Annotated[int, Field(gt=0)] | None = None
    restore_to: str | None = None
    on_override: Literal["reapply", "stop"] = "reapply"
    least_window_s: Annotated[float, Field(ge=0, le=60)] = LEAST_WINDOW_S
    dcgm_url: str | None = None
    lock_sm: str = ""
    release_sm: str = ""
    lock_memory: str = ""
    release_memory: str = ""

    @model_validator(mode="after")
    def _templates_fit_the_actuator(self) -> Self:
        if self.actuator != "command" and self.templates != ("", "", "", ""):
            raise ValueError("command templates need actuator=command")
        if self.actuator == "observe" and self.restore_to is not None:
            raise ValueError("restore_to contradicts actuator=observe, which sets nothing that could be restored")
        return self

    @property
    def templates(self) -> tuple[str, str, str, str]:
        """The command templates, in the order of `Commands`."""
        return self.lock_sm, self.release_sm, self.lock_memory, self.release_memory


def build(argument: str | None, config: Mapping[str, Any]) -> NvmlDevice:
    """Open ``nvml[:GPU][,rate_hz=...,actuator=...]`` (entry point ``nvml``).

    Args:
        argument: number, UUID or its beginning; None = the only GPU that CUDA_VISIBLE_DEVICES leaves.
        config: see `NvmlSettings`. `Any`: it comes from a spec and is checked here.

    Raises:
        UsageError: the argument names no GPU, or several.
        ConfigError: a setting is unknown, out of its range or contradicts another.
        GpoeoError: as `open_device`.
    """
    settings = validated(NvmlSettings, config, f"device nvml:{argument or ''}")
    found = selected_gpus(argument)
    if len(found) != 1:
        raise UsageError(
            f"one device is one GPU, and {argument or 'this machine'} names {len(found)}: "
            f"{', '.join(gpu.uuid for gpu in found) or 'none'}; name one of them"
        )
    return open_device(found[0].uuid, settings)


def open_gpus(wanted: str | None, config: Mapping[str, Any]) -> NvmlDevice | GroupDevice:
    """Open one GPU, or several as one group; the caller closes it.

    Args:
        wanted: numbers or UUIDs with commas, or "all"; None = the only GPU that CUDA_VISIBLE_DEVICES leaves.
        config: see `NvmlSettings`. `Any`: it is checked here.

    Raises:
        UsageError: the request cannot be resolved, or the GPUs are not of one model.
        GpoeoError: as `open_device`.
    """
    if wanted is None:
        return build(None, config)
    settings = validated(NvmlSettings, config, f"GPU {wanted}")
    found = selected_gpus(wanted)
    if not found:
        raise UsageError(f"{wanted} names no GPU of this machine; `gpoeo doctor` lists them")
    with ExitStack() as opened:
        devices = [opened.enter_context(open_device(gpu.uuid, settings)) for gpu in found]
        device = devices[0] if len(devices) == 1 else GroupDevice(devices)
        opened.pop_all()  # the device closes them from here on
        return device


def selected_gpus(wanted: str | None) -> tuple[GpuFacts, ...]:
    """Return the GPUs of this machine that a request names; see `gpoeo_env.device.nvml.selection`.

    Raises:
        UsageError: the request cannot be resolved.
        GpoeoError: as `Nvml.open`.
    """
    with Nvml.open() as nvml:
        return selected(every_gpu(nvml), wanted, os.environ)


def open_device(uuid: str, settings: NvmlSettings) -> NvmlDevice:
    """Open one GPU; the caller closes it. Rights and abilities are found out here, not in the middle of a run.

    Raises:
        PermissionMissingError: this user may not set its clocks; ``actuator=observe`` works all the same.
        UsageError: no pair has an SM clock of ``min_sm_mhz`` or more.
        DeviceError: another process controls it, or its clocks cannot be set by anybody.
        InstallationError: bindings, library or driver are missing or do not fit each other.
        GpoeoError: as `Nvml.call`.
    """
    with ExitStack() as opened:
        nvml = opened.enter_context(Nvml.open())
        gpu = gpu_with(nvml, uuid)
        handle: Any = nvml.call("nvmlDeviceGetHandleByUUID", uuid)  # `Any`: NVML's handle
        control, domains = _control(nvml, gpu, settings)
        opened.callback(control.close)
        readings = _readings(nvml, handle, gpu)
        counters = _counters(nvml, handle, gpu, readings, settings.dcgm_url)
        opened.callback(counters.close)
        clocks = offered_clocks(nvml, handle, can_lock_memory="memory" in domains)
        device = NvmlDevice(
            nvml,
            gpu,
            clocks if settings.min_sm_mhz is None else clocks.at_least(settings.min_sm_mhz),
            Instruments(readings, counters, interval_s=1.0 / settings.rate_hz),
            control,
            least_window_s=settings.least_window_s,
            reapplies=settings.on_override == "reapply",
        )
        opened.pop_all()  # the device closes them from here on
        return device


def _control(nvml: Nvml, gpu: GpuFacts, settings: NvmlSettings) -> tuple[ClockControl, tuple[Domain, ...]]:
    """Return who changes the clocks, and which clocks can be changed."""
    if settings.actuator == "observe":
        return ObserveOnly(), ("memory", "sm")
    refusal = why_no_control(gpu)
    if refusal:
        raise DeviceError(f"the clocks of {gpu.uuid} cannot be set: {refusal}")
    if gpu.is_persistent is False:
        _LOG.warning(
            "persistence mode of GPU %d is off: clocks are unlocked whenever the last program leaves it; "
            "`nvidia-smi -i %d -pm 1` turns it on",
            gpu.index,
            gpu.index,
        )
    actuator = _actuator(nvml, gpu, settings)
    restore_to = None if settings.restore_to is None else ClockRange.parse(settings.restore_to)
    control = guarded(actuator, restore_to)
    if "memory" not in actuator.domains:
        _LOG.warning("the memory clock of GPU %d cannot be locked; the SM clock alone is set", gpu.index)
    return control, actuator.domains


def _actuator(nvml: Nvml, gpu: GpuFacts, settings: NvmlSettings) -> ProbedActuator:
    if settings.actuator == "command":
        return CommandActuator(gpu.uuid, gpu.index, Commands(*settings.templates))
    return NvmlActuator(gpu.uuid, nvml)


def _readings(nvml: Nvml, handle: Any, gpu: GpuFacts) -> Readings:
    """Return the readings, if energy can be had from them. `Any`: NVML's handle."""
    readings = Readings.open(nvml, handle)
    if not readings.counts_energy and POWER not in readings.signals:
        what = "this vGPU" if gpu.is_vgpu else gpu.uuid
        raise DeviceError(f"{what} reports neither energy nor power; replay and simulation work without it")
    return readings


def _counters(nvml: Nvml, handle: Any, gpu: GpuFacts, readings: Readings, dcgm_url: str | None) -> CounterSource:
    """Return the best source of counters that takes no lock. `Any`: NVML's handle."""
    if dcgm_url is not None:
        return DcgmExporter.open(dcgm_url, gpu.uuid, readings.plausible)
    return GpmCounters.open(nvml, handle, readings.plausible) or NoCounters()
