"""One GPU: what can be read, what can be set and by whom, and where its features come from."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from gpoeo_env.device.guard.controller_lock import holder_of
from gpoeo_env.device.guard.folder import Folder
from gpoeo_env.device.guard.processes import find_process
from gpoeo_env.device.nvml.counters import NoCounters
from gpoeo_env.device.nvml.device import LEAST_WINDOW_S
from gpoeo_env.device.nvml.gpu import GpuFacts, why_no_control
from gpoeo_env.device.nvml.opening import NvmlSettings, open_device
from gpoeo_env.errors import GpoeoError
from gpoeo_env.records import Window
from gpoeo_env.runner.doctor.findings import Finding, Level, as_finding
from gpoeo_env.runner.doctor.machine import OTHER_WAYS
from gpoeo_env.signals import Behaviour

__all__ = ["GpuReport", "Reading", "examine_gpu"]

VOLTA, AMPERE, HOPPER = 5, 7, 9
ARCHITECTURES = {2: "Kepler", 3: "Maxwell", 4: "Pascal", 5: "Volta", 6: "Turing", 7: "Ampere", 8: "Ada", 9: "Hopper"}
"""NVML's codes (nvmlDeviceGetArchitecture)."""
NO_COUNTERS = NoCounters.label


@dataclass(frozen=True, slots=True)
class Reading:
    """Mean of one signal over a short look; NaN = offered, but without a value. A counter shows its growth a second."""

    name: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class GpuReport:
    """What was found out about one GPU.

    Attributes:
        index: NVML's number of it.
        uuid: what names it for good.
        name: for people.
        architecture: the generation; "unknown" where the driver does not say.
        sm_clocks_mhz: what can be locked, ascending.
        memory_clocks_mhz: likewise.
        readings: what it reports.
        counters: where hardware counters come from: "GPM" or "none".
        control: who can set its clocks: "this user", or why not.
        controller: the process that controls it now; empty = none.
        findings: what else there is to say.
    """

    index: int
    uuid: str
    name: str
    architecture: str
    sm_clocks_mhz: tuple[int, ...]
    memory_clocks_mhz: tuple[int, ...]
    readings: tuple[Reading, ...]
    counters: str
    control: str
    controller: str
    findings: tuple[Finding, ...]


@dataclass(slots=True)
class _Look:
    """What a short look at a GPU has shown, so far."""

    sm_clocks_mhz: tuple[int, ...] = ()
    memory_clocks_mhz: tuple[int, ...] = ()
    readings: tuple[Reading, ...] = ()
    counters: str = NO_COUNTERS
    said: list[str] = field(default_factory=list)
    error: GpoeoError | None = None


def examine_gpu(gpu: GpuFacts, folder: Folder, refusal: str | None) -> GpuReport:
    """Look at one GPU for half a second; nothing is set.

    Args:
        gpu: which one.
        folder: where controllers keep their locks.
        refusal: why this process may set no clocks at all; None = it may.
    """
    look = _look_at(gpu)
    never = why_no_control(gpu)
    return GpuReport(
        index=gpu.index,
        uuid=gpu.uuid,
        name=gpu.name,
        architecture=_architecture(gpu),
        sm_clocks_mhz=look.sm_clocks_mhz,
        memory_clocks_mhz=look.memory_clocks_mhz,
        readings=look.readings,
        counters=look.counters,
        control=never or refusal or "this user",
        controller=_controller(folder, gpu.uuid),
        findings=tuple(_findings(gpu, look, never, refusal)),
    )


def _look_at(gpu: GpuFacts) -> _Look:
    look = _Look()
    try:
        with _warnings(look.said), open_device(gpu.uuid, NvmlSettings(actuator="observe")) as device:
            look.sm_clocks_mhz, look.memory_clocks_mhz = device.clocks.sm_clocks, device.clocks.mem_clocks
            look.counters = device.counter_source
            device.begin(None)
            look.readings = _means(device.observe(LEAST_WINDOW_S))
            look.said += [f"{name}: {n} values that no sensor can mean" for name, n in device.refused_values.items()]
    except GpoeoError as error:
        look.error = error
    return look


def _means(window: Window) -> tuple[Reading, ...]:
    return tuple(
        Reading(signal.name, window.rate(signal.name), f"{signal.unit}/s")
        if signal.behaviour is Behaviour.COUNTER
        else Reading(signal.name, window.mean(signal), signal.unit)
        for signal in window.signals
        if signal.behaviour is not Behaviour.LABEL
    )


def _findings(gpu: GpuFacts, look: _Look, never: str | None, refusal: str | None) -> Iterator[Finding]:
    subject = f"GPU {gpu.index}"
    if look.error is not None:
        yield as_finding(subject, look.error)
    for line in look.said:
        yield Finding(subject, Level.NOTE, line)
    if look.error is None and look.counters == NO_COUNTERS:
        yield Finding(subject, Level.NOTE, *_why_no_counters(gpu))
    if never is not None:
        yield Finding(subject, Level.NOTE, f"no control: {never}")
        return
    if refusal is not None:
        yield Finding(subject, Level.NOTE, f"no control: {refusal}", OTHER_WAYS)
    for what, fix in _limits(gpu):
        yield Finding(subject, Level.NOTE, what, fix)


def _why_no_counters(gpu: GpuFacts) -> tuple[str, str]:
    if gpu.architecture is not None and gpu.architecture >= HOPPER:
        return "no counters: the driver does not offer GPM here", "update the driver (GPM needs 520 or newer)"
    return (
        "no counters: GPM needs Hopper or newer; utilisation and power must do, and GPOEO searches without models",
        "a dcgm-exporter can give them: --device nvml:GPU,dcgm_url=URL (its profiling metrics lock out profilers)",
    )


def _limits(gpu: GpuFacts) -> Iterator[tuple[str, str]]:
    """Name what this GPU cannot do, and what to do about it; NVML locks SM clocks since Volta, memory since Ampere."""
    if gpu.architecture is not None and gpu.architecture < VOLTA:
        yield "its SM clock cannot be locked: that takes Volta or newer", "observe, or replay and simulation"
    elif gpu.architecture is not None and gpu.architecture < AMPERE:
        yield "its memory clock cannot be locked: that takes Ampere or newer; the SM clock alone is set", ""
    if gpu.is_persistent is False:
        fix = f"nvidia-smi -i {gpu.index} -pm 1"
        yield "persistence mode is off: clocks are unlocked whenever the last program leaves the GPU", fix


def _architecture(gpu: GpuFacts) -> str:
    if gpu.architecture is None:
        return "unknown"
    return ARCHITECTURES.get(gpu.architecture, "Blackwell or newer")


def _controller(folder: Folder, gpu_uuid: str) -> str:
    """Return the process that holds a GPU's lock, for people."""
    pid = holder_of(folder, gpu_uuid)
    process = None if pid is None else find_process(pid)
    return "" if process is None else str(process)


@contextmanager
def _warnings(lines: list[str]) -> Iterator[None]:
    """Collect what is warned of in the block, in the place of saying it."""

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    logger = logging.getLogger("gpoeo_env")
    collector, propagates = Collector(logging.WARNING), logger.propagate
    logger.addHandler(collector)
    logger.propagate = False
    try:
        yield
    finally:
        logger.propagate = propagates
        logger.removeHandler(collector)
