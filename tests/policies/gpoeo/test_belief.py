"""The belief against conditioning a joint Gaussian in one go."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from gpoeo_policies.gpoeo.belief import OFFSET_SD, Belief, Prior
from gpoeo_policies.noise import noise_of

Array = NDArray[np.float64]
N = 5


def some_prior() -> Prior:
    rng = np.random.default_rng(1)
    root = 0.05 * rng.standard_normal((2 * N, 2 * N))
    root[[0, N]] = 0.0
    mean = 0.1 * rng.standard_normal((2, N))
    mean[:, 0] = 0.0
    return Prior(mean, root @ root.T)


def conditioned(prior: Prior, seen: list[tuple[int, Array]], noise: Array) -> tuple[Array, Array]:
    """Return mean and covariance of the 2 N values, all measurements taken in at once."""
    n_values = 2 * N
    joint = np.zeros((n_values + 2, n_values + 2))
    joint[:n_values, :n_values] = prior.covariance
    joint[n_values:, n_values:] = OFFSET_SD**2 * np.eye(2)
    rows = np.zeros((2 * len(seen), n_values + 2))
    for index, (action, _) in enumerate(seen):
        for quantity in range(2):
            rows[2 * index + quantity, [quantity * N + action, n_values + quantity]] = 1.0
    mean = np.concatenate((prior.mean.ravel(), np.zeros(2)))
    error = np.concatenate([ratios for _, ratios in seen]) - rows @ mean
    gain = joint @ rows.T @ np.linalg.inv(rows @ joint @ rows.T + np.kron(np.eye(len(seen)), noise))
    return (mean + gain @ error)[:n_values], (joint - gain @ rows @ joint)[:n_values, :n_values]


@pytest.fixture
def seen() -> list[tuple[int, Array]]:
    return [(action, np.array(ratios)) for action, ratios in [(0, (0.0, 0.0)), (3, (0.04, -0.2)), (0, (0.01, 0.0))]]


def test_measurements_one_by_one_give_what_all_at_once_give(seen: list[tuple[int, Array]]) -> None:
    prior, noise = some_prior(), noise_of(0.01, 0.02)
    belief = Belief(prior)
    for action, ratios in seen:
        belief.observe(action, ratios, noise)

    mean, covariance = conditioned(prior, seen, noise)
    for quantity, weights in enumerate(np.eye(2)):
        rows = slice(quantity * N, (quantity + 1) * N)
        expected, sd = belief.along(weights)
        np.testing.assert_allclose(expected, mean[rows], atol=1e-9)
        np.testing.assert_allclose(sd, np.sqrt(np.maximum(np.diag(covariance)[rows], 0.0)), atol=1e-6)


def test_the_drivers_default_is_known_exactly_before_and_after() -> None:
    belief = Belief(some_prior())
    belief.observe(0, np.array([0.02, 0.02]), noise_of(0.01, 0.01))

    mean, sd = belief.along(np.array([1.0, 1.0]))
    assert mean[0] == 0.0
    assert sd[0] == 0.0


def test_a_reference_that_read_high_makes_everything_else_look_slower() -> None:
    belief = Belief(Prior(np.zeros((2, N)), some_prior().covariance))
    belief.observe(0, np.zeros(2), noise_of(0.01, 0.01))
    before, _ = belief.along(np.array([1.0, 0.0]))
    for _ in range(50):  # later windows at the default are all 2 % faster than the first
        belief.observe(0, np.array([-0.02, -0.02]), noise_of(0.001, 0.001))
    belief.observe(2, np.array([0.0, 0.0]), noise_of(0.001, 0.001))

    after, _ = belief.along(np.array([1.0, 0.0]))
    assert after[2] - before[2] == pytest.approx(0.02, abs=0.001)


def test_a_shift_moves_the_mean_as_the_measurement_then_does() -> None:
    noise, measured = noise_of(0.01, 0.01), np.array([0.1, -0.1])
    belief, moved = Belief(some_prior()), Belief(some_prior())
    for each in (belief, moved):
        each.observe(0, np.zeros(2), noise)
    moved.observe(1, measured, noise)

    spread = belief.expected_noise(1, noise)
    surprise = np.linalg.solve(np.linalg.cholesky(spread), measured - belief.expected(1))
    for quantity, weights in enumerate(np.eye(2)):
        shift = belief.shift(1, noise)[quantity] @ surprise
        np.testing.assert_allclose(belief.along(weights)[0] + shift, moved.along(weights)[0], atol=1e-12)


def test_energy_carries_the_whole_error_of_time() -> None:
    assert noise_of(0.01, 0.02) == pytest.approx(np.array([[1e-4, 1e-4], [1e-4, 5e-4]]))
