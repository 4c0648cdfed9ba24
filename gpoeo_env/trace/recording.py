"""A recording: what one GPU reported while a program ran, sample by sample.

A sweep holds one mean a clock pair; a recording holds the series, so that periods, progress and shifts can be found in
it and any stretch of it can be looked at as the `Window` that a live device would have returned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.clocks import ClockPair
from gpoeo_env.errors import TraceError, UsageError, repeated
from gpoeo_env.records import Window
from gpoeo_env.signals import MEM_CLOCK, SM_CLOCK, Signal
from gpoeo_env.trace.sweep import Provenance

__all__ = ["Recording"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Recording:
    """One series of samples.

    Attributes:
        name: what was recorded, for people.
        gpu_name: None where the source does not say.
        t_s: time of each row in monotonic seconds, float64, shape (n,), n >= 2; never falls. Rows may share a time
            stamp: a log that rounds its times has such rows, and their readings are as good as any.
        values: float64, shape (n, k); NaN where missing, never infinite.
        signals: the k columns; names are unique.
        provenance: where it comes from.
    """

    name: str
    gpu_name: str | None
    t_s: Array
    values: Array
    signals: tuple[Signal, ...]
    provenance: Provenance

    def __post_init__(self) -> None:
        """Check shapes, times and names.

        Raises:
            TraceError: there are fewer than two rows or no signal, a shape does not fit, a time is not finite or
                earlier than the one before, all times are the same, a value is infinite, or a signal is listed twice.
        """
        n = len(self.t_s)
        if n < 2 or not self.signals:
            raise TraceError(
                f"recording {self.name!r} has {n} rows of {len(self.signals)} signals; it needs at least two rows and "
                "one signal"
            )
        if self.t_s.shape != (n,) or self.values.shape != (n, len(self.signals)):
            raise TraceError(
                f"recording {self.name!r}: times have shape {self.t_s.shape} and values {self.values.shape}; wanted "
                f"({n},) and ({n}, {len(self.signals)})"
            )
        self._check_times()
        infinite = np.isinf(self.values)
        if infinite.any():
            row, column = np.argwhere(infinite)[0].tolist()
            raise TraceError(
                f"recording {self.name!r}: {self.signals[column].name} is infinite in row {row + 1}; write NaN for a "
                "missing value"
            )
        names = [signal.name for signal in self.signals]
        twice = repeated(names)
        if twice:
            raise TraceError(f"recording {self.name!r} lists {', '.join(twice)} twice; give each signal its own name")

    @property
    def duration_s(self) -> float:
        """Time from the first to the last row."""
        return float(self.t_s[-1] - self.t_s[0])

    @property
    def names(self) -> tuple[str, ...]:
        """Signal names in column order."""
        return tuple(signal.name for signal in self.signals)

    def column(self, name: str) -> Array | None:
        """Return one signal's values, float64, shape (n,); None where it was not recorded."""
        return self.values[:, self.names.index(name)] if name in self.names else None

    def between(self, start_s: float, end_s: float) -> Recording:
        """Return the rows from ``start_s`` to ``end_s``, both included, as a recording.

        Raises:
            UsageError: fewer than two rows are in that stretch.
        """
        rows = self._rows(start_s, end_s)
        return replace(self, t_s=self.t_s[rows], values=self.values[rows])

    def window(self, start_s: float, end_s: float) -> Window:
        """Return the rows from ``start_s`` to ``end_s``, both included, as a device would have returned them.

        Nothing was requested, and the clocks in force are the means of the clock signals.

        Raises:
            UsageError: fewer than two rows are in that stretch.
        """
        rows = self._rows(start_s, end_s)
        unclocked = Window(self.t_s[rows], self.values[rows], self.signals, requested=None, observed=None)
        sm_mhz, mem_mhz = unclocked.mean(SM_CLOCK), unclocked.mean(MEM_CLOCK)
        if not (sm_mhz >= 1 and mem_mhz >= 1):
            return unclocked
        return replace(unclocked, observed=ClockPair(round(sm_mhz), round(mem_mhz)))

    def _rows(self, start_s: float, end_s: float) -> slice:
        rows = slice(int(np.searchsorted(self.t_s, start_s)), int(np.searchsorted(self.t_s, end_s, side="right")))
        t_s = self.t_s[rows]
        if len(t_s) < 2 or not t_s[-1] > t_s[0]:
            raise UsageError(
                f"recording {self.name!r} has {len(t_s)} rows from {start_s:g} to {end_s:g} s; a stretch needs two at "
                f"different times; the recording runs from {self.t_s[0]:g} to {self.t_s[-1]:g} s"
            )
        return rows

    def _check_times(self) -> None:
        if not np.isfinite(self.t_s).all():
            row = int(np.argmin(np.isfinite(self.t_s)))
            raise TraceError(f"recording {self.name!r}: the time of row {row + 1} is {self.t_s[row]}, not a number")
        steps = np.diff(self.t_s)
        if (steps < 0).any():
            row = int(np.argmax(steps < 0)) + 1
            raise TraceError(
                f"recording {self.name!r}: row {row + 1} is at {self.t_s[row]:g} s, after row {row} at "
                f"{self.t_s[row - 1]:g} s; times must not fall: sort the rows, or cut the log where its clock restarts"
            )
        if not self.t_s[-1] > self.t_s[0]:
            raise TraceError(f"recording {self.name!r}: every row is at {self.t_s[0]:g} s; there is no time in it")
