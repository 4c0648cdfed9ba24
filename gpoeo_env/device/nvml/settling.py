"""When have clocks arrived after a change? Different targets take differently long, so the clock is asked."""

from __future__ import annotations

import math
import time

import numpy as np

from gpoeo_env.clocks import ClockPair
from gpoeo_env.device.nvml.readings import Readings
from gpoeo_env.device.nvml.reasons import CAPS
from gpoeo_env.progress.summary import HONOURED_TOLERANCE_MHZ
from gpoeo_env.signals import MEM_CLOCK, POWER, POWER_INSTANT, SM_CLOCK, THROTTLE_REASONS, Signal

__all__ = ["LEAST_SETTLE_S", "MOST_SETTLE_S", "Arrival", "is_at"]

LEAST_SETTLE_S = 0.1
"""Power and counters refresh as often: what they show sooner is from before the change."""
RELEASE_SETTLE_S = 0.3
"""Nobody can say where the driver goes when clocks are released, so that takes a fixed time."""
MOST_SETTLE_S = 2.0
"""A lock that has not arrived by then is not honoured, and the window will say so."""
POLL_S = 0.01


def is_at(pair: ClockPair, sm_mhz: float, mem_mhz: float) -> bool:
    """Tell whether clocks are those of a pair, to one clock step; unknown clocks are not held against it."""
    return not (
        abs(sm_mhz - pair.sm_mhz) > HONOURED_TOLERANCE_MHZ or abs(mem_mhz - pair.mem_mhz) > HONOURED_TOLERANCE_MHZ
    )


class Arrival:
    """The wait for one change of clocks."""

    def __init__(self, readings: Readings, target: ClockPair | None) -> None:
        """Take what is read, and where the clocks shall go; None = wherever the driver likes."""
        self._readings = readings
        self._target = target
        self._columns = {signal: column for column, signal in enumerate(readings.signals)}

    def wait(self) -> float:
        """Wait until the clocks are there, capped, or overdue; return the mean power meanwhile in W, NaN if unknown.

        Raises:
            DeviceLostError: the GPU is gone.
            DeviceFaultError: the driver failed.
        """
        start_s = time.monotonic()
        watts: list[float] = []
        while True:
            row = self._readings.read()
            watts.append(self._value(row, POWER_INSTANT if POWER_INSTANT in self._columns else POWER))
            if self._is_over(row, time.monotonic() - start_s):
                break
            time.sleep(POLL_S)
        return math.nan if np.isnan(watts).all() else float(np.nanmean(watts))

    def _is_over(self, row: list[float], waited_s: float) -> bool:
        if self._target is None:
            return waited_s >= RELEASE_SETTLE_S
        if waited_s < LEAST_SETTLE_S:
            return False
        has_arrived = is_at(self._target, self._value(row, SM_CLOCK), self._value(row, MEM_CLOCK))
        return has_arrived or self._is_capped(row) or waited_s >= MOST_SETTLE_S

    def _is_capped(self, row: list[float]) -> bool:
        mask = self._value(row, THROTTLE_REASONS)
        return not math.isnan(mask) and bool(int(mask) & CAPS)

    def _value(self, row: list[float], signal: Signal) -> float:
        column = self._columns.get(signal)
        return math.nan if column is None else row[column]
