"""GPUs that exist in a file only, as a test drives them from outside.

stand_in = StandIn.create(folder, [hand_made(), hand_made()], library)
with stand_in.process() as process:                    # a real process with the real pynvml bindings
    process.call(function, "an argument")
stand_in.calls()                                       # every setter call, and who made it
stand_in.fail("nvmlDeviceGetPowerUsage", GPU_IS_LOST, gpu=0)
"""

from __future__ import annotations

import ctypes
import mmap
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gpoeo_env.clocks import ClockPair
from gpoeo_env.device.guard.folder import FOLDER_VARIABLE
from tests.nvml_stand_in.gpus import Point, StandInGpu, nan_filled
from tests.nvml_stand_in.process import Process
from tests.nvml_stand_in.state import CALLS, METRICS, FaultEntry, GpuState, PointState, State

__all__ = [
    "DRIVER_NOT_LOADED",
    "FUNCTION_NOT_FOUND",
    "GPU_IS_LOST",
    "NOT_SUPPORTED",
    "NO_PERMISSION",
    "UNKNOWN",
    "VERSION_MISMATCH",
    "SetterCall",
    "StandIn",
]

NOT_SUPPORTED, NO_PERMISSION, DRIVER_NOT_LOADED, FUNCTION_NOT_FOUND = 3, 4, 9, 13
GPU_IS_LOST, VERSION_MISMATCH, UNKNOWN = 15, 18, 999


@dataclass(frozen=True, slots=True)
class SetterCall:
    """One call that changes something.

    Attributes:
        name: without ``nvmlDevice``.
        gpu: index.
        mhz: lowest and highest clock; (0, 0) for a reset.
        process: id of the process that made it.
        code: what NVML answered; 0 = done.
        t_s: monotonic time.
    """

    name: str
    gpu: int
    mhz: tuple[int, int]
    process: int
    code: int
    t_s: float


class StandIn:
    """The GPUs, and the switches of their faults."""

    def __init__(self, file: Path, library: Path) -> None:
        """Map a file that `create` made.

        Args:
            file: the state.
            library: folder of the compiled library.
        """
        self.file = file
        self.library = library
        with file.open("r+b") as opened:
            self._memory = mmap.mmap(opened.fileno(), ctypes.sizeof(State))
        self.state = State.from_buffer(self._memory)

    @classmethod
    def create(cls, folder: Path, gpus: Sequence[StandInGpu], library: Path) -> StandIn:
        """Make the file with GPUs that run at the driver's default from now on."""
        file = folder / "nvml_state"
        with file.open("wb") as opened:
            opened.truncate(ctypes.sizeof(State))
        stand_in = cls(file, library)
        stand_in.state.driver_version = b"580.159.04"
        stand_in.state.library_version = b"13.580.159.04"
        for index, gpu in enumerate(gpus):
            _fill_gpu(stand_in.state.gpus[index], gpu, index)
        stand_in.state.n_gpus = len(gpus)
        return stand_in

    @property
    def environment(self) -> Mapping[str, str]:
        """What a process needs in its environment to load the stand-in, and to keep journals beside it."""
        return {
            "LD_LIBRARY_PATH": str(self.library),
            "NVML_STAND_IN": str(self.file),
            FOLDER_VARIABLE: str(self.file.with_name("guard")),
        }

    @contextmanager
    def process(self, **environment: str) -> Iterator[Process]:
        """Start a process that loads the stand-in; it ends with the block.

        Args:
            environment: further variables, for one CUDA_VISIBLE_DEVICES.
        """
        with Process({**self.environment, **environment}) as process:
            yield process

    def fail(
        self,
        name: str,
        code: int = 0,
        *,
        gpu: int = -1,
        value: float | None = None,
        delay_s: float = 0.0,
        calls: int = -1,
        until_init: bool = False,
    ) -> FaultEntry:
        """Let a function of the library answer otherwise from now on.

        Args:
            name: function, or ``field:ID`` or ``gpm:ID``.
            code: NVML's error; 0 = none.
            gpu: index; -1 = all.
            value: what is given out instead of the usual.
            delay_s: how long the call takes.
            calls: how many calls are affected; -1 = all.
            until_init: the next ``nvmlInit`` ends it.

        Returns:
            The entry; ``active = 0`` ends it.
        """
        fault: FaultEntry = next(entry for entry in self.state.faults if not entry.active)
        fault.name, fault.code, fault.gpu, fault.delay_s = name.encode(), code, gpu, delay_s
        fault.has_value, fault.value = value is not None, 0.0 if value is None else value
        fault.remaining, fault.cleared_by_init = calls, until_init
        fault.active = 1  # last: the library reads the entry from here on
        return fault

    def calls(self, gpu: int | None = None) -> list[SetterCall]:
        """Return every setter call so far, oldest first; of one GPU or of all."""
        assert self.state.n_calls <= CALLS, "the log of the stand-in has overflown"
        entries = self.state.calls[: self.state.n_calls]
        return [
            SetterCall(
                name=entry.name.decode().removeprefix("nvmlDevice"),
                gpu=entry.gpu,
                mhz=(entry.low, entry.high),
                process=entry.process,
                code=entry.code,
                t_s=entry.t_s,
            )
            for entry in entries
            if gpu is None or entry.gpu == gpu
        ]

    def locked(self, gpu: int = 0) -> tuple[int, int]:
        """Return the locked SM and memory clock in MHz; 0 = the driver decides."""
        state = self.state.gpus[gpu]
        return state.locked_sm_mhz, state.locked_mem_mhz

    def wait_for_reader(self, gpu: int = 0) -> None:
        """Wait until somebody reads a sensor of a GPU for the first time."""
        while self.state.gpus[gpu].refresh < 0:
            time.sleep(0.001)

    def wait_for_lock(self, sm_mhz: int, gpu: int = 0) -> None:
        """Wait until somebody locks an SM clock."""
        while self.locked(gpu)[0] != sm_mhz:
            time.sleep(0.001)

    def is_released_within(self, seconds: float, gpu: int = 0) -> bool:
        """Wait until no clock is locked, and say whether it came to that."""
        until_s = time.monotonic() + seconds
        while self.locked(gpu) != (0, 0) and time.monotonic() < until_s:
            time.sleep(0.01)
        return self.locked(gpu) == (0, 0)

    def in_force(self, gpu: int = 0) -> ClockPair:
        """Return the clocks that really run."""
        point = _row(self.state.gpus[gpu])
        return ClockPair(point.running_sm_mhz, point.running_mem_mhz)

    def work(self, gpu: int = 0) -> float:
        """Return the work done so far: the truth that a progress meter is compared with."""
        state = self.state.gpus[gpu]
        return float(state.work + _row(state).work_per_s * (time.monotonic() - state.changed_s))

    def energy_j(self, gpu: int = 0) -> float:
        """Return the energy so far, without the refresh of the counter."""
        state = self.state.gpus[gpu]
        return float(state.energy_j + _row(state).watts * (time.monotonic() - state.changed_s))


