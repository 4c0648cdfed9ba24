"""Some pairs stand for a large table, and what lies between them is read from its neighbours."""

from __future__ import annotations

import numpy as np

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_policies.gpoeo.clock_grid import read_between, spaced
from gpoeo_policies.gpoeo.prior import log_relative_clocks

TABLE = ClockTable.from_product(range(15, 1801, 15), (405, 810, 2500, 4000, 5000))


def test_every_pair_of_a_small_table_is_taken() -> None:
    log_clocks = np.column_stack((np.linspace(-1, 0, 60), np.zeros(60)))

    assert spaced(log_clocks).tolist() == list(range(60))


def test_of_a_large_table_some_pairs_at_each_memory_clock_are_taken() -> None:
    pairs = TABLE.mhz[spaced(log_relative_clocks(TABLE, TABLE.top)[1:])]

    assert 50 <= len(pairs) <= 70
    assert np.unique(pairs[:, 1], return_counts=True)[1].min() >= 10
    assert {15.0, 1800.0} <= set(pairs[:, 0])


def test_the_base_pair_is_always_taken() -> None:
    for pair in (ClockPair(1410, 4000), ClockPair(30, 405), ClockPair(1800, 5000)):
        assert TABLE.action_of(pair) - 1 in spaced(log_relative_clocks(TABLE, pair)[1:])


def test_the_order_of_the_pairs_does_not_matter() -> None:
    log_clocks = log_relative_clocks(TABLE, TABLE.top)[1:]
    shuffled = np.random.default_rng(0).permutation(log_clocks)

    taken = {tuple(pair) for pair in log_clocks[spaced(log_clocks)].tolist()}
    assert {tuple(pair) for pair in shuffled[spaced(shuffled)].tolist()} == taken


def test_what_is_straight_between_clocks_is_read_exactly() -> None:
    known = np.array([(0.0, 0.0), (-1.0, 0.0), (-0.3, 0.0), (-1.0, -0.5), (0.0, -0.5)])
    wanted = np.array([(-0.1, 0.0), (-0.7, 0.1), (-0.5, -0.45)])

    read = read_between(known, np.array([2 * known[:, 0], 3 + known[:, 0]]), wanted)
    np.testing.assert_allclose(read, [2 * wanted[:, 0], 3 + wanted[:, 0]])


def test_beyond_the_last_clock_it_stays_as_there() -> None:
    known = np.array([(-1.0, 0.0), (0.0, 0.0)])

    assert read_between(known, np.array([5.0, 7.0]), np.array([(-2.0, 0.0), (0.3, 0.0)])).tolist() == [5.0, 7.0]


def test_a_single_known_clock_is_read_everywhere() -> None:
    assert read_between(np.zeros((1, 2)), np.array([4.0]), np.array([(-1.0, 0.0), (0.2, -0.3)])).tolist() == [4.0, 4.0]
