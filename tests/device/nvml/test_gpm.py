from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gpoeo_env.signals import signal_named
from tests.device.nvml.scenes import OBSERVE, Told, observed, told_by
from tests.nvml_stand_in.fixtures import Elsewhere, MakeStandIn
from tests.nvml_stand_in.gpus import AMPERE, GPM_IDS, hand_made
from tests.nvml_stand_in.stand_in import FUNCTION_NOT_FOUND, NO_PERMISSION, NOT_SUPPORTED, StandIn

SM_ACTIVE = signal_named("sm_active")


def test_counters_are_ratios_and_bytes_a_second(elsewhere: Elsewhere) -> None:
    window, _ = elsewhere(observed)
    means = {name: window.mean(signal_named(name)) for name in ("sm_active", "tensor_active", "pcie_rx_bytes")}
    assert means == pytest.approx({"sm_active": 0.9, "tensor_active": 0.4, "pcie_rx_bytes": 3e6})


@pytest.mark.parametrize("rate_hz", [10, 100])
def test_a_busy_gpu_never_reads_as_idle_however_fast_it_is_polled(elsewhere: Elsewhere, rate_hz: int) -> None:
    window, _ = elsewhere(observed, 0.6, {"rate_hz": rate_hz})
    column = window.column("sm_active")
    known = column[np.isfinite(column)]
    assert known == pytest.approx(0.9)
    assert len(known) >= 3


def test_a_sensor_that_refreshes_more_slowly_than_expected_gives_fewer_rows_not_zeros(
    make_stand_in: MakeStandIn, elsewhere_with: Callable[[StandIn], Elsewhere]
) -> None:
    window, _ = elsewhere_with(make_stand_in(hand_made(refresh_s=0.2)))(observed, 0.6, {"rate_hz": 20})
    column = window.column("sm_active")
    assert column[np.isfinite(column)] == pytest.approx(0.9)


def test_a_gpu_that_does_nothing_reads_zero(elsewhere: Elsewhere, stand_in: StandIn) -> None:
    for number in GPM_IDS.values():
        stand_in.state.gpus[0].points[0].gpm[number] = 0.0
    window, _ = elsewhere(observed, 0.6)
    column = window.column("sm_active")
    assert np.isfinite(column).sum() >= 2
    assert window.mean(SM_ACTIVE) == 0.0


def test_the_first_row_of_a_window_has_no_counters(elsewhere: Elsewhere) -> None:
    window, _ = elsewhere(observed)
    assert np.isnan(window.column("sm_active")[0])


def test_memory_traffic_is_there_although_it_is_no_number_over_no_time(elsewhere: Elsewhere) -> None:
    """Opening takes two samples at once: between them an H200 answers NaN with success for DRAM, 0 for the rest."""
    window, _ = elsewhere(observed)
    assert 0.0 < window.mean(signal_named("dram_active")) <= 1.0


def test_a_metric_with_an_error_of_its_own_is_left_out_alone(elsewhere: Elsewhere, stand_in: StandIn) -> None:
    stand_in.fail("gpm:05", NOT_SUPPORTED)
    told: Told = elsewhere(told_by, OBSERVE)
    names = {signal.name for signal in told.signals}
    assert "tensor_active" not in names
    assert "sm_active" in names


@pytest.mark.parametrize(
    ("function", "code"),
    [
        ("nvmlGpmQueryDeviceSupport", FUNCTION_NOT_FOUND),
        ("nvmlGpmSampleGet", NOT_SUPPORTED),
        ("nvmlGpmMetricsGet", NO_PERMISSION),
        ("nvmlGpmSampleAlloc", FUNCTION_NOT_FOUND),
    ],
)
def test_without_gpm_the_device_works_and_says_that_it_has_no_counters(
    elsewhere: Elsewhere, stand_in: StandIn, function: str, code: int
) -> None:
    stand_in.fail(function, code)
    window, _ = elsewhere(observed)
    told: Told = elsewhere(told_by, OBSERVE)
    assert window.column("sm_active") is None
    assert "counters: none" in told.info.provenance


def test_a_gpu_before_hopper_has_no_counters_by_default(
    make_stand_in: MakeStandIn, elsewhere_with: Callable[[StandIn], Elsewhere]
) -> None:
    told: Told = elsewhere_with(make_stand_in(hand_made(architecture=AMPERE, has_gpm=False)))(told_by, OBSERVE)
    assert SM_ACTIVE not in told.signals
    assert "counters: none" in told.info.provenance
