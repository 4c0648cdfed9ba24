from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpoeo_env.clocks import RELEASE, ClockPair, ClockTable
from gpoeo_env.errors import ClockNotSupportedError, UsageError

pairs = st.builds(ClockPair, st.integers(1, 3000), st.integers(1, 12000))
tables = st.sets(pairs, min_size=1, max_size=30).map(ClockTable)


@pytest.mark.parametrize("text", ["1800,5000", "1800/5000", " 1800 , 5000 "])
def test_a_pair_is_read(text: str) -> None:
    assert ClockPair.parse(text) == ClockPair(1800, 5000)


@pytest.mark.parametrize("text", ["1800", "1800,", "1800,5000,1", "a,b", "0,5000", "-5,5000", "1800.5,5000"])
def test_text_that_is_no_pair_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="for example 1800,5000"):
        ClockPair.parse(text)


def test_pairs_are_ordered_by_memory_clock_then_sm_clock() -> None:
    table = ClockTable([ClockPair(900, 5000), ClockPair(1800, 800), ClockPair(600, 5000)])
    assert table.pairs == (ClockPair(1800, 800), ClockPair(600, 5000), ClockPair(900, 5000))
    assert table.top == ClockPair(900, 5000)


def test_a_product_holds_every_combination() -> None:
    table = ClockTable.from_product(range(600, 801, 100), [800, 5000])
    assert (len(table), table.sm_clocks, table.mem_clocks) == (6, (600, 700, 800), (800, 5000))


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([], "at least one pair"),
        ([ClockPair(1, 1), ClockPair(1, 1)], "listed twice: 1/1"),
        ([ClockPair(0, 1)], "positive MHz"),
    ],
)
def test_a_table_that_cannot_be_is_refused(pairs: list[ClockPair], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ClockTable(pairs)


def test_action_zero_releases() -> None:
    table = ClockTable([ClockPair(600, 800)])
    assert table.pair_of(RELEASE) is None
    assert table.action_of(None) == RELEASE


@given(tables)
def test_every_pair_has_its_own_action_and_comes_back(table: ClockTable) -> None:
    actions = [table.action_of(pair) for pair in table]
    assert actions == list(range(1, table.n_actions))
    assert [table.pair_of(action) for action in actions] == list(table)


@given(tables)
def test_the_nearest_pair_of_an_offered_pair_is_itself(table: ClockTable) -> None:
    assert [table.nearest(pair) for pair in table] == list(table)


def test_clocks_are_near_by_ratio_and_not_by_difference() -> None:
    table = ClockTable([ClockPair(1000, 405), ClockPair(1000, 9501)])
    assert table.nearest(ClockPair(1000, 3000)) == ClockPair(1000, 9501)


@pytest.mark.parametrize("action", [-1, 3])
def test_an_action_outside_the_table_is_refused(action: int) -> None:
    with pytest.raises(ClockNotSupportedError, match=r"0 \(release\) to 2"):
        ClockTable.from_product([600, 700], [800]).pair_of(action)


def test_a_pair_outside_the_table_names_the_nearest() -> None:
    with pytest.raises(ClockNotSupportedError, match="the nearest is 700/800"):
        ClockTable.from_product([600, 700], [800]).action_of(ClockPair(710, 800))


def test_equal_tables_are_equal_whatever_their_order() -> None:
    first, second = ClockPair(600, 800), ClockPair(700, 800)
    assert ClockTable([first, second]) == ClockTable([second, first])
    assert hash(ClockTable([first, second])) == hash(ClockTable([second, first]))
    assert ClockTable([first]) != ClockTable([second])


def test_the_clocks_of_a_table_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        ClockTable([ClockPair(600, 800)]).mhz[0, 0] = 1.0


def test_a_lower_bound_of_the_sm_clock_cuts_the_table() -> None:
    table = ClockTable.from_product(sm_mhz=(300, 600, 900), mem_mhz=(800, 5000))

    assert table.at_least(600) == ClockTable.from_product(sm_mhz=(600, 900), mem_mhz=(800, 5000))
    with pytest.raises(UsageError, match="1000 MHz or more; the highest is 900/5000"):
        table.at_least(1000)
