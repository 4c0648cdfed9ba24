from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpoeo_env.clocks import ClockPair
from gpoeo_env.config import validated
from gpoeo_env.errors import ConfigError, UnknownNameError
from gpoeo_env.sim.catalogue import Gpu, gpu_names, load_gpu


def test_the_rtx3080ti_offers_every_sm_clock_with_every_memory_clock(gpu: Gpu) -> None:
    assert gpu.clocks.sm_clocks == tuple(range(210, 1996, 15))
    assert gpu.clocks.mem_clocks == (405, 810, 5001, 9251, 9501)
    assert len(gpu.clocks) == 600


def test_the_driver_runs_compute_work_one_memory_step_below_the_top(gpu: Gpu) -> None:
    assert gpu.default_pair == ClockPair(1995, 9251)


@pytest.mark.parametrize("name", gpu_names())
def test_every_catalogued_gpu_loads_under_its_own_name(name: str) -> None:
    assert load_gpu(name).name == name


@pytest.mark.parametrize("name", gpu_names())
def test_every_figure_has_a_source(name: str) -> None:
    gpu = load_gpu(name)
    sections = gpu.model_dump(by_alias=True, exclude={"name", "full_name", "sources"})
    figures = [
        f"{section}.{key}" if isinstance(values, dict) else section
        for section, values in sections.items()
        for key in (values if isinstance(values, dict) else [""])
    ]
    without = [figure for figure in figures if not {figure, figure.split(".")[0]} & set(gpu.sources)]
    assert not without


@pytest.mark.parametrize("name", gpu_names())
def test_every_source_belongs_to_a_figure(name: str) -> None:
    gpu = load_gpu(name)
    sections = gpu.model_dump(by_alias=True)
    for figure in gpu.sources:
        section, _, key = figure.partition(".")
        assert section in sections
        assert not key or key in sections[section]


def test_an_unknown_gpu_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"simulated GPU 'rtx3080t'; did you mean rtx3080ti"):
        load_gpu("rtx3080t")


def _entry(gpu: Gpu) -> dict[str, Any]:
    """Return the entry as a file would hold it; `Any`: nested tables."""
    return gpu.model_dump(by_alias=True)


def test_an_entry_with_an_unknown_constant_names_the_nearest(gpu: Gpu) -> None:
    entry = _entry(gpu)
    entry["power"]["tensor_watt"] = 3.0
    with pytest.raises(ConfigError, match=r"'power.tensor_watt'; did you mean tensor_w"):
        validated(Gpu, entry, "GPU mine")


def test_an_entry_whose_clock_range_misses_its_last_clock_is_refused(gpu: Gpu) -> None:
    entry = _entry(gpu)
    entry["clocks"]["sm_step_mhz"] = 16
    with pytest.raises(ConfigError, match="whole number of sm_step_mhz"):
        validated(Gpu, entry, "GPU mine")


def test_an_entry_whose_default_is_not_offered_is_refused(gpu: Gpu) -> None:
    entry = _entry(gpu)
    entry["clocks"]["default_sm_mhz"] = 1996
    with pytest.raises(ConfigError, match="must be clocks that the GPU offers"):
        validated(Gpu, entry, "GPU mine")


def test_an_entry_whose_voltage_never_rises_is_refused(gpu: Gpu) -> None:
    entry = _entry(gpu)
    entry["voltage"]["floor_until_mhz"] = 1995.0
    with pytest.raises(ConfigError, match="below the top SM clock"):
        validated(Gpu, entry, "GPU mine")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a place for GPUs of one's own."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "configs" / "gpus"
    folder.mkdir(parents=True)
    return folder


def test_an_entry_of_the_working_folder_changes_one_of_the_catalogue(own: Path, gpu: Gpu) -> None:
    (own / "quiet.toml").write_text(
        'base = "rtx3080ti"\nname = "quiet"\npower_limit_w = 250.0\n[thermal]\nambient_c = 20.0\n'
    )
    quiet = load_gpu("quiet")
    assert "quiet" in gpu_names()
    assert (quiet.power_limit_w, quiet.thermal.ambient_c) == (250.0, 20.0)
    assert quiet.thermal.slowdown_c == gpu.thermal.slowdown_c
    assert quiet.clocks == gpu.clocks


def test_an_entry_of_the_working_folder_wins_over_the_catalogue(own: Path) -> None:
    (own / "rtx3080ti.toml").write_text('base = "rtx3080ti"\npower_limit_w = 280.0\n')
    assert load_gpu("rtx3080ti").power_limit_w == 280.0


def test_an_entry_based_on_an_unknown_gpu_names_the_nearest(own: Path) -> None:
    (own / "mine.toml").write_text('base = "rtx3080"\nname = "mine"\n')
    with pytest.raises(UnknownNameError, match="'rtx3080'; did you mean rtx3080ti"):
        load_gpu("mine")


def test_a_damaged_entry_is_named_with_its_fault(own: Path) -> None:
    (own / "mine.toml").write_text("power_limit_w = \n")
    with pytest.raises(ConfigError, match=r"mine\.toml cannot be read: Invalid value"):
        load_gpu("mine")


def test_a_rise_takes_longer_than_a_fall_and_memory_longest(gpu: Gpu) -> None:
    low, high = ClockPair(600, 9501), ClockPair(1995, 9501)
    assert gpu.switching_s(low, low) == 0.0
    assert 0 < gpu.switching_s(high, low) < gpu.switching_s(low, high)
    assert gpu.switching_s(high, ClockPair(1995, 405)) == gpu.switching.mem_s


def test_a_release_is_a_change_to_the_default(gpu: Gpu) -> None:
    assert gpu.switching_s(gpu.default_pair, None) == 0.0
    assert gpu.switching_s(None, ClockPair(600, 9251)) == gpu.switching_s(gpu.default_pair, ClockPair(600, 9251))
