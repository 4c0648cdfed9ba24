"""How wrong a prediction may be, jointly over all clock pairs: the covariance that a search starts from.

Everything is a function of the *log relative clocks* of the actions, float64, shape (n, 2): ln(SM clock / base SM
clock), ln(memory clock / base memory clock); the driver's default (action 0) stands at (0, 0).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_policies.gpoeo.belief import Prior

__all__ = ["error_covariance", "log_relative_clocks", "uninformed_prior"]

Array = NDArray[np.float64]

SMOOTH_SHARE = 0.1
"""Share of the covariance that is a smooth random function of the clocks and not taken from observed errors: with a
dozen workloads, the observed errors span a dozen directions alone. 0.05-0.2 gave the same replay results."""
ROUGHNESS = 0.002
"""Standard deviation of what is independent from pair to pair: measured curves are not smoother than that."""
UNINFORMED_SLOPE = (-0.5, 0.4)
"""Expected exponents of time and energy in the SM clock where nothing was learned: work bound half by the SM clock,
and a default that runs above the efficient clock."""
UNINFORMED_MEM_SLOPE = (-0.3, 0.1)
"""The same for the memory clock."""
UNINFORMED_VARIANCE = 0.15
"""Variance per unit of log clock of both: at half the clock, either exponent is uncertain by about 0.5."""


def log_relative_clocks(clocks: ClockTable, base: ClockPair) -> Array:
    """Return ln of SM and memory clock relative to a base pair, by action, float64, shape (n_actions, 2)."""
    relative = np.log(clocks.mhz / np.array([base.sm_mhz, base.mem_mhz], dtype=np.float64))
    return np.concatenate((np.zeros((1, 2)), relative))


def error_covariance(errors: Array, log_clocks: Array) -> Array:
    """Return the covariance of a prediction's error from errors that were seen on other workloads.

    Args:
        errors: observed ln ratio - predicted ln ratio of time and energy, shape (n_workloads, 2, n); or patterns that
            stand for such errors.
        log_clocks: shape (n, 2).

    Returns:
        float64, shape (2 n, 2 n), time first; zero for actions at the driver's default, but for their roughness.
    """
    n_workloads, _, n = errors.shape
    flat = errors.reshape(n_workloads, 2 * n)
    covariance: Array = ((1.0 - SMOOTH_SHARE) / n_workloads * flat.T) @ flat
    variance = (flat**2).mean(axis=0)
    for block in (slice(0, n), slice(n, 2 * n)):
        amplitudes, _ = nnls(np.abs(log_clocks), variance[block])
        covariance[block, block] += _random_walk(log_clocks, SMOOTH_SHARE * amplitudes)
    return _with_roughness(covariance)


def uninformed_prior(log_clocks: Array) -> Prior:
    """Return a prior for a search that has no model: rough exponents, and errors that grow with the clock's change."""
    n = len(log_clocks)
    mean = np.array([UNINFORMED_SLOPE, UNINFORMED_MEM_SLOPE]).T @ log_clocks.T
    covariance = np.zeros((2 * n, 2 * n))
    walk = _random_walk(log_clocks, np.full(2, UNINFORMED_VARIANCE))
    covariance[:n, :n] = covariance[n:, n:] = walk
    return Prior(mean, _with_roughness(covariance))


def _random_walk(log_clocks: Array, amplitudes: Array) -> Array:
    """Return the covariance of a sum of random walks away from the driver's default, one in each clock."""
    total = np.zeros((len(log_clocks), len(log_clocks)))
    for x, amplitude in zip(log_clocks.T, amplitudes, strict=True):
        for side in (np.maximum(x, 0.0), np.maximum(-x, 0.0)):
            if amplitude > 0 and side.any():
                total += np.minimum.outer(amplitude * side, amplitude * side)
    return total


def _with_roughness(covariance: Array) -> Array:
    """Add, in place, what is independent from pair to pair, but for action 0, which is exactly itself."""
    n = len(covariance) // 2
    roughness = np.full(2 * n, ROUGHNESS**2)
    roughness[[0, n]] = 0.0
    covariance[np.diag_indices(2 * n)] += roughness
    return covariance
