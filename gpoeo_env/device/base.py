"""The device seam: a live GPU, a simulated GPU and a recording answer the same four calls.

Time belongs to the device: `observe` on a live GPU really waits, on a virtual one it advances the device's own
clock. `gpoeo_env.testing.devices` holds the contract that every device passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.records import TruthTable, Window
from gpoeo_env.signals import Signal
from gpoeo_env.trace.sweep import Sweep

__all__ = ["CanEnd", "Device", "DeviceInfo", "HasLessons", "HasTruth", "lessons_of"]


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """What stays the same while a device is open.

    Attributes:
        kind: "replay", "simulated" or "live"; every result carries it.
        gpu_name: as the driver or the recording names it.
        workloads: names that `begin` accepts; empty = whatever runs on the GPU.
        default_pair: the pair that stands for the driver's default; None = the driver decides.
        power_limit_w: board power limit; NaN where unknown.
        provenance: where the numbers come from, one line.
        is_deterministic: equal seeds give equal windows.
        is_simulated: no GPU was measured: neither now nor when a sweep was recorded.
        n_gpus: how many; where more than one, every window has as many parts.
    """

    kind: str
    gpu_name: str
    workloads: tuple[str, ...]
    default_pair: ClockPair | None
    power_limit_w: float
    provenance: str
    is_deterministic: bool
    is_simulated: bool = False
    n_gpus: int = 1


class Device(Protocol):
    """A GPU, real or not."""

    @property
    def info(self) -> DeviceInfo:
        """What stays the same while the device is open."""

    @property
    def clocks(self) -> ClockTable:
        """The pairs that the device offers."""

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The columns of every window."""

    def begin(self, seed: int | None, workload: str | None = None) -> None:
        """Start a run at the driver's default clocks; virtual devices rewind to time 0.

        Args:
            seed: for the noise of virtual devices; None draws one.
            workload: one of ``info.workloads``; None = the first of them, or on a live GPU whatever runs.

        Raises:
            UnknownNameError: the device has no such workload.
        """

    def set_clocks(self, pair: ClockPair | None) -> None:
        """Lock a pair; None releases to the driver. Setting what is already set changes and costs nothing.

        Raises:
            ClockNotSupportedError: the pair is not in ``clocks``; nothing is changed.
        """

    def observe(self, seconds: float) -> Window:
        """Let ``seconds`` pass after settling, and return what was seen.

        Raises:
            UsageError: ``seconds`` is not positive.
            DeviceError: `begin` has not been called, or the device is closed.
        """

    def close(self) -> None:
        """Give the clocks back and free the device; calling it twice is fine."""

    def __enter__(self) -> Self:
        """Return self."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""


@runtime_checkable
class CanEnd(Protocol):
    """A live device that can be told when the work is done: nothing on the GPU says so."""

    def end_when(self, is_over: Callable[[], bool]) -> None:
        """Let the window that runs when ``is_over`` first says so be cut short, and be the last."""


@runtime_checkable
class HasTruth(Protocol):
    """A virtual device that knows what it would answer without noise."""

    def truth(self) -> TruthTable:
        """Return the noise-free ratios of every action for the workload that `begin` chose."""


@runtime_checkable
class HasLessons(Protocol):
    """A virtual device that knows sweeps of other work on the same kind of GPU."""

    def lessons(self, workload: str | None) -> Sequence[Sweep]:
        """Return what a policy may learn from before it meets a workload: never that workload itself.

        Args:
            workload: what the policy will meet; None = the first one.

        Returns:
            Empty where nothing is known.
        """


def lessons_of(device: Device, workload: str | None) -> Sequence[Sweep] | None:
    """Return what a policy may learn from before it meets a workload of a device; None where there is nothing."""
    return (device.lessons(workload) or None) if isinstance(device, HasLessons) else None
