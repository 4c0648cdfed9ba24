"""The time law finds itself in what it made, and keeps what physics promises."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from gpoeo_policies.gpoeo.time_law import Bounds, TimeLaw

Array = NDArray[np.float64]

LAW = TimeLaw(parts_exponent=1.8, host_exponent=1.3, traffic=0.4, utilisation=0.7)
CLOCKS = np.array([(sm, mem) for mem in (0.1, 0.5, 1.0) for sm in np.linspace(0.2, 1.1, 10)])


def made_bounds(n_workloads: int = 40) -> Bounds:
    rng = np.random.default_rng(0)
    busy, memory = rng.uniform(0.3, 1.0, n_workloads), rng.uniform(0.0, 0.6, n_workloads)
    traffic = memory * rng.uniform(0.6, 1.0, n_workloads)
    return Bounds(*(values.repeat(len(CLOCKS)) for values in (busy, traffic * busy, memory * busy)))


def test_the_default_takes_as_long_as_the_default() -> None:
    bounds = Bounds(np.array([0.4, 0.9, 1.0]), np.array([0.0, 0.5, 0.9]), np.array([0.0, 0.6, 1.0]))
    np.testing.assert_allclose(LAW.log_ratio(np.ones((3, 2)), bounds), 0.0, atol=1e-12)


def test_a_law_is_found_again_in_the_times_that_it_gives() -> None:
    bounds, clocks = made_bounds(), np.tile(CLOCKS, (40, 1))
    found = TimeLaw.fit(clocks, bounds, LAW.log_ratio(clocks, bounds), np.full(len(clocks), 1 / len(CLOCKS)))
    assert (found.parts_exponent, found.host_exponent) == pytest.approx((1.8, 1.3), rel=0.02)
    assert (found.traffic, found.utilisation) == pytest.approx((0.4, 0.7), abs=0.02)


def test_work_that_only_computes_answers_to_the_sm_clock_alone() -> None:
    clocks = np.array([[0.5, 1.0], [1.0, 0.1]])
    assert np.exp(LAW.log_ratio(clocks, Bounds(1.0, 0.0, 0.0))) == pytest.approx([2.0, 1.0])


def test_work_that_only_moves_bytes_answers_to_the_memory_clock() -> None:
    times = np.exp(LAW.log_ratio(np.array([[1.0, 0.5], [0.7, 1.0]]), Bounds(1.0, 0.9, 1.0)))
    assert times == pytest.approx([2.0, 1.0], rel=0.01)


def test_a_gpu_that_mostly_waits_hardly_answers_to_any_clock() -> None:
    assert np.exp(LAW.log_ratio(np.array([[0.5, 0.5]]), Bounds(0.05, 0.02, 0.03)))[0] < 1.1


def test_time_never_rises_with_a_clock() -> None:
    for busy, traffic, utilisation in np.random.default_rng(1).uniform(0, 1, (50, 3)):
        times = LAW.log_ratio(CLOCKS, Bounds(busy, traffic, utilisation)).reshape(3, 10)
        assert (np.diff(times, axis=0) <= 1e-12).all()
        assert (np.diff(times, axis=1) <= 1e-12).all()
