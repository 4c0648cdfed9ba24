from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.physics import blend, iteration_times, power_parts, rows_under_limit, voltage
from gpoeo_env.sim.workloads import Workload, training_workloads

Array = NDArray[np.float64]
TIMES = st.floats(1e-4, 10.0)


def _at(gpu: Gpu, workload: Workload, sm_mhz: Array, mem_mhz: Array) -> Array:
    return iteration_times(gpu, workload, sm_mhz, mem_mhz).total_s


def _sm_clocks(gpu: Gpu) -> Array:
    return np.array(gpu.clocks.sm_clocks, dtype=np.float64)


def test_activities_without_overlap_take_the_sum_of_their_times() -> None:
    assert blend(np.array(2.0), np.array(3.0), 0.0) == pytest.approx(5.0)


def test_activities_that_overlap_fully_take_the_longer_time() -> None:
    assert blend(np.array(2.0), np.array(3.0), 0.999) == pytest.approx(3.0)


@given(one=TIMES, other=TIMES, overlap=st.floats(0.0, 0.99))
def test_partial_overlap_lies_between_the_longer_time_and_the_sum(one: float, other: float, overlap: float) -> None:
    both = float(blend(np.array(one), np.array(other), overlap))
    assert max(one, other) <= both <= (one + other) * (1 + 1e-12)


def test_pure_compute_time_is_inverse_to_the_sm_clock(gpu: Gpu, demo: dict[str, Workload]) -> None:
    workload = replace(demo["bert-base"], memory_s=0.0, host_s=0.0)
    halved = np.array([gpu.clocks.top.sm_mhz, gpu.clocks.top.sm_mhz / 2])
    seconds = _at(gpu, workload, halved, np.full(2, 9501.0))
    assert seconds == pytest.approx([workload.compute_s, 2 * workload.compute_s])


def test_memory_time_is_inverse_to_the_memory_clock(gpu: Gpu, demo: dict[str, Workload]) -> None:
    times = iteration_times(gpu, demo["gcn"], np.full(2, 1500.0), np.array([9501.0, 9501.0 / 2]))
    assert times.memory_s == pytest.approx([demo["gcn"].memory_s, 2 * demo["gcn"].memory_s])


def test_host_time_is_a_floor_that_no_clock_moves(gpu: Gpu, demo: dict[str, Workload]) -> None:
    workload = replace(demo["ppo"], compute_s=1e-6, memory_s=1e-6, host_overlap=0.0)
    seconds = _at(gpu, workload, np.array([210.0, 1995.0]), np.array([405.0, 9501.0]))
    assert seconds == pytest.approx([workload.host_s] * 2, rel=1e-3)


def test_a_faster_clock_never_slows_an_iteration(gpu: Gpu) -> None:
    clocks = _sm_clocks(gpu)
    memory = np.array(gpu.clocks.mem_clocks, dtype=np.float64)
    for workload in training_workloads(20, seed=3):
        seconds = _at(gpu, workload, clocks[None, :], memory[:, None])
        assert np.all(np.diff(seconds, axis=0) < 0)
        assert np.all(np.diff(seconds, axis=1) < 0)


def test_voltage_is_flat_up_to_the_floor_clock_and_rises_above_it(gpu: Gpu) -> None:
    clocks = _sm_clocks(gpu)
    volts = voltage(gpu, clocks)
    is_on_floor = clocks <= gpu.voltage.floor_until_mhz
    assert volts[is_on_floor] == pytest.approx(gpu.voltage.floor_v)
    assert np.all(np.diff(volts[~is_on_floor]) > 0)
    assert volts[-1] == pytest.approx(gpu.voltage.top_v)


def test_power_rises_with_both_clocks(gpu: Gpu) -> None:
    clocks = _sm_clocks(gpu)[None, :]
    memory = np.array(gpu.clocks.mem_clocks, dtype=np.float64)[:, None]
    for workload in training_workloads(20, seed=3):
        times = iteration_times(gpu, workload, clocks, memory)
        watts = power_parts(gpu, workload, clocks, memory, times).total_w
        assert np.all(np.diff(watts, axis=0) > 0)
        assert np.all(np.diff(watts, axis=1) > 0)


def test_arithmetic_costs_less_energy_where_the_voltage_is_lower(gpu: Gpu, demo: dict[str, Workload]) -> None:
    workload = demo["bert-base"]
    sm_mhz, mem_mhz = np.array([1100.0, 1995.0]), np.full(2, 9501.0)
    times = iteration_times(gpu, workload, sm_mhz, mem_mhz)
    with_work = power_parts(gpu, workload, sm_mhz, mem_mhz, times).working_w
    without = power_parts(gpu, replace(workload, activity=0.0), sm_mhz, mem_mhz, times).working_w
    joules = (with_work - without) * times.total_s
    expected = (gpu.voltage.floor_v / gpu.voltage.top_v) ** 2
    assert joules[0] / joules[1] == pytest.approx(expected)


def test_moving_the_same_bytes_costs_the_same_access_energy_at_every_clock(gpu: Gpu, demo: dict[str, Workload]) -> None:
    workload = demo["gcn"]
    sm_mhz, mem_mhz = np.array([600.0, 1995.0]), np.array([810.0, 9501.0])
    times = iteration_times(gpu, workload, sm_mhz, mem_mhz)
    with_access = power_parts(gpu, workload, sm_mhz, mem_mhz, times).working_w
    without = power_parts(gpu, replace(workload, bandwidth=0.0), sm_mhz, mem_mhz, times).working_w
    joules = (with_access - without) * times.total_s
    assert joules[0] == pytest.approx(joules[1])


def test_the_limit_leaves_the_highest_clock_that_keeps_it() -> None:
    watts = np.array([[100.0, 200.0, 300.0, 400.0]])
    assert rows_under_limit(watts, 300.0).tolist() == [[0, 1, 2, 2]]


def test_a_limit_that_nothing_keeps_leaves_the_lowest_clock() -> None:
    assert rows_under_limit(np.array([100.0, 200.0]), 50.0).tolist() == [0, 0]
