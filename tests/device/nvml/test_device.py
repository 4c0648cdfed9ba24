from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest

from gpoeo_env.clocks import ClockPair
from gpoeo_env.device.nvml.opening import build
from gpoeo_env.device.nvml.reasons import OVERHEATED
from gpoeo_env.errors import ConfigError, DeviceError, DeviceFaultError, DeviceLostError, UsageError
from gpoeo_env.progress.counter_work import CounterWorkMeter
from gpoeo_env.progress.meter import WorkCounterMeter
from gpoeo_env.progress.summary import summarise
from gpoeo_env.records import Window, WindowEnd
from gpoeo_env.signals import POWER_INSTANT
from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.suites.demo import demo_workloads
from tests.device.nvml.scenes import (
    OBSERVE,
    SHORT_S,
    observed,
    opened,
    told_by,
    windows_at,
    windows_while_somebody_resets,
)
from tests.nvml_stand_in.fixtures import Elsewhere, MakeStandIn
from tests.nvml_stand_in.gpus import hand_made, simulated
from tests.nvml_stand_in.stand_in import DRIVER_NOT_LOADED, GPU_IS_LOST, UNKNOWN, StandIn

LOW, MIDDLE, TOP = ClockPair(600, 2000), ClockPair(1200, 3000), ClockPair(1800, 3000)
SW_POWER_CAP = 0x4


def missed_ticks(seconds: float, rate_hz: float) -> tuple[int, Window]:
    with opened(None, {**OBSERVE, "rate_hz": rate_hz}) as device:
        device.begin(None)
        window = device.observe(seconds)
        return device.missed_ticks, window


def fault_and_close(seconds: float) -> list[str]:
    """Hold a pair while the driver fails for good; return what observing and closing said."""
    said = []
    device = build(None, {"least_window_s": 0.1})
    device.begin(None)
    device.set_clocks(LOW)
    for step in (lambda: device.observe(seconds), device.close):
        try:
            step()
        except DeviceError as error:
            said.append(f"{type(error).__name__}: {error}")
    return said


def after_loss(seconds: float) -> tuple[Window, list[str]]:
    said = []
    with opened(None, {}) as device:
        device.begin(None)
        device.set_clocks(LOW)
        window = device.observe(seconds)
        for step in (lambda: device.observe(seconds), lambda: device.set_clocks(TOP)):
            try:
                step()
            except DeviceLostError as error:
                said.append(str(error))
    return window, said


def be_killed_with_clocks_locked() -> None:
    with opened(None, {}) as device:
        device.begin(None)
        device.set_clocks(LOW)
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_window_has_a_row_for_every_tick(elsewhere: Elsewhere) -> None:
    missed, window = elsewhere(missed_ticks, SHORT_S, 50)
    assert len(window.t_s) + missed == 11
    assert window.duration_s == pytest.approx(SHORT_S, abs=0.02)


def test_a_call_that_hangs_costs_ticks_that_are_counted_and_the_rest_keeps_its_times(
    elsewhere: Elsewhere, stand_in: StandIn
) -> None:
    running = elsewhere.start(missed_ticks, 0.8, 20)
    stand_in.wait_for_reader()
    time.sleep(0.2)
    stand_in.fail("nvmlDeviceGetPowerUsage", delay_s=0.4, calls=1)
    missed, window = running.result()
    assert 6 <= missed <= 9
    assert len(window.t_s) + missed == 17
    assert window.duration_s == pytest.approx(0.8, abs=0.03)


def test_a_window_starts_when_the_clock_has_arrived_and_says_how_long_that_took(
    elsewhere: Elsewhere, stand_in: StandIn
) -> None:
    for point in stand_in.state.gpus[0].points[1:4]:  # those at the lower memory clock
        point.settle_s = 0.6
    (first, quick, slow), _ = elsewhere(windows_at, [TOP, MIDDLE, LOW])
    assert first.requested == TOP
    assert 0.1 <= quick.settle.seconds < 0.4
    assert 0.6 <= slow.settle.seconds < 0.9
    assert slow.observed == LOW


def test_settling_is_charged_at_the_power_that_was_drawn_meanwhile(elsewhere: Elsewhere) -> None:
    (_, after), _ = elsewhere(windows_at, [TOP, LOW])
    low_w, top_w = after.mean(POWER_INSTANT), 380.0
    assert low_w <= after.settle.joules / after.settle.seconds <= top_w


def test_a_lock_that_is_accepted_but_not_kept_is_not_honoured(elsewhere: Elsewhere, stand_in: StandIn) -> None:
    stand_in.state.gpus[0].ignores_locks = 1
    (window,), _ = elsewhere(windows_at, [LOW])
    assert (window.requested, window.observed) == (LOW, TOP)
    assert not summarise(window, WorkCounterMeter()).honoured


