"""Has the workload become another one? An online answer, from counters and power.

    detector = ShiftDetector()
    shift = detector.update(window)             # None, or what changed and when

The last four and a half seconds at work are compared with the two minutes before them (`past`), in features that say
what the program does and not how a sensor happened to sample it (`behaviour`). So

- a cycle (an evaluation every fifth iteration, a slow beat) is known once it has been seen, whatever its shape;
- drift moves the range of the past along, and is no shift up to some 3 % a second;
- an outlier of less than a second and a half leaves a third of the run untouched, and is no shift;
- a pause is left out (`pauses`), so neither the start nor the end of a program is a shift;
- a clock change begins the past of level and pattern anew; the work mix keeps its own and goes on watching.

The past must first settle: before it held still for nine seconds, a change is a start-up and begins it anew without a
word. A return to what the workload was before its last shift is called once more; from then on both are phases of one
workload, and their alternation is silent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.clocks import ClockPair
from gpoeo_env.progress.blocks import BlockStream
from gpoeo_env.progress.past import Past, Shift
from gpoeo_env.progress.pauses import PauseFilter
from gpoeo_env.progress.refresh import unrefreshed_as_missing
from gpoeo_env.records import Window
from gpoeo_env.signals import MEM_CLOCK, SM_CLOCK, signal_named

__all__ = ["Shift", "ShiftDetector", "detect_shifts"]

Floats = NDArray[np.float64]


class ShiftDetector:
    """Watches the windows of one device, in order; gaps between them are fine."""

    _names: tuple[str, ...]
    _requested: ClockPair | None
    _stream: BlockStream
    _pauses: PauseFilter
    _past: Past

    def __init__(self) -> None:
        """Start without a past."""
        self._begin((), None)

    def reset(self) -> None:
        """Forget everything: another episode begins."""
        self._begin((), None)

    def clocks_changed(self) -> None:
        """Say that other clocks are in force from here on.

        `update` sees this by itself where windows tell the pair that was asked for. Where nothing tells the clocks in
        force, the work mix begins anew too.
        """
        self._past.change_clocks()

    def update(self, window: Window) -> Shift | None:
        """Take the next window and return the shift that it shows: the latest one, if it is long enough for two."""
        shifts = self.shifts_in(window)
        return shifts[-1] if shifts else None

    def shifts_in(self, window: Window) -> list[Shift]:
        """Take the next window, of any length, and return every shift that it shows."""
        window = _with_clocks(unrefreshed_as_missing(window))
        names = tuple(signal.name for signal in window.signals)
        if names != self._names:
            self._begin(names, window.requested)
        if window.requested != self._requested:
            self._requested = window.requested
            self.clocks_changed()
        return self._past.extend(self._pauses.at_work(self._stream.push(window.t_s, window.values)))

    def _begin(self, names: tuple[str, ...], requested: ClockPair | None) -> None:
        self._names = names
        self._requested = requested
        self._stream = BlockStream(names)
        self._pauses = PauseFilter()
        self._past = Past(self._stream.names)


def detect_shifts(t_s: Floats, values: Floats, names: Sequence[str]) -> tuple[Shift, ...]:
    """Return every shift of a recording, in order.

    Args:
        t_s: row times in seconds, shape (n,).
        values: shape (n, k); NaN where missing.
        names: the k columns; signals that are not canonical are not heard.
    """
    signals = tuple(signal_named(name) for name in names)
    return tuple(ShiftDetector().shifts_in(Window(t_s, values, signals, requested=None, observed=None)))


def _with_clocks(window: Window) -> Window:
    """Add the clocks in force as columns where the device does not sample them."""
    pair = window.observed or window.requested
    absent = tuple(signal for signal in (SM_CLOCK, MEM_CLOCK) if window.column(signal.name) is None)
    if pair is None or not absent:
        return window
    clocks_mhz = {SM_CLOCK: pair.sm_mhz, MEM_CLOCK: pair.mem_mhz}
    added = np.tile([float(clocks_mhz[signal]) for signal in absent], (len(window.t_s), 1))
    return replace(window, values=np.hstack((window.values, added)), signals=(*window.signals, *absent))
