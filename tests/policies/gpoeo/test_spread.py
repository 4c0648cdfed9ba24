"""Few numbers that stand for many errors."""

from __future__ import annotations

import numpy as np

from gpoeo_policies.gpoeo.spread import MOST_PATTERNS, ErrorPatterns

SM = np.log(np.linspace(0.4, 1.0, 13))
CLOCKS = np.array([(sm, mem) for mem in (np.log(0.5), 0.0) for sm in SM])


def some_errors(n_workloads: int) -> list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    """Errors that grow away from the base, in one direction for each clock and quantity."""
    rng = np.random.default_rng(1)
    return [0.1 * rng.standard_normal((2, 2)) @ np.abs(CLOCKS.T) for _ in range(n_workloads)]


def covariance(patterns: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> np.ndarray:
    flat = patterns.reshape(len(patterns), -1)
    return flat.T @ flat / len(flat)


def test_the_patterns_vary_as_the_errors_did() -> None:
    errors = some_errors(40)
    found = ErrorPatterns.of([(CLOCKS, error) for error in errors])

    assert len(found.patterns) == MOST_PATTERNS
    np.testing.assert_allclose(covariance(found.at(CLOCKS)), covariance(np.array(errors)), atol=1e-5)


def test_no_variance_is_lost_where_errors_go_everywhere() -> None:
    rng = np.random.default_rng(2)
    errors = [0.1 * rng.standard_normal((2, len(CLOCKS))) * CLOCKS.any(axis=1) for _ in range(60)]
    found = ErrorPatterns.of([(CLOCKS, error) for error in errors])

    seen = float(np.trace(covariance(np.array(errors))))
    assert abs(np.trace(covariance(found.at(CLOCKS))) / seen - 1.0) < 0.01


def test_nothing_is_wrong_at_the_base() -> None:
    found = ErrorPatterns.of([(CLOCKS, error) for error in some_errors(5)])

    assert not found.at(np.zeros((1, 2))).any()


def test_between_two_clocks_an_error_lies_between_theirs() -> None:
    found = ErrorPatterns.of([(CLOCKS, error) for error in some_errors(5)])
    low, middle, high = found.at(np.array([(SM[3], 0.0), ((SM[3] + SM[4]) / 2, 0.0), (SM[4], 0.0)])).transpose(2, 0, 1)

    np.testing.assert_allclose(middle, (low + high) / 2)


def test_a_large_table_is_kept_at_some_of_its_clocks() -> None:
    many = np.array([(sm, mem) for mem in np.log([0.2, 0.5, 1.0]) for sm in np.log(np.linspace(0.2, 1.0, 200))])
    found = ErrorPatterns.of([(many, 0.1 * np.abs(many.T)), (many, -0.2 * np.abs(many.T))])

    assert len(found.log_clocks) <= 100
    spread = np.sqrt((found.at(many) ** 2).mean(axis=0))
    np.testing.assert_allclose(spread, np.sqrt((0.1**2 + 0.2**2) / 2) * np.abs(many.T), atol=0.003)
