"""The error of one window in (ln time, ln energy), and how far a window is from what is known."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.records import Ratios

__all__ = ["SHIFT_SD", "distance", "noise_of", "noise_of_ratios"]

Array = NDArray[np.float64]

LEAST_REL_SD = 1e-4
"""Floor of a measurement's stated error: no sensor is better, and exact statements would make beliefs singular."""
SHIFT_SD = 4.5
"""A window this far from what is known of its action is not noise: once in 25,000 windows by chance."""


def noise_of(time_rel_sd: float, power_rel_sd: float) -> Array:
    """Return the covariance of one window's (ln time, ln energy), float64, shape (2, 2).

    Energy per work is power times time per work: it carries the whole error of the latter.
    """
    time, power = max(time_rel_sd, LEAST_REL_SD) ** 2, max(power_rel_sd, LEAST_REL_SD) ** 2
    return np.array([[time, time], [time, time + power]])


def noise_of_ratios(ratios: Ratios) -> Array:
    """Return the covariance of (ln time, ln energy) that ratios state, float64, shape (2, 2)."""
    time_sd, energy_sd = ratios.time_sd / ratios.time, ratios.energy_sd / ratios.energy
    return noise_of(time_sd, math.sqrt(max(energy_sd**2 - time_sd**2, 0.0)))


def distance(error: Array, noise: Array) -> float:
    """Return the length of an error in standard deviations of its noise (of two dimensions).

    Args:
        error: in (ln time, ln energy), shape (2,).
        noise: its covariance, shape (2, 2), positive definite.
    """
    return float(np.sqrt(error @ np.linalg.solve(noise, error)))
