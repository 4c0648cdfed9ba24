from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gpoeo_env.clocks import ClockPair
from gpoeo_env.progress.counter_work import CounterWorkMeter
from gpoeo_env.progress.meter import UNSTATED_REL_SD
from gpoeo_env.records import Progress, Spread, Window
from gpoeo_env.signals import signal_named

SM_MHZ, MEM_MHZ = 1400.0, 3200.0


def window(t_s: NDArray[np.float64] | None = None, **columns: Any) -> Window:
    """Make a window of constant or given columns; clocks are read unless given as None."""
    times = np.arange(0.0, 10.05, 0.1) if t_s is None else t_s
    given = {"sm_clock_mhz": SM_MHZ, "mem_clock_mhz": MEM_MHZ} | columns
    kept = {name: column for name, column in given.items() if column is not None}
    values = np.column_stack([np.broadcast_to(column, times.shape) for column in kept.values()]).astype(np.float64)
    return Window(times, values, tuple(signal_named(name) for name in kept), None, None)


def after(first: Window, second: Window) -> Progress:
    meter = CounterWorkMeter()
    meter.measure(first)
    return meter.measure(second)


def test_the_first_usable_window_has_the_rate_one() -> None:
    progress = CounterWorkMeter().measure(window(dram_active=0.4))
    assert progress.work_rate == pytest.approx(1.0)
    assert progress.kind == "counter_work"


def test_memory_work_is_activity_times_memory_clock() -> None:
    progress = after(window(dram_active=0.4), window(dram_active=0.6, mem_clock_mhz=1600.0))
    assert progress.work_rate == pytest.approx(0.75)


@pytest.mark.parametrize("pipe", ["tensor_active", "fp64_active", "fp32_active", "fp16_active", "integer_active"])
def test_pipe_work_is_activity_times_sm_clock(pipe: str) -> None:
    columns: dict[str, Any] = {pipe: 0.5}
    progress = after(window(**columns), window(**columns, sm_clock_mhz=1260.0))
    assert progress.work_rate == pytest.approx(0.9)


def test_being_active_is_not_work() -> None:
    progress = CounterWorkMeter().measure(window(sm_active=0.9, sm_occupancy=0.5))
    assert math.isnan(progress.work_rate)


def test_memory_weighs_most_where_there_is_traffic() -> None:
    meter = CounterWorkMeter()
    meter.measure(window(dram_active=0.4, fp32_active=0.3))
    assert meter.weights["dram_active"] > 0.8
    assert sum(meter.weights.values()) == pytest.approx(1.0)


def test_memory_weighs_little_where_there_is_hardly_any_traffic() -> None:
    meter = CounterWorkMeter()
    meter.measure(window(dram_active=0.011, fp32_active=0.3))
    assert meter.weights["fp32_active"] > 0.7


def test_rates_of_later_windows_do_not_depend_on_the_windows_between() -> None:
    first, between, last = window(dram_active=0.4), window(dram_active=0.2), window(dram_active=0.3)
    meter = CounterWorkMeter()
    for each in (first, between):
        meter.measure(each)
    assert meter.measure(last).work_rate == pytest.approx(after(first, last).work_rate)


def test_reset_starts_a_new_unit() -> None:
    meter = CounterWorkMeter()
    meter.measure(window(dram_active=0.4))
    meter.reset()
    assert meter.measure(window(dram_active=0.2)).work_rate == pytest.approx(1.0)


def test_the_activity_is_integrated_on_timestamps() -> None:
    t_s = np.array([0.0, 1.0, 2.0, 10.0])
    progress = after(window(dram_active=0.4), window(t_s, dram_active=[0.9, 0.8, 0.8, 0.2]))
    assert progress.work_rate == pytest.approx((2 * 0.8 + 8 * 0.2) / 10 / 0.4)


def test_missing_rows_do_not_count_as_idle() -> None:
    gappy = np.where(np.arange(101) % 5 == 0, 0.4, np.nan)
    assert after(window(dram_active=0.4), window(dram_active=gappy)).work_rate == pytest.approx(1.0)


def test_a_clock_that_moves_is_integrated_too() -> None:
    falling = np.linspace(1400.0, 1200.0, 101)
    progress = after(window(fp32_active=0.5), window(fp32_active=0.5, sm_clock_mhz=falling))
    assert progress.work_rate == pytest.approx(1300 / 1400)


def test_rows_polled_inside_one_refresh_are_not_idle() -> None:
    t_s = np.arange(0.0, 10.01, 0.02)
    polled = np.where(np.arange(len(t_s)) % 5 == 0, 0.4, 0.0)
    assert after(window(dram_active=0.4), window(t_s, dram_active=polled)).work_rate == pytest.approx(1.0, rel=2e-3)


def test_tensor_reads_that_dcgm_drops_are_missing() -> None:
    is_dropped = np.arange(101) % 3 == 0
    dropping = window(
        tensor_active=np.where(is_dropped, 0.0, 0.5), sm_active=np.where(is_dropped, 0.0, 0.9), fp32_active=0.2
    )
    steady = window(tensor_active=0.5, sm_active=0.9, fp32_active=0.2)
    assert after(steady, dropping).work_rate == pytest.approx(1.0)


