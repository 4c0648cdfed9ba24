from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpoeo_env.clocks import ClockPair
from gpoeo_env.device.replay import ReplayDevice, build
from gpoeo_env.errors import ConfigError, NotRecordedError, UsageError
from gpoeo_env.progress.meter import WorkCounterMeter
from gpoeo_env.progress.summary import summarise
from gpoeo_env.records import Settle
from gpoeo_env.signals import ENERGY, POWER, WORK, Behaviour, Signal
from gpoeo_env.trace.store import write_sweeps
from gpoeo_env.trace.sweep import SweepSet


@pytest.fixture
def device(sweeps: SweepSet) -> ReplayDevice:
    device = ReplayDevice(sweeps, noise=0.0)
    device.begin(seed=0)
    return device


def test_a_window_without_noise_is_the_recorded_row(device: ReplayDevice) -> None:
    device.set_clocks(ClockPair(1000, 5000))
    window = device.observe(13.0)
    assert window.rate(WORK.name) == pytest.approx(1 / 1.3)
    assert window.rate(ENERGY.name) == pytest.approx(120.0)
    assert window.mean(POWER) == pytest.approx(120.0)


def test_a_window_has_two_edges_and_says_that_it_was_made(device: ReplayDevice) -> None:
    window = device.observe(10.0)
    assert window.t_s.tolist() == [0.0, 10.0]
    assert window.synthesised


def test_released_clocks_run_the_reference_pair(device: ReplayDevice) -> None:
    window = device.observe(10.0)
    assert window.requested is None
    assert window.observed == ClockPair(1500, 5000)
    assert window.rate(ENERGY.name) == pytest.approx(200.0)


def test_counters_are_exact_and_keep_their_units(sweeps: SweepSet) -> None:
    device = ReplayDevice(sweeps, noise=0.05)
    device.begin(seed=1)
    device.set_clocks(ClockPair(1500, 4000))
    features = summarise(device.observe(10.0), WorkCounterMeter()).features
    assert features.get("sm_active") == 0.8
    assert features.get("ipc") == 1.2
    assert Signal("ipc", "1/cycle", Behaviour.INTERVAL) in device.signals


def test_a_missing_counter_stays_missing(device: ReplayDevice) -> None:
    assert math.isnan(summarise(device.observe(10.0), WorkCounterMeter()).features.get("ipc"))


def test_a_recorded_power_counter_never_leaks_past_the_noise(sweeps: SweepSet) -> None:
    device = ReplayDevice(sweeps, noise=0.05)
    device.begin(seed=1)
    window = device.observe(10.0)
    assert [signal.name for signal in device.signals].count("power_w") == 1
    assert window.mean(POWER) == pytest.approx(window.rate(ENERGY.name))
    assert window.mean(POWER) != 1.0


def test_a_pair_without_a_recording_is_refused_with_the_nearest(device: ReplayDevice) -> None:
    with pytest.raises(
        NotRecordedError, match=r"no run of 'steady' recorded at 1450/5000 MHz; .* nearest is 1500/5000"
    ):
        device.set_clocks(ClockPair(1450, 5000))


def test_on_request_a_pair_without_a_recording_is_snapped_and_both_are_shown(sweeps: SweepSet) -> None:
    device = ReplayDevice(sweeps, nearest=True)
    device.begin(seed=0)
    device.set_clocks(ClockPair(1050, 4100))
    window = device.observe(10.0)
    assert (window.requested, window.observed) == (ClockPair(1050, 4100), ClockPair(1000, 4000))
    assert not summarise(window, WorkCounterMeter()).honoured


def test_snapping_to_the_pair_in_force_changes_no_clocks(sweeps: SweepSet) -> None:
    device = ReplayDevice(sweeps, nearest=True, settle_s=1.0)
    device.begin(seed=0)
    device.set_clocks(ClockPair(1000, 4000))
    device.observe(10.0)
    device.set_clocks(ClockPair(1010, 4000))
    assert device.observe(10.0).settle == Settle()


def test_the_clock_table_is_that_of_the_chosen_workload(sweeps: SweepSet) -> None:
    device = ReplayDevice(sweeps)
    assert device.clocks == sweeps.named("steady").clocks
    device.begin(seed=0, workload="overclocked")
    assert device.clocks == sweeps.named("overclocked").clocks
    assert device.info.default_pair == ClockPair(1200, 5000)


def test_the_truth_is_the_sweeps_ratios_with_the_reference_as_action_0(sweeps: SweepSet) -> None:
    device = ReplayDevice(sweeps)
    device.begin(seed=0, workload="overclocked")
    truth = device.truth()
    assert truth.time == pytest.approx([1.0, 1.25, 1.0, 0.9])
    assert truth.energy == pytest.approx([1.0, 250 / 220, 1.0, 260 / 220])


def test_replayed_simulations_say_that_they_are_simulated(sweeps: SweepSet) -> None:
    assert ReplayDevice(sweeps).info.kind == "replay"
    assert ReplayDevice(sweeps).info.provenance == "simulated sweeps: made for a test"
    measured = replace(sweeps, provenance=replace(sweeps.provenance, is_simulated=False))
    assert ReplayDevice(measured).info.provenance == "recorded sweeps: made for a test"


def test_a_sweep_without_counters_replays(sweeps: SweepSet) -> None:
    bare = tuple(replace(sweep, counter_names=(), counters=np.empty((len(sweep.clocks), 0))) for sweep in sweeps.sweeps)
    device = ReplayDevice(replace(sweeps, sweeps=bare, counter_units=()))
    device.begin(seed=0)
    assert device.observe(1.0).signals == (ENERGY, WORK, POWER)


def test_a_spec_opens_a_sweep_file(sweeps: SweepSet, tmp_path: Path) -> None:
    path = tmp_path / "small.sweep.parquet"
    write_sweeps(path, sweeps)
    with build(str(path), {"noise": 0.0, "nearest": True}) as device:
        device.begin(seed=0)
        assert device.observe(1.0).rate(WORK.name) == pytest.approx(1.0)


def test_a_spec_without_a_file_is_refused() -> None:
    with pytest.raises(UsageError, match="needs a sweep file"):
        build(None, {})


def test_a_spec_with_an_unknown_setting_names_the_nearest(sweeps: SweepSet, tmp_path: Path) -> None:
    path = tmp_path / "small.sweep.parquet"
    write_sweeps(path, sweeps)
    with pytest.raises(ConfigError, match=r"'nosie'; did you mean noise\?"):
        build(str(path), {"nosie": 0.1})
