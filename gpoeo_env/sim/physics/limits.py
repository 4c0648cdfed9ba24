"""What holds the SM clock below a request: board power and temperature, with the reasons as NVML names them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["POWER_CAP", "THERMAL_SLOWDOWN", "Limited", "reason_bits", "rows_under_limits"]

Array = NDArray[np.float64]

POWER_CAP = "sw_power_cap"
"""`nvmlClocksEventReasonSwPowerCap`: the board would draw more than its limit."""
THERMAL_SLOWDOWN = "sw_thermal_slowdown"
"""`nvmlClocksEventReasonSwThermalSlowdown`: the chip would get too hot."""

_BITS = {POWER_CAP: 0x4, THERMAL_SLOWDOWN: 0x20}


@dataclass(frozen=True, slots=True)
class Limited:
    """What runs where a clock is requested.

    Attributes:
        rows: index of the SM clock in force for each request, in the shape of the power that was asked about.
        is_power_capped: the power limit alone would hold the clock there.
        is_too_hot: the temperature alone would.
    """

    rows: NDArray[np.intp]
    is_power_capped: NDArray[np.bool_]
    is_too_hot: NDArray[np.bool_]

    def reasons(self, index: tuple[int, ...]) -> tuple[str, ...]:
        """Return why one request is not in force; empty = it is."""
        found = ((POWER_CAP, self.is_power_capped[index]), (THERMAL_SLOWDOWN, self.is_too_hot[index]))
        return tuple(reason for reason, holds in found if holds)


def rows_under_limits(watts: Array, limit_w: float, temperature_c: Array, slowdown_c: float) -> Limited:
    """Find the highest clock at or under each request that keeps both limits, the lowest of all where none does.

    Args:
        watts: board power by SM clock, ascending along the last axis; rises with the clock.
        limit_w: board power limit.
        temperature_c: steady temperature, likewise.
        slowdown_c: temperature limit.
    """
    by_power, by_heat = _highest(watts <= limit_w), _highest(temperature_c <= slowdown_c)
    highest, requested = np.minimum(by_power, by_heat), np.arange(watts.shape[-1])
    rows = np.minimum(requested, highest)
    is_lowered = rows < requested
    return Limited(rows, is_lowered & (by_power <= rows), is_lowered & (by_heat <= rows))


def reason_bits(reasons: tuple[str, ...]) -> int:
    """Return reasons as NVML's bit mask."""
    return sum(_BITS[reason] for reason in reasons)


def _highest(keeps_limit: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the index of the highest clock that keeps a limit, the last axis kept with length 1."""
    return np.maximum(np.count_nonzero(keeps_limit, axis=-1, keepdims=True) - 1, 0)
