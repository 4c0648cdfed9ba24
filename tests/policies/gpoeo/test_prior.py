"""Covariances are covariances, and nothing is uncertain about the driver's default."""

from __future__ import annotations

import numpy as np

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_policies.gpoeo.prior import error_covariance, log_relative_clocks, uninformed_prior

CLOCKS = ClockTable.from_product((900, 1200, 1500, 1600), (4000, 5000, 5500))
LOG_CLOCKS = log_relative_clocks(CLOCKS, ClockPair(1500, 5000))


def some_errors() -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    errors = 0.03 * np.random.default_rng(0).standard_normal((6, 2, CLOCKS.n_actions))
    errors[:, :, 0] = 0.0
    return errors


def test_the_default_stands_at_the_origin_of_the_log_clocks() -> None:
    assert LOG_CLOCKS[0].tolist() == [0.0, 0.0]
    assert LOG_CLOCKS[CLOCKS.action_of(ClockPair(1500, 5000))].tolist() == [0.0, 0.0]
    assert LOG_CLOCKS[CLOCKS.action_of(ClockPair(900, 4000))].tolist() == np.log([900 / 1500, 4000 / 5000]).tolist()


def test_an_error_covariance_is_symmetric_and_has_no_negative_direction() -> None:
    covariance = error_covariance(some_errors(), LOG_CLOCKS)

    np.testing.assert_allclose(covariance, covariance.T)
    assert np.linalg.eigvalsh(covariance).min() > -1e-12


def test_the_default_has_no_error() -> None:
    for covariance in (error_covariance(some_errors(), LOG_CLOCKS), uninformed_prior(LOG_CLOCKS).covariance):
        assert not covariance[[0, CLOCKS.n_actions]].any()


def test_an_error_is_expected_to_be_as_large_as_those_seen() -> None:
    errors = some_errors()
    errors[:, :, 1:] = np.sign(errors[:, :, 1:]) * 0.03

    variance = np.diag(error_covariance(errors, LOG_CLOCKS))[1 : CLOCKS.n_actions]
    assert np.abs(variance.mean() / 0.03**2 - 1.0) < 0.15


def test_what_happens_above_the_default_says_nothing_of_what_happens_below() -> None:
    covariance = uninformed_prior(LOG_CLOCKS).covariance
    above, below, lower = (CLOCKS.action_of(ClockPair(sm, 5000)) for sm in (1600, 1200, 900))

    assert covariance[above, below] == 0.0
    assert covariance[lower, below] > 0.0


def test_errors_seen_together_are_expected_together() -> None:
    errors = some_errors()
    errors[:, 1] = errors[:, 0]

    covariance = error_covariance(errors, LOG_CLOCKS)
    n = CLOCKS.n_actions
    assert (np.diag(covariance[:n, n:])[1:] > 0.5 * np.diag(covariance[:n, :n])[1:]).all()


def test_an_uninformed_prior_is_surer_near_the_default_than_far_from_it() -> None:
    prior = uninformed_prior(LOG_CLOCKS)
    variance = np.diag(prior.covariance)

    near, far = (CLOCKS.action_of(ClockPair(sm, 5000)) for sm in (1200, 900))
    assert variance[near] < variance[far]
    assert 0 < prior.mean[0, near] < prior.mean[0, far]
