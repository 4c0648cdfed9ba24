"""What a learned agent sees of a window: a fixed vector of channels with fixed physical scales.

Nothing here depends on statistics of past runs, so an agent and its observations cannot come apart. Every channel
has a second one beside it that says whether the value is known: 0 is a value, not a sign of absence.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.records import Measurement
from gpoeo_env.signals import CANONICAL

__all__ = ["CHANNELS", "COUNTERS", "OBSERVATION_NAMES", "observation_bounds", "observation_of"]

MOST_RATIO = 25.0
"""Bound of time and energy ratios: the lowest memory clock of a catalogued GPU is 1/23 of its highest."""
MOST_POWER = 2.0
"""Bound of power over the board limit: short windows see spikes above the limit."""

COUNTERS: tuple[str, ...] = tuple(signal.name for signal in CANONICAL if signal.unit == "1")
"""Counters that are ratios, in the order in which they are observed."""
_UPPER_BOUNDS = {
    "time_ratio": MOST_RATIO,
    "energy_ratio": MOST_RATIO,
    "power_to_limit": MOST_POWER,
    "sm_clock_to_top": 1.0,
    "mem_clock_to_top": 1.0,
    **dict.fromkeys(COUNTERS, 1.0),
}
CHANNELS: tuple[str, ...] = tuple(_UPPER_BOUNDS)
"""What is observed: time and energy per work against the reference, board power against its limit, clocks against
the highest of the table, and the counters that are ratios."""
OBSERVATION_NAMES: tuple[str, ...] = (*CHANNELS, *(f"{name}_is_known" for name in CHANNELS))
"""Names of the components of an observation, in order."""


def observation_bounds() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the lowest and highest observation, both float32, shape (len(OBSERVATION_NAMES),)."""
    high = np.array([*_UPPER_BOUNDS.values(), *[1.0] * len(CHANNELS)], dtype=np.float32)
    return np.zeros_like(high), high


def observation_of(
    measurement: Measurement, pair: ClockPair | None, clocks: ClockTable, power_limit_w: float
) -> NDArray[np.float32]:
    """Turn a window into an observation.

    Args:
        measurement: the window.
        pair: what was locked, for devices that do not report their clocks; None = released.
        clocks: the device's table.
        power_limit_w: of the board; NaN where unknown.

    Returns:
        Finite and within `observation_bounds`, float32, shape (len(OBSERVATION_NAMES),); unknown channels are 0 and
        their ``_is_known`` is 0.
    """
    ratios, in_force = measurement.ratios, measurement.observed or pair
    values = np.array(
        [
            ratios.time if ratios else math.nan,
            ratios.energy if ratios else math.nan,
            measurement.power_w / power_limit_w if power_limit_w > 0 else math.nan,
            in_force.sm_mhz / clocks.sm_clocks[-1] if in_force else math.nan,
            in_force.mem_mhz / clocks.mem_clocks[-1] if in_force else math.nan,
            *(measurement.features.get(name) for name in COUNTERS),
        ]
    )
    is_known = np.isfinite(values)
    low, high = observation_bounds()
    observation: NDArray[np.float64] = np.concatenate((np.where(is_known, values, 0.0), is_known))
    return np.minimum(np.maximum(observation, low), high).astype(np.float32)
