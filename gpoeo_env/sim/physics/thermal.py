"""Temperature: one resistance and one capacity between the chip and the air, with leakage that grows with it.

Leakage is linear in temperature around its reference, so the steady state has a closed form: a hotter chip leaks more,
which heats it further, and the two settle where the heat that leaves equals the power drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.physics.power import PowerParts

__all__ = ["SteadyState", "steady_state", "warming"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SteadyState:
    """Where power and temperature settle, each float64 in the shape of the clocks.

    Attributes:
        watts: board power.
        temperature_c: of the chip.
        watts_per_k: how much more the board draws for each kelvin above ``temperature_c``.
    """

    watts: Array
    temperature_c: Array
    watts_per_k: Array


def steady_state(gpu: Gpu, power: PowerParts) -> SteadyState:
    """Return where a constant load settles."""
    thermal, per_k = gpu.thermal, gpu.power.leakage_per_k
    watts_per_k = power.leakage_w * per_k
    cold_w = power.other_w + power.leakage_w + watts_per_k * (thermal.ambient_c - gpu.power.leakage_at_c)
    # watts = cold_w + watts_per_k * (T - ambient) and T - ambient = R * watts
    watts = cold_w / (1.0 - thermal.resistance_k_per_w * watts_per_k)
    return SteadyState(watts, thermal.ambient_c + thermal.resistance_k_per_w * watts, watts_per_k)


def warming(gpu: Gpu, excess_k: float, elapsed_s: Array) -> tuple[Array, Array]:
    """Return how far the chip is from its steady temperature, and the integral of that over time.

    Args:
        gpu: whose time constant.
        excess_k: kelvin above the steady temperature at time 0.
        elapsed_s: seconds since then, any shape.

    Returns:
        Kelvin above the steady temperature, and kelvin seconds since time 0, both in the shape of ``elapsed_s``.
    """
    decay = np.exp(-elapsed_s / gpu.thermal.time_constant_s)
    return excess_k * decay, excess_k * gpu.thermal.time_constant_s * (1.0 - decay)
