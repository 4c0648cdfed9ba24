"""Time never rises with a clock, whatever a model said, on any table."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gpoeo_policies.gpoeo.monotone import never_rising

Array = NDArray[np.float64]


@st.composite
def tables(draw: st.DrawFn) -> tuple[Array, Array]:
    """Some pairs of a grid around the base, and any values."""
    grid = [(sm, mem) for sm in (-0.6, -0.3, -0.1, 0.0, 0.1) for mem in (-0.7, 0.0, 0.2)]
    pairs = draw(st.lists(st.sampled_from(grid), min_size=1, unique=True))
    values = draw(st.lists(st.floats(-1, 1), min_size=len(pairs), max_size=len(pairs)))
    return np.array(values), np.array(pairs)


@given(tables())
def test_a_pair_that_is_nowhere_slower_clocked_takes_no_longer(table: tuple[Array, Array]) -> None:
    values, log_clocks = table
    result = never_rising(values, log_clocks)

    for slow, at_slow in zip(log_clocks, result, strict=True):
        for fast, at_fast in zip(log_clocks, result, strict=True):
            assert at_fast <= at_slow or not (fast >= slow).all()


@given(tables())
def test_the_base_pair_takes_what_it_takes(table: tuple[Array, Array]) -> None:
    values, log_clocks = table

    assert not never_rising(values, log_clocks)[~log_clocks.any(axis=1)].any()


@given(tables())
def test_what_never_rises_is_left_as_it_is(table: tuple[Array, Array]) -> None:
    _, log_clocks = table
    falling = -(log_clocks @ np.array([0.8, 0.3]))

    np.testing.assert_array_equal(never_rising(falling, log_clocks), falling)
