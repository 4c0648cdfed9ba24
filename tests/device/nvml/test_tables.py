from __future__ import annotations

from collections.abc import Callable

import pytest

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.errors import NotOfferedError
from tests.device.nvml.scenes import OBSERVE, Told, told_by, windows_at
from tests.nvml_stand_in.fixtures import Elsewhere, MakeStandIn
from tests.nvml_stand_in.gpus import h200
from tests.nvml_stand_in.stand_in import NO_PERMISSION, NOT_SUPPORTED, StandIn

LISTS = ["nvmlDeviceGetSupportedMemoryClocks", "nvmlDeviceGetSupportedGraphicsClocks"]


def test_the_table_is_what_the_driver_lists(
    make_stand_in: MakeStandIn, elsewhere_with: Callable[[StandIn], Elsewhere]
) -> None:
    told: Told = elsewhere_with(make_stand_in(h200()))(told_by, OBSERVE)
    assert ClockTable(told.pairs) == ClockTable.from_product(range(345, 1981, 15), (2201, 3201))


def test_a_gpu_that_cannot_lock_its_memory_clock_offers_one_and_its_sm_clocks_work(
    elsewhere: Elsewhere, stand_in: StandIn
) -> None:
    for function in ("nvmlDeviceSetMemoryLockedClocks", "nvmlDeviceResetMemoryLockedClocks"):
        stand_in.fail(function, NOT_SUPPORTED)
    told: Told = elsewhere(told_by)
    (window,), _ = elsewhere(windows_at, [ClockPair(600, 3000)])
    assert [pair.mem_mhz for pair in told.pairs] == [3000, 3000, 3000]
    assert any("memory clock of GPU 0 cannot be locked" in line for line in told.log)
    assert window.observed == ClockPair(600, 3000)
    assert stand_in.locked() == (0, 0)


@pytest.mark.parametrize("code", [NOT_SUPPORTED, NO_PERMISSION])
@pytest.mark.parametrize("function", LISTS)
def test_lists_that_the_driver_refuses_are_made_from_its_bounds(
    elsewhere: Elsewhere, stand_in: StandIn, function: str, code: int
) -> None:
    stand_in.fail(function, code)
    told: Told = elsewhere(told_by, OBSERVE)
    assert {pair.mem_mhz for pair in told.pairs} == {3000}
    assert (told.pairs[0].sm_mhz, told.pairs[-1].sm_mhz) == (600, 1800)
    assert any("lists no clocks" in line for line in told.log)


def test_without_lists_and_bounds_the_refusal_is_clear(elsewhere: Elsewhere, stand_in: StandIn) -> None:
    stand_in.fail(LISTS[0], NOT_SUPPORTED)
    stand_in.fail("nvmlDeviceGetMinMaxClockOfPState", NOT_SUPPORTED)
    with pytest.raises(NotOfferedError, match="lists no clocks for this GPU and names no bounds"):
        elsewhere(told_by)