def test_clocks_that_are_not_read_are_those_observed_or_else_requested() -> None:
    blind = window(fp32_active=0.5, sm_clock_mhz=None, mem_clock_mhz=None)
    first = replace(blind, observed=ClockPair(1400, 3200), requested=ClockPair(1500, 3200))
    second = replace(blind, requested=ClockPair(1260, 3200))
    assert after(first, second).work_rate == pytest.approx(0.9)


def test_counters_without_a_clock_are_refused() -> None:
    progress = CounterWorkMeter().measure(window(fp32_active=0.5, sm_clock_mhz=None))
    assert math.isnan(progress.work_rate)
    assert "clock is unknown" in progress.reason


@pytest.mark.parametrize(
    "columns", [{}, {"dram_active": 0.0}, {"dram_active": 3e-4, "fp32_active": 0.006}, {"fp32_active": math.nan}]
)
def test_a_window_without_evidence_is_refused_with_a_reason(columns: dict[str, Any]) -> None:
    progress = CounterWorkMeter().measure(window(**columns))
    assert math.isnan(progress.work_rate)
    assert math.isnan(progress.rel_sd)
    assert progress.reason


def test_a_refused_first_window_is_not_the_anchor() -> None:
    assert after(window(dram_active=0.0), window(dram_active=0.4)).work_rate == pytest.approx(1.0)


def test_a_pause_is_refused_and_the_unit_survives_it() -> None:
    meter = CounterWorkMeter()
    meter.measure(window(dram_active=0.4))
    assert math.isnan(meter.measure(window(dram_active=0.0)).work_rate)
    assert meter.measure(window(dram_active=0.2)).work_rate == pytest.approx(0.5)


def test_sources_that_tell_different_stories_are_refused() -> None:
    progress = after(window(dram_active=0.4, tensor_active=0.2), window(dram_active=0.5, tensor_active=0.1))
    assert math.isnan(progress.work_rate)
    assert "disagree" in progress.reason


def test_small_disagreement_widens_the_uncertainty() -> None:
    first = window(dram_active=0.4, tensor_active=0.2)
    agreeing = after(first, window(dram_active=0.4, tensor_active=0.2))
    disagreeing = after(first, window(dram_active=0.4, tensor_active=0.19))
    assert disagreeing.rel_sd > 2 * agreeing.rel_sd


def test_the_uncertainty_grows_with_the_distance_of_the_clocks() -> None:
    first = window(dram_active=0.4)
    near, far = (after(first, window(dram_active=0.4, sm_clock_mhz=mhz)) for mhz in (1385.0, 1100.0))
    assert near.rel_sd < 0.003 < far.rel_sd


def test_traffic_that_caches_add_at_other_clocks_is_set_aside() -> None:
    first = window(dram_active=0.4, fp32_active=0.3)
    second = window(dram_active=0.5, fp32_active=0.3, sm_clock_mhz=1120.0)
    assert after(first, second).work_rate == pytest.approx(0.8, rel=0.03)


def test_an_uneven_load_is_less_certain_than_a_steady_one() -> None:
    load = 0.4 + 0.3 * np.sign(np.random.default_rng(0).normal(size=101))
    steady, uneven = (CounterWorkMeter().measure(window(dram_active=column)) for column in (0.4, load))
    assert uneven.rel_sd > 5 * steady.rel_sd


def test_a_window_of_two_rows_has_the_usual_uncertainty() -> None:
    assert CounterWorkMeter().measure(window(np.array([0.0, 10.0]), dram_active=0.4)).rel_sd == UNSTATED_REL_SD


def test_the_error_that_the_device_states_is_used() -> None:
    stated = replace(window(dram_active=0.4), spread=Spread(0.03, 0.5))
    assert CounterWorkMeter().measure(stated).rel_sd == pytest.approx(0.03)


@pytest.mark.parametrize(
    "t_s",
    [
        np.array([0.0, 0.0]),
        np.array([1.0, 0.5, 0.7, 0.2]),
        np.array([0.0, 1.0, 1.0, 1.0, 2.0]),
        np.zeros(50),
    ],
)
@pytest.mark.parametrize("level", [0.4, 0.0, math.nan, math.inf, -1.0])
def test_odd_rows_never_raise(t_s: NDArray[np.float64], level: float) -> None:
    meter = CounterWorkMeter()
    for _ in range(2):
        progress = meter.measure(window(t_s, dram_active=level, fp32_active=0.1, power_w=100.0))
        assert progress.reason or math.isfinite(progress.rel_sd)


@pytest.mark.parametrize("mhz", [0.0, math.nan, -1.0])
def test_odd_clocks_never_raise(mhz: float) -> None:
    assert CounterWorkMeter().measure(window(fp32_active=0.5, sm_clock_mhz=mhz)).reason
