"""Plans of a profile: bounded, spread, and useful from the first pairs on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.errors import UsageError
from gpoeo_env.runner.profile_plan import plan_profile

CLOCKS = ClockTable.from_product(sm_mhz=range(300, 1501, 100), mem_mhz=(800, 5000))
TOP = ClockPair(1500, 5000)


def test_a_large_budget_measures_every_pair_but_the_reference() -> None:
    plan = plan_profile(CLOCKS, TOP, window_s=10.0, budget_s=1e6)
    assert set(plan.pairs) == set(CLOCKS) - {TOP}
    assert plan.left_out == 0


@given(budget_s=st.floats(45.0, 400.0), window_s=st.floats(1.0, 10.0))
def test_no_plan_is_longer_than_its_budget(budget_s: float, window_s: float) -> None:
    plan = plan_profile(CLOCKS, TOP, window_s=window_s, budget_s=budget_s)
    assert plan.seconds <= budget_s
    assert len(set(plan.pairs)) == len(plan.pairs)
    assert plan.left_out == len(CLOCKS) - 1 - len(plan.pairs)


def test_a_small_budget_keeps_every_memory_clock_with_its_ends() -> None:
    plan = plan_profile(CLOCKS, TOP, window_s=10.0, budget_s=100.0)
    by_memory = {mem: {pair.sm_mhz for pair in plan.pairs if pair.mem_mhz == mem} for mem in CLOCKS.mem_clocks}
    assert {300, 1500} <= by_memory[800]
    assert {300, 1400} <= by_memory[5000]


def test_the_first_pairs_cover_the_range() -> None:
    plan = plan_profile(CLOCKS, TOP, window_s=10.0, budget_s=1e6)
    assert {pair.mem_mhz for pair in plan.pairs[:2]} == {800, 5000}
    assert max(pair.sm_mhz for pair in plan.pairs[:4]) - min(pair.sm_mhz for pair in plan.pairs[:4]) >= 1000


def test_low_clocks_can_be_ruled_out() -> None:
    plan = plan_profile(CLOCKS, TOP, window_s=10.0, budget_s=1e6, min_sm_mhz=1000)
    assert min(pair.sm_mhz for pair in plan.pairs) == 1000


def test_a_budget_without_room_and_a_floor_above_the_table_are_refused() -> None:
    with pytest.raises(UsageError, match="the budget is 20 s; raise it or shorten the windows"):
        plan_profile(CLOCKS, TOP, window_s=10.0, budget_s=20.0)
    with pytest.raises(UsageError, match="no pair of the table has an SM clock of 9000 MHz"):
        plan_profile(CLOCKS, TOP, window_s=10.0, budget_s=1e3, min_sm_mhz=9000)
