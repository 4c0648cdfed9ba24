from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
import pytest

from gpoeo_env.progress.meter import WorkCounterMeter
from gpoeo_env.progress.refresh import update_interval_s
from gpoeo_env.progress.summary import summarise
from gpoeo_env.records import Window
from gpoeo_env.signals import ENERGY, MEM_CLOCK, POWER, POWER_AVERAGE, POWER_INSTANT, SM_CLOCK, TEMPERATURE
from tests.device.nvml.scenes import OBSERVE, Told, observed, told_by
from tests.nvml_stand_in.fixtures import Elsewhere, MakeStandIn
from tests.nvml_stand_in.gpus import hand_made
from tests.nvml_stand_in.process import Process
from tests.nvml_stand_in.stand_in import FUNCTION_NOT_FOUND, NOT_SUPPORTED, StandIn

DEFAULT_W = 380.0
ERRORS = pytest.mark.parametrize("code", [NOT_SUPPORTED, FUNCTION_NOT_FOUND])
OPTIONAL = {
    "nvmlDeviceGetPowerUsage": {"power_w"},
    "nvmlDeviceGetFieldValues": {"power_instant_w", "power_average_w"},
    "nvmlDeviceGetClockInfo": {"sm_clock_mhz", "mem_clock_mhz"},
    "nvmlDeviceGetUtilizationRates": {"gpu_util", "mem_util"},
    "nvmlDeviceGetTotalEnergyConsumption": {"energy_j"},
}


@pytest.fixture(scope="module")
def plain(nvml_process: Process, module_stand_in: StandIn) -> tuple[Window, dict[str, int]]:
    """A window of a GPU at the driver's default, and the values that were refused."""
    window, refused = Elsewhere(nvml_process, module_stand_in)(observed, 1.0)
    return window, refused


def test_readings_are_in_the_units_of_their_signals(plain: tuple[Window, dict[str, int]]) -> None:
    window, refused = plain
    means = {signal.name: window.mean(signal) for signal in (POWER, SM_CLOCK, MEM_CLOCK, TEMPERATURE)}
    expected = {"power_w": DEFAULT_W, "sm_clock_mhz": 1800, "mem_clock_mhz": 3000, "temperature_c": 45}
    assert means == pytest.approx(expected)
    assert refused == {}


def test_utilisation_is_a_ratio(plain: tuple[Window, dict[str, int]]) -> None:
    assert plain[0].column("gpu_util") == pytest.approx(1.0)
    assert plain[0].column("mem_util") == pytest.approx(0.4)


def test_the_energy_counter_is_read_at_the_edges_of_a_window_only(plain: tuple[Window, dict[str, int]]) -> None:
    energy = plain[0].column(ENERGY.name)
    assert energy is not None
    assert np.isfinite(energy).tolist() == [True, *[False] * (len(energy) - 2), True]


def test_energy_over_a_window_is_what_the_gpu_drew(plain: tuple[Window, dict[str, int]]) -> None:
    # Both edges lie somewhere within a refresh of 0.1 s.
    assert plain[0].rate(ENERGY.name) == pytest.approx(DEFAULT_W, rel=0.11)


def test_instantaneous_and_averaged_power_are_told_apart(elsewhere: Elsewhere, stand_in: StandIn) -> None:
    stand_in.state.gpus[0].points[0].watts = 200.0
    stand_in.fail("field:185", value=300_000.0)
    window, _ = elsewhere(observed)
    assert (window.mean(POWER_INSTANT), window.mean(POWER_AVERAGE)) == pytest.approx((200.0, 300.0))


def test_a_field_whose_own_status_is_an_error_is_missing(elsewhere: Elsewhere, stand_in: StandIn) -> None:
    stand_in.fail("field:186", NOT_SUPPORTED)
    window, _ = elsewhere(observed)
    assert math.isnan(window.mean(POWER_INSTANT))
    assert window.mean(POWER_AVERAGE) == pytest.approx(DEFAULT_W)