def test_clocks_under_a_power_cap_are_flagged_with_the_reason(elsewhere: Elsewhere, stand_in: StandIn) -> None:
    top = stand_in.state.gpus[0].points[6]
    top.running_sm_mhz, top.reasons = 1500, SW_POWER_CAP
    (window,), _ = elsewhere(windows_at, [TOP])
    measurement = summarise(window, WorkCounterMeter())
    assert window.throttle_reasons == ("power cap",)
    assert (measurement.throttled, measurement.honoured) == (True, False)
    assert window.settle.seconds < 0.6, "nobody waits for a clock that is capped"


def test_clocks_that_somebody_else_resets_are_noticed_and_set_again(elsewhere: Elsewhere, stand_in: StandIn) -> None:
    windows, log = elsewhere(windows_while_somebody_resets)
    assert any("somebody else has changed them" in line for line in log)
    assert [window.observed == LOW for window in windows] == [True, False, True]
    assert [call.mhz for call in stand_in.calls() if call.name == "SetGpuLockedClocks"] == [(600, 600), (600, 600)]


def test_clocks_that_somebody_else_resets_can_end_the_run(elsewhere: Elsewhere) -> None:
    with pytest.raises(DeviceError, match="somebody else has changed them; end that"):
        elsewhere(windows_while_somebody_resets, {"on_override": "stop"})


def test_a_gpu_that_is_lost_ends_the_window_and_every_later_call(elsewhere: Elsewhere, stand_in: StandIn) -> None:
    running = elsewhere.start(after_loss, 0.8)
    stand_in.wait_for_lock(600)
    time.sleep(0.5)
    stand_in.fail("nvmlDeviceGetPowerUsage", GPU_IS_LOST, gpu=0)
    window, said = running.result()
    assert window.end is WindowEnd.LOST
    assert 0.0 < window.duration_s < 0.8
    assert len(said) == 2
    assert all("gpu is lost" in line for line in said)


def test_a_gpu_that_is_lost_before_anything_was_seen_is_an_error(elsewhere: Elsewhere, stand_in: StandIn) -> None:
    stand_in.fail("nvmlDeviceGetTotalEnergyConsumption", GPU_IS_LOST)
    with pytest.raises(DeviceLostError, match="reset or a reboot"):
        elsewhere(observed)


def test_a_driver_that_does_not_come_back_is_a_fault_not_a_missing_installation(
    elsewhere: Elsewhere, stand_in: StandIn
) -> None:
    running = elsewhere.start(observed, 0.8)
    stand_in.wait_for_reader()
    time.sleep(0.3)
    stand_in.fail("nvmlInitWithFlags", DRIVER_NOT_LOADED)
    stand_in.fail("nvmlDeviceGetPowerUsage", DRIVER_NOT_LOADED)
    with pytest.raises(DeviceFaultError, match="is gone"):
        running.result()


@pytest.mark.parametrize("code", [UNKNOWN, DRIVER_NOT_LOADED])
def test_a_driver_that_fails_once_is_initialised_anew_and_the_window_goes_on(
    elsewhere: Elsewhere, stand_in: StandIn, code: int
) -> None:
    running = elsewhere.start(observed, 0.5)
    stand_in.wait_for_reader()
    time.sleep(0.2)
    stand_in.fail("nvmlDeviceGetPowerUsage", code, until_init=True)
    window, _ = running.result()
    assert window.duration_s == pytest.approx(0.5, abs=0.05)
    assert window.mean(POWER_INSTANT) == pytest.approx(380.0)


def test_a_driver_that_goes_on_failing_is_a_fault_and_clocks_are_given_back_when_it_is_back(stand_in: StandIn) -> None:
    with stand_in.process() as process:
        running = process.start(fault_and_close, 1.2)
        stand_in.wait_for_lock(600)
        time.sleep(0.6)
        failing = ("nvmlDeviceGetPowerUsage", "nvmlDeviceResetGpuLockedClocks")
        faults = [stand_in.fail(name, UNKNOWN) for name in failing]
        observing, closing = running.result()
    assert observing.startswith("DeviceFaultError: nvmlDeviceGetPowerUsage")
    assert "gpoeo restore" in closing
    assert stand_in.locked()[0] == 600
    for fault in faults:
        fault.active = 0
    assert stand_in.is_released_within(5.0)


def test_clocks_of_a_killed_process_are_given_back(stand_in: StandIn) -> None:
    with stand_in.process() as process, pytest.raises(BrokenProcessPool):
        process.call(be_killed_with_clocks_locked)
    assert stand_in.is_released_within(5.0)


