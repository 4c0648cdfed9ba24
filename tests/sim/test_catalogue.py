from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gpoeo_env.clocks import ClockPair
from gpoeo_env.errors import UnknownNameError
from gpoeo_env.sim.catalogue import Gpu, gpu_names, load_gpu


def test_the_rtx3080ti_offers_every_sm_clock_with_every_memory_clock(gpu: Gpu) -> None:
    assert gpu.clocks.sm_clocks == tuple(range(210, 1996, 15))
    assert gpu.clocks.mem_clocks == (405, 810, 5001, 9251, 9501)
    assert len(gpu.clocks) == 600


def test_the_default_pair_is_the_top_of_both_clocks(gpu: Gpu) -> None:
    assert gpu.default_pair == ClockPair(1995, 9501)


def test_every_catalogued_gpu_loads_under_its_own_name() -> None:
    names = gpu_names()
    assert "rtx3080ti" in names
    assert [load_gpu(name).name for name in names] == list(names)


def test_an_unknown_gpu_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"simulated GPU 'rtx3080'; did you mean rtx3080ti\?"):
        load_gpu("rtx3080")


def _entry(gpu: Gpu) -> dict[str, Any]:
    """Return the entry as a file would hold it; `Any`: nested tables."""
    return gpu.model_dump(by_alias=True)


def test_an_entry_with_an_unknown_constant_is_refused(gpu: Gpu) -> None:
    with pytest.raises(ValidationError, match="fan_w"):
        Gpu.model_validate(_entry(gpu) | {"fan_w": 3.0})


def test_an_entry_whose_clock_range_misses_its_last_clock_is_refused(gpu: Gpu) -> None:
    entry = _entry(gpu)
    entry["clocks"]["sm_step_mhz"] = 16
    with pytest.raises(ValidationError, match="whole number of sm_step_mhz"):
        Gpu.model_validate(entry)


def test_an_entry_whose_voltage_never_rises_is_refused(gpu: Gpu) -> None:
    entry = _entry(gpu)
    entry["voltage"]["floor_until_mhz"] = 1995.0
    with pytest.raises(ValidationError, match="below the top SM clock"):
        Gpu.model_validate(entry)
