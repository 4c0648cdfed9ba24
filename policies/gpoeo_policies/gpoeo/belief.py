"""What is believed about every action: a joint Gaussian over the log ratios of time and energy.

One measurement moves the belief about all actions, because models err alike at neighbouring clocks. Measured
ratios are relative to a reference that was itself measured with noise; that error is common to all of them and
is therefore part of the belief, so that measuring action 0 again sharpens every other ratio.

    belief = Belief(prior)
    belief.observe(action=0, log_ratios=np.zeros(2), noise=noise)      # the reference window itself
    belief.observe(action=17, log_ratios=np.log([1.04, 0.82]), noise=noise)
    mean, sd = belief.along(np.array([0.0, 1.0]))                      # ln energy of every action
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Belief", "Prior"]

Array = NDArray[np.float64]

OFFSET_SD = 0.3
"""Spread of the unknown error of the reference before any window: far more than any real window shows."""


@dataclass(frozen=True, slots=True)
class Prior:
    """What is expected of n actions before any measurement.

    Attributes:
        mean: ln time and ln energy ratios, float64, shape (2, n); zero for action 0.
        covariance: of the flattened ``mean``, float64, shape (2 n, 2 n); zero for action 0.
    """

    mean: Array
    covariance: Array


class Belief:
    """Gaussian belief over (ln time, ln energy) of n actions and the two common errors of the reference.

    The covariance is kept as the prior's minus a product of two columns for each measurement, so that a measurement
    costs time in proportion to n and not to its square.
    """

    def __init__(self, prior: Prior) -> None:
        """Start from a prior."""
        n_values = prior.mean.size
        self.n_actions = prior.mean.shape[1]
        self._mean = np.concatenate((prior.mean.ravel(), np.zeros(2)))
        self._prior = np.zeros((n_values + 2, n_values + 2))
        self._prior[:n_values, :n_values] = prior.covariance
        self._prior[n_values:, n_values:] = OFFSET_SD**2 * np.eye(2)
        self._learned = np.empty((n_values + 2, 0))

    def observe(self, action: int, log_ratios: Array, noise: Array) -> None:
        """Take in one measurement.

        Args:
            action: what was measured.
            log_ratios: measured (ln time, ln energy), shape (2,), relative to the reference as it was measured.
            noise: covariance of the measurement's own error, shape (2, 2), positive definite.
        """
        moves, factor = self._moves(action, noise)
        self._mean = self._mean + moves @ np.linalg.solve(factor, log_ratios - self.expected(action))
        self._learned = np.concatenate((self._learned, moves), axis=1)

    def expected(self, action: int) -> Array:
        """Return the expected measurement (ln time, ln energy) of an action, reference error included, shape (2,)."""
        return self._mean[self._rows(action)] + self._mean[-2:]

    def expected_noise(self, action: int, noise: Array) -> Array:
        """Return the covariance of what a measurement of an action will show, shape (2, 2)."""
        observed = self._observed(action)
        return observed[:, self._rows(action)] + observed[:, -2:] + noise

    def along(self, weights: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation of ``weights . (ln time, ln energy)`` of every action, shape (n,) each."""
        n = self.n_actions
        mean = weights @ self._mean[:-2].reshape(2, n)
        prior = np.einsum("q,qiri,r->i", weights, self._prior[:-2, :-2].reshape(2, n, 2, n), weights)
        learned = np.einsum("q,qik->ik", weights, self._learned[:-2].reshape(2, n, -1))
        return mean, np.sqrt(np.maximum(prior - (learned**2).sum(axis=1), 0.0))

    def shift(self, action: int, noise: Array) -> Array:
        """Return how a measurement of an action would move the means, float64, shape (2, n, 2).

        The last axis are two independent standard normal surprises; the sum of squares over it is the variance
        that the measurement removes.
        """
        moves, _ = self._moves(action, noise)
        return moves[:-2].reshape(2, self.n_actions, 2)

    def _moves(self, action: int, noise: Array) -> tuple[Array, Array]:
        """Return the move of all values by unit surprises, and the Cholesky factor that makes errors of surprises."""
        observed = self._observed(action)
        factor = np.linalg.cholesky(observed[:, self._rows(action)] + observed[:, -2:] + noise)
        moves = np.linalg.solve(factor, observed).T
        return np.asarray(moves, dtype=np.float64), np.asarray(factor, dtype=np.float64)

    def _observed(self, action: int) -> Array:
        """Return the covariance of a measurement's expectation with all values, shape (2, 2 n + 2)."""
        rows = self._rows(action)
        observed: Array = self._prior[rows] + self._prior[-2:]
        return observed - (self._learned[rows] + self._learned[-2:]) @ self._learned.T

    def _rows(self, action: int) -> list[int]:
        return [action, self.n_actions + action]