def _row(gpu: GpuState) -> PointState:
    point: PointState = gpu.points[gpu.row]
    return point


def _fill_gpu(state: GpuState, gpu: StandInGpu, index: int) -> None:
    state.name = gpu.name
    state.uuid = (gpu.uuid or f"GPU-{index:08x}-0000-4000-8000-{os.getpid():012x}").encode()
    state.architecture = gpu.architecture
    state.persistence = gpu.is_persistent
    state.mig = gpu.is_mig
    state.virtualization = gpu.virtualization
    state.power_limit_mw = round(1e3 * gpu.power_limit_w)
    state.temperature_c = gpu.temperature_c
    state.gpm_supported = gpu.has_gpm
    sm_clocks = [point.pair.sm_mhz for point in gpu.points]
    state.sm_min_mhz, state.sm_max_mhz = min(sm_clocks), max(sm_clocks)
    state.refresh_s, state.power_ripple = gpu.refresh_s, gpu.power_ripple
    state.n_points = len(gpu.points)
    for row, point in enumerate(gpu.points):
        _fill_point(state.points[row], point)
    state.changed_s = time.monotonic() - 1.0  # its sensors have refreshed before
    state.energy_j = 2093.774  # a counter that has run before
    state.refresh = -1


def _fill_point(state: PointState, point: Point) -> None:
    running = point.running or point.pair
    state.sm_mhz, state.mem_mhz = point.pair.sm_mhz, point.pair.mem_mhz
    state.running_sm_mhz, state.running_mem_mhz = running.sm_mhz, running.mem_mhz
    state.reasons, state.watts, state.work_per_s = point.reasons, point.watts, point.work_per_s
    state.settle_s, state.gpu_util, state.mem_util = point.settle_s, point.gpu_util, point.mem_util
    state.gpm = (ctypes.c_double * METRICS)(*nan_filled(point.gpm(), METRICS))
