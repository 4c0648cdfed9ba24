"""Sampling: rows at absolute times, the energy counter at the edges of a stretch, or every few seconds of a stream."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.device.nvml.counters import CounterSource
from gpoeo_env.device.nvml.pacing import ticks
from gpoeo_env.device.nvml.readings import Readings
from gpoeo_env.errors import DeviceFaultError, DeviceLostError
from gpoeo_env.signals import ENERGY, Signal

__all__ = ["Instruments", "Rescue", "Row", "Rows"]

Array = NDArray[np.float64]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Row:
    """What was read at one instant.

    Attributes:
        t_s: on the monotonic clock.
        values: one for each signal; NaN where missing.
        missed_ticks: rows that were due before this one and not taken, because something took too long.
        is_over: this is the last row, because what was watched is over.
    """

    t_s: float
    values: list[float]
    missed_ticks: int = 0
    is_over: bool = False


@dataclass(slots=True)
class Rows:
    """What was sampled.

    Attributes:
        signals: the columns.
        t_s: row times on the monotonic clock.
        values: a row each.
        missed_ticks: rows that were due and not taken, because something took too long.
        lost: why sampling ended early; None = it did not.
        is_over: sampling ended early because what was watched is over.
    """

    signals: tuple[Signal, ...]
    t_s: list[float] = field(default_factory=list)
    values: list[list[float]] = field(default_factory=list)
    missed_ticks: int = 0
    lost: DeviceLostError | None = None
    is_over: bool = False

    @property
    def times(self) -> Array:
        """Row times, float64, shape (n,)."""
        return np.array(self.t_s, dtype=np.float64)

    @property
    def matrix(self) -> Array:
        """Values, float64, shape (n, k); NaN where missing."""
        return np.array(self.values, dtype=np.float64).reshape(len(self.t_s), len(self.signals))

    def last(self, signal: Signal) -> float:
        """Return the last known value of a signal; NaN where there is none."""
        if signal not in self.signals:
            return math.nan
        column = self.signals.index(signal)
        return next((row[column] for row in reversed(self.values) if not math.isnan(row[column])), math.nan)


class Instruments:
    """Everything that is read from one GPU."""

    def __init__(self, readings: Readings, counters: CounterSource, *, interval_s: float) -> None:
        """Take the sources.

        Args:
            readings: quick ones, and the energy counter.
            counters: hardware counters.
            interval_s: between rows.
        """
        self.readings = readings
        self.counters = counters
        self._interval_s = interval_s

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The columns of `sample`."""
        energy = (ENERGY,) if self.readings.counts_energy else ()
        return (*energy, *self.readings.signals, *self.counters.signals)

    def sample(
        self, seconds: float, alive: Callable[[], object], rescue: Rescue, is_over: Callable[[], bool] = lambda: False
    ) -> Rows:
        """Sample for a time; a lost GPU ends it early.

        Args:
            seconds: from the first row to the last.
            alive: is called with every row.
            rescue: what to do where the driver fails.
            is_over: is asked with every row; the row at which it says so is the last one.

        Raises:
            DeviceFaultError: the driver failed again after that.
        """
        rows = Rows(self.signals)
        try:
            for row in self.stream(seconds, rescue, is_over):
                rows.t_s.append(row.t_s)
                rows.values.append(row.values)
                rows.missed_ticks += row.missed_ticks
                rows.is_over = row.is_over
                alive()
        except DeviceLostError as error:
            rows.lost = error
        return rows

    def stream(
        self, seconds: float, rescue: Rescue, is_over: Callable[[], bool], *, energy_every_s: float = math.inf
    ) -> Iterator[Row]:
        """Yield rows as they are read.

        Args:
            seconds: from the first row to the last; may be infinite.
            rescue: what to do where the driver fails.
            is_over: as in `sample`.
            energy_every_s: between readings of the energy counter, which the first and the last row always have.

        Raises:
            DeviceLostError: the GPU is gone.
            DeviceFaultError: the driver failed again after the rescue.
        """
        rescue.retry(lambda: self.counters.restart(time.monotonic()))
        start_s = time.monotonic()
        end_s = start_s + seconds
        energy_due_s = start_s
        for number, missed in enumerate(ticks(start_s, end_s, self._interval_s)):
            ends = number > 0 and is_over()
            now_s = time.monotonic()
            is_edge = ends or now_s >= min(energy_due_s, end_s)
            if is_edge:
                energy_due_s = now_s + energy_every_s
            t_s, values = rescue.retry(partial(self._read, has_energy=is_edge))
            yield Row(t_s, values, missed, is_over=ends)
            if ends:
                return

    def rebind(self, handle: Any) -> None:
        """Take the handle that holds after NVML was initialised anew. `Any`: NVML's handle."""
        self.readings.rebind(handle)
        self.counters.rebind(handle)

    def close(self) -> None:
        """Free what the sources hold."""
        self.counters.close()

    def _read(self, *, has_energy: bool) -> tuple[float, list[float]]:
        """Return the time and one value for each signal."""
        energy: list[float] = []
        if self.readings.counts_energy:
            energy.append(self.readings.read_energy() if has_energy else math.nan)
        t_s = time.monotonic()
        return t_s, [*energy, *self.readings.read(), *self.counters.poll(t_s)]


class Rescue:
    """Lets a call be tried again, the first time that the driver fails."""

    def __init__(self, revive: Callable[[], None]) -> None:
        """Take what is done before that one other try."""
        self._revive = revive
        self._is_used = False

    def retry(self, call: Callable[[], Result]) -> Result:
        """Return what a call returns.

        Raises:
            DeviceFaultError: the driver failed once more.
        """
        try:
            return call()
        except DeviceFaultError:
            if self._is_used:
                raise
        self._is_used = True
        self._revive()
        return call()