def test_a_window_shorter_than_a_few_refreshes_is_refused_unless_forced(elsewhere: Elsewhere) -> None:
    with pytest.raises(UsageError, match="too short"):
        elsewhere(observed, SHORT_S, {"least_window_s": 0.5})
    window, _ = elsewhere(observed, SHORT_S, {"least_window_s": 0.0})
    assert window.duration_s == pytest.approx(SHORT_S, abs=0.02)


def test_counters_show_how_fast_a_simulated_workload_goes_at_other_clocks(
    make_stand_in: MakeStandIn, elsewhere_with: Callable[[StandIn], Elsewhere], gpu: Gpu
) -> None:
    workload = next(workload for workload in demo_workloads() if workload.name == "resnet50")
    stand_in = make_stand_in(simulated(gpu, workload))
    pair = ClockPair(1200, gpu.default_pair.mem_mhz)
    windows, _ = elsewhere_with(stand_in)(windows_at, [None, pair], 0.6)
    meter = CounterWorkMeter()
    default, slower = (meter.measure(window).work_rate for window in windows)
    points = stand_in.state.gpus[0].points
    row = next(
        point for point in points if (point.sm_mhz, point.mem_mhz) == (pair.sm_mhz, pair.mem_mhz) and point != points[0]
    )
    assert slower / default == pytest.approx(row.work_per_s / points[0].work_per_s, rel=0.02)
    assert windows[1].mean(POWER_INSTANT) == pytest.approx(row.watts, rel=0.01)


def test_each_gpu_of_several_is_its_own(
    make_stand_in: MakeStandIn, elsewhere_with: Callable[[StandIn], Elsewhere]
) -> None:
    stand_in = make_stand_in(*[hand_made()] * 3)
    told = elsewhere_with(stand_in)(told_by, {}, "1")
    assert told.info.provenance.startswith(stand_in.state.gpus[1].uuid.decode())
    assert {call.gpu for call in stand_in.calls()} == {1}


def test_a_request_for_one_device_that_names_several_gpus_is_refused(
    make_stand_in: MakeStandIn, elsewhere_with: Callable[[StandIn], Elsewhere]
) -> None:
    elsewhere = elsewhere_with(make_stand_in(*[hand_made()] * 2))
    with pytest.raises(UsageError, match="names 2"):
        elsewhere(told_by, OBSERVE, "all")


@pytest.mark.parametrize(
    "settings",
    [
        {"rate_hz": 1000},
        {"actuator": "sudo"},
        {"lock_sm": "true {sm}"},
        {"actuator": "observe", "restore_to": "210,1410"},
        {"rate": 10},
    ],
)
def test_settings_that_make_no_sense_are_refused_before_anything_is_opened(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        build("0", settings)


def window_until_over(seconds: float, over_after_s: float) -> Window:
    with opened(None, OBSERVE) as device:
        over_s = time.monotonic() + over_after_s
        device.end_when(lambda: time.monotonic() >= over_s)
        device.begin(None)
        return device.observe(seconds)


def offered_from(min_sm_mhz: int) -> list[int]:
    with opened(None, {"min_sm_mhz": min_sm_mhz}) as device:
        return list(device.clocks.sm_clocks)


def test_a_window_is_cut_short_when_the_work_is_over(elsewhere: Elsewhere) -> None:
    window = elsewhere(window_until_over, 5.0, 0.45)

    assert window.end is WindowEnd.WORK_DONE
    assert 0.4 <= window.duration_s < 0.9
    assert np.isfinite(window.column("energy_j")[[0, -1]]).all()


def test_a_window_has_two_rows_though_the_work_was_over_before(elsewhere: Elsewhere) -> None:
    window = elsewhere(window_until_over, 5.0, 0.0)

    assert (len(window.t_s), window.end) == (2, WindowEnd.WORK_DONE)


def test_a_gpu_that_the_hardware_slows_down_for_its_heat_ends_the_run(elsewhere: Elsewhere, stand_in: StandIn) -> None:
    for point in stand_in.state.gpus[0].points[:7]:
        point.reasons = OVERHEATED
    window, _ = elsewhere(observed)

    assert window.end is WindowEnd.OVERHEATED
    assert window.throttle_reasons == ("thermal slowdown (hardware)",)


def test_pairs_under_the_lowest_allowed_clock_are_not_offered(elsewhere: Elsewhere) -> None:
    assert elsewhere(offered_from, 1200) == [1200, 1800]
    with pytest.raises(UsageError, match="1900 MHz or more"):
        elsewhere(offered_from, 1900)
