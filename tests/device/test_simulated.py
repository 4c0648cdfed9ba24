from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from gpoeo_env.clocks import ClockPair
from gpoeo_env.device.analytic import AnalyticDevice
from gpoeo_env.device.simulated import SimulatedDevice, build
from gpoeo_env.env.control import ControlLoop, ControlSettings
from gpoeo_env.errors import ConfigError
from gpoeo_env.policy import Decision
from gpoeo_env.progress.meter import WorkCounterMeter
from gpoeo_env.progress.summary import summarise
from gpoeo_env.records import Window
from gpoeo_env.signals import ENERGY, POWER, POWER_INSTANT, SM_CLOCK, TEMPERATURE, THROTTLE_REASONS, WORK
from gpoeo_env.sim.catalogue import Gpu, load_gpu, packaged_gpu_names
from gpoeo_env.sim.closed_form import sweep_of
from gpoeo_env.sim.counters import GPM
from gpoeo_env.sim.suites import suite_named
from gpoeo_env.sim.suites.demo import demo_workloads
from gpoeo_env.sim.workloads import Shift


def _column(window: Window, name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    column = window.column(name)
    assert column is not None
    return column.ravel()


LONG_S = 4000.0
"""Long enough for lengths that vary by 15 % to average to well under 1 %."""
AGREEING = ("gcn", "lstm", "unet3d", "dlrm")
"""A steady, a variable-length, an input-bound and a host-bound loop."""


@pytest.mark.parametrize("name", packaged_gpu_names())
def test_samples_windows_and_closed_form_agree_on_time_and_energy(name: str) -> None:
    gpu = load_gpu(name)
    suite = [replace(workload, jitter=0.0) for workload in suite_named("demo", gpu) if workload.name in AGREEING]
    sampled, analytic = SimulatedDevice(gpu, suite, noise=0.0), AnalyticDevice(gpu, suite, noise=0.0)
    sm_clocks = gpu.clocks.sm_clocks
    pairs: list[ClockPair | None] = [None]
    pairs += [
        ClockPair(sm_clocks[len(sm_clocks) * share // 4], mem) for share in (1, 3) for mem in gpu.clocks.mem_clocks
    ]
    for workload in suite:
        sampled.begin(0, workload.name)
        analytic.begin(0, workload.name)
        sweep = sweep_of(gpu, workload)
        for pair in pairs:
            sampled.set_clocks(pair)
            analytic.set_clocks(pair)
            sampled.observe(5 * gpu.thermal.time_constant_s)  # until the chip is as warm as these clocks make it
            rows, edges = sampled.observe(LONG_S), analytic.observe(LONG_S)
            row = gpu.clocks.action_of(pair or gpu.default_pair) - 1
            assert edges.rate(WORK.name) * sweep.seconds[row] == pytest.approx(1.0)
            counting = 1.0 / LONG_S  # whole iterations are counted
            assert rows.rate(WORK.name) == pytest.approx(edges.rate(WORK.name), rel=0.01, abs=counting)
            assert rows.rate(ENERGY.name) == pytest.approx(edges.rate(ENERGY.name), rel=0.01)
            assert rows.mean(POWER) == pytest.approx(edges.mean(POWER), rel=0.01)


def test_samples_follow_a_shift_in_mid_window(gpu: Gpu) -> None:
    demo = {workload.name: workload for workload in demo_workloads()}
    shifting = replace(demo["gcn"], shift=Shift(after_work=100.5, becomes=demo["ppo"]))
    sampled, analytic = SimulatedDevice(gpu, [shifting], noise=0.0), AnalyticDevice(gpu, [shifting], noise=0.0)
    for device in (sampled, analytic):
        device.begin(0)
    rows, edges = sampled.observe(30.0), analytic.observe(30.0)
    assert rows.rate(WORK.name) == pytest.approx(edges.rate(WORK.name), rel=0.02)
    assert rows.rate(ENERGY.name) == pytest.approx(edges.rate(ENERGY.name), rel=0.02)
    np.testing.assert_array_equal(sampled.truth().energy, analytic.truth().energy)
    power_w = _column(rows, POWER_INSTANT.name)
    assert power_w[20:90].mean() > 1.3 * power_w[-90:].mean()


def test_a_chip_takes_a_while_to_cool_and_draws_more_until_then(gpu: Gpu) -> None:
    device = SimulatedDevice(gpu, demo_workloads(), noise=0.0)
    device.begin(0, "bert-base")
    device.set_clocks(ClockPair(900, 9251))
    window = device.observe(10 * gpu.thermal.time_constant_s)
    temperature_c, power_w = _column(window, TEMPERATURE.name), _column(window, POWER.name)
    assert temperature_c[0] > temperature_c[-1] + 10
    assert np.all(np.diff(temperature_c) <= 0)
    assert power_w[20:120].mean() > power_w[-100:].mean() + 1.0


def test_the_plain_power_reading_is_an_average_and_the_other_is_not(gpu: Gpu) -> None:
    device = SimulatedDevice(gpu, demo_workloads(), noise=0.0)
    device.begin(0, "unet3d")
    window = device.observe(120.0)
    assert _column(window, POWER_INSTANT.name).std() > 3 * _column(window, POWER.name)[20:].std()


def test_polls_between_two_refreshes_repeat_what_they_saw(gpu: Gpu) -> None:
    device = SimulatedDevice(gpu, demo_workloads(), noise=0.0, sample_s=0.02)
    device.begin(0)
    window = device.observe(10.0)
    changes = np.diff(_column(window, ENERGY.name)) != 0
    assert changes.mean() == pytest.approx(0.2, abs=0.01)
    assert np.isfinite(_column(window, "sm_active")).mean() == pytest.approx(0.2, abs=0.02)
    assert np.isfinite(_column(window, "gpu_util")).mean() == pytest.approx(0.1, abs=0.02)


def test_throttle_reasons_come_as_nvmls_bits(gpu: Gpu) -> None:
    device = SimulatedDevice(gpu.model_copy(update={"power_limit_w": 250.0}), demo_workloads())
    device.begin(0, "bert-base")
    assert set(_column(device.observe(2.0), THROTTLE_REASONS.name).tolist()) == {4.0}


def test_both_levels_tell_the_same_truth(gpu: Gpu) -> None:
    sampled, analytic = SimulatedDevice(gpu, demo_workloads()), AnalyticDevice(gpu, demo_workloads())
    sampled.begin(0, "lstm")
    analytic.begin(0, "lstm")
    np.testing.assert_array_equal(sampled.truth().energy, analytic.truth().energy)


def test_rows_come_at_the_stated_spacing(gpu: Gpu) -> None:
    device = SimulatedDevice(gpu, demo_workloads(), sample_s=0.25)
    device.begin(0)
    window = device.observe(10.0)
    assert np.diff(window.t_s) == pytest.approx(np.full(40, 0.25))
    assert not window.synthesised


def test_power_repeats_with_the_iteration(gpu: Gpu) -> None:
    device = SimulatedDevice(gpu, demo_workloads(), noise=0.0, sample_s=0.01)
    device.begin(0, "unet3d")
    window = device.observe(60.0)
    power_w = _column(window, POWER.name) - window.mean(POWER)
    spectrum = np.abs(np.fft.rfft(power_w))
    strongest_hz = np.fft.rfftfreq(len(power_w), 0.01)[np.argmax(spectrum)]
    assert strongest_hz == pytest.approx(window.rate(WORK.name), abs=1 / 60)


def test_energy_counts_millijoules_and_work_counts_whole_iterations(gpu: Gpu) -> None:
    device = SimulatedDevice(gpu, demo_workloads())
    device.begin(0)
    window = device.observe(10.0)
    millijoules = _column(window, ENERGY.name) * 1000
    assert millijoules == pytest.approx(np.round(millijoules), abs=1e-4)
    assert np.array_equal(_column(window, WORK.name), np.floor(_column(window, WORK.name)))


def test_sensor_rows_scatter_by_the_stated_noise(gpu: Gpu) -> None:
    device = SimulatedDevice(gpu, demo_workloads(), noise=0.02)
    device.begin(0, "gcn")
    active = _column(device.observe(400.0), "sm_active")[1:]
    assert active.std() / active.mean() == pytest.approx(0.02, rel=0.1)


def test_a_windows_stated_error_of_time_holds_the_counting_of_whole_iterations(gpu: Gpu) -> None:
    device = SimulatedDevice(gpu, demo_workloads(), noise=0.0)
    device.begin(0, "unet3d")
    lengths = np.tile(np.linspace(6.6, 7.3, 8), 60)  # more or less in step with the iteration of 0.73 s
    windows = [device.observe(float(seconds)) for seconds in lengths]
    rates = [window.rate(WORK.name) for window in windows]
    assert windows[0].spread is not None
    # Windows follow on each other, so that one counts what its neighbour has not: the errors are a little smaller.
    assert np.std(rates) / np.mean(rates) == pytest.approx(windows[0].spread.time, rel=0.25)


def test_an_interval_counter_has_no_first_row_and_still_a_mean(gpu: Gpu) -> None:
    device = SimulatedDevice(gpu, demo_workloads())
    device.begin(0)
    window = device.observe(10.0)
    assert math.isnan(_column(window, "dram_active")[0])
    features = summarise(window, WorkCounterMeter()).features
    assert all(math.isfinite(features.get(name)) for name in GPM)


def test_windows_go_on_where_the_last_one_ended(gpu: Gpu) -> None:
    device = SimulatedDevice(gpu, demo_workloads())
    device.begin(0)
    before, after = device.observe(10.0), device.observe(10.0)
    assert after.t_s[0] == before.t_s[-1]
    for name in (ENERGY.name, WORK.name):
        assert _column(after, name)[0] == pytest.approx(_column(before, name)[-1], abs=1e-3)


def test_clock_readings_are_those_in_force(gpu: Gpu) -> None:
    device = SimulatedDevice(gpu, demo_workloads())
    device.begin(0)
    device.set_clocks(ClockPair(1200, 5001))
    assert np.unique(_column(device.observe(10.0), SM_CLOCK.name)).tolist() == [1200.0]


def test_an_episode_on_samples_saves_energy_within_the_limit(gpu: Gpu) -> None:
    with ControlLoop(SimulatedDevice(gpu, demo_workloads()), ControlSettings(budget_s=300.0)) as loop:
        step = loop.begin(seed=0, workload="mobilenet")
        truth = loop.truth()
        best = loop.settings.objective.best(truth.time, truth.energy, loop.settings.limit)
        while not step.is_last:
            step = loop.step(Decision(best))
    assert step.terminated
    assert step.totals.saving == pytest.approx(truth.of(best).saving * 290 / 300, abs=0.04)


@pytest.mark.parametrize("sample_s", [0.0, -0.1, math.nan])
def test_row_spacing_out_of_range_is_refused(gpu: Gpu, sample_s: float) -> None:
    with pytest.raises(ConfigError, match="sample_s"):
        SimulatedDevice(gpu, demo_workloads(), sample_s=sample_s)


def test_a_spec_sets_the_row_spacing() -> None:
    device = build("rtx3080ti", {"sample_s": 0.5, "noise": 0.0})
    device.begin(0)
    assert len(device.observe(10.0).t_s) == 21
    assert "a row every 0.5 s" in device.info.provenance


def test_a_spec_with_an_unknown_setting_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"device sim-samples:rtx3080ti: .*'sampel_s'; did you mean sample_s"):
        build("rtx3080ti", {"sampel_s": 0.5})