@ERRORS
@pytest.mark.parametrize("function", OPTIONAL)
def test_a_function_that_is_missing_costs_its_signals_alone(
    elsewhere: Elsewhere, stand_in: StandIn, function: str, code: int
) -> None:
    whole: Told = elsewhere(told_by, OBSERVE)
    stand_in.fail(function, code)
    told: Told = elsewhere(told_by, OBSERVE)
    assert {signal.name for signal in whole.signals} - {signal.name for signal in told.signals} == OPTIONAL[function]
    assert [line for line in told.log if all(name in line for name in OPTIONAL[function])] == list(told.log)


@pytest.mark.parametrize(
    ("newer", "signal"),
    [
        ("nvmlDeviceGetTemperatureV", "temperature_c"),
        ("nvmlDeviceGetCurrentClocksEventReasons", "throttle_reasons"),
    ],
)
def test_a_driver_that_knows_the_old_name_alone_is_asked_by_it(
    elsewhere: Elsewhere, stand_in: StandIn, newer: str, signal: str
) -> None:
    stand_in.fail(newer, FUNCTION_NOT_FOUND)
    window, _ = elsewhere(observed)
    assert np.isfinite(window.column(signal)).all()


def test_a_reading_that_fails_in_mid_run_is_missing_in_that_row(elsewhere: Elsewhere, stand_in: StandIn) -> None:
    running = elsewhere.start(observed, 0.5)
    stand_in.wait_for_reader()
    time.sleep(0.2)
    stand_in.fail("nvmlDeviceGetPowerUsage", NOT_SUPPORTED, calls=1)
    window, _ = running.result()
    assert np.isnan(window.column(POWER.name)).sum() == 1


@pytest.mark.parametrize(
    ("function", "value", "signal"),
    [
        ("nvmlDeviceGetUtilizationRates", 4294967295, "gpu_util"),
        ("nvmlDeviceGetTemperatureV", 82505, "temperature_c"),
        ("field:186", 9223372036854775808.0, "power_instant_w"),
        ("gpm:02", 140737488355328.0, "sm_active"),
    ],
)
def test_a_value_that_no_sensor_can_mean_is_missing_and_counted(
    elsewhere: Elsewhere, stand_in: StandIn, function: str, value: float, signal: str
) -> None:
    stand_in.fail(function, value=value)
    window, refused = elsewhere(observed)
    assert np.isnan(window.column(signal)).all()
    assert set(refused) == {signal}


def test_without_an_energy_counter_power_is_integrated_and_the_measurement_says_so(
    elsewhere: Elsewhere, stand_in: StandIn
) -> None:
    stand_in.fail("nvmlDeviceGetTotalEnergyConsumption", NOT_SUPPORTED)
    window, _ = elsewhere(observed)
    measurement = summarise(window, WorkCounterMeter())
    assert ENERGY not in window.signals
    assert measurement.energy_source == "power"
    assert measurement.power_w == pytest.approx(DEFAULT_W)


def test_an_energy_counter_that_goes_back_gives_no_negative_joule(elsewhere: Elsewhere, stand_in: StandIn) -> None:
    running = elsewhere.start(observed, 0.8)
    stand_in.wait_for_reader()
    time.sleep(0.4)
    stand_in.state.gpus[0].energy_offset_mj = -2_000_000
    window, _ = running.result()
    measurement = summarise(window, WorkCounterMeter())
    assert math.isnan(window.rate(ENERGY.name))
    assert measurement.energy_source == "power"
    assert measurement.power_w == pytest.approx(DEFAULT_W)


def test_oversampled_power_shows_the_pace_of_the_sensor(
    make_stand_in: MakeStandIn, elsewhere_with: Callable[[StandIn], Elsewhere]
) -> None:
    elsewhere = elsewhere_with(make_stand_in(hand_made(power_ripple=0.1)))
    window, _ = elsewhere(observed, 1.3, {"rate_hz": 50})
    assert update_interval_s(window.t_s, window.column(POWER_INSTANT.name)) == pytest.approx(0.1, rel=0.1)


@pytest.mark.parametrize("name", [b"\xff\xfe\xfdGPU", b""])
def test_a_name_that_is_no_text_becomes_a_placeholder(elsewhere: Elsewhere, stand_in: StandIn, name: bytes) -> None:
    stand_in.state.gpus[0].name = name
    told: Told = elsewhere(told_by, OBSERVE)
    assert told.info.gpu_name == "NVIDIA GPU (its name cannot be read)"
    assert any("name of GPU 0 cannot be read" in line for line in told.log)
