from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from gpoeo_env.clocks import ClockPair
from gpoeo_env.objective import Objective
from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.closed_form import (
    COUNTER_NAMES,
    COUNTER_UNITS,
    operating_points,
    sweep_of,
    training_sweeps,
)
from gpoeo_env.sim.workloads import Workload, training_workloads


def _power_mean(one: float, other: float, overlap: float) -> float:
    exponent = 1.0 / (1.0 - overlap)
    return math.pow(math.pow(one, exponent) + math.pow(other, exponent), 1.0 / exponent)


def _by_hand(gpu: Gpu, workload: Workload, pair: ClockPair) -> tuple[float, float]:
    """Seconds and watts of one pair without the power limit, from the formulas in plain scalars."""
    compute_s = workload.compute_s * 1995 / pair.sm_mhz
    memory_s = workload.memory_s * 9501 / pair.mem_mhz
    gpu_s = _power_mean(compute_s, memory_s, workload.overlap)
    total_s = _power_mean(gpu_s, workload.host_s, workload.host_overlap)
    volts = gpu.voltage.floor_v
    if pair.sm_mhz > gpu.voltage.floor_until_mhz:
        rise = (pair.sm_mhz - gpu.voltage.floor_until_mhz) / (1995 - gpu.voltage.floor_until_mhz)
        volts += (gpu.voltage.top_v - gpu.voltage.floor_v) * rise**gpu.voltage.curvature
    voltage_squared = (volts / gpu.voltage.top_v) ** 2
    activity = gpu.power.clocking_share * gpu_s / total_s + workload.activity * compute_s / total_s
    watts = (
        gpu.power.board_w
        + gpu.power.leakage_w * voltage_squared
        + gpu.power.switching_w * voltage_squared * pair.sm_mhz / 1995 * activity
        + gpu.power.mem_standing_w * pair.mem_mhz / 9501
        + gpu.power.mem_access_w * workload.bandwidth * workload.memory_s / total_s
    )
    return total_s, watts


def _by_hand_under_the_limit(gpu: Gpu, workload: Workload, pair: ClockPair) -> tuple[int, float, float]:
    """Step the SM clock down until the power limit holds."""
    sm_mhz = pair.sm_mhz
    seconds, watts = _by_hand(gpu, workload, pair)
    while watts > gpu.power_limit_w and sm_mhz > 210:
        sm_mhz -= 15
        seconds, watts = _by_hand(gpu, workload, ClockPair(sm_mhz, pair.mem_mhz))
    return sm_mhz, seconds, watts


def test_the_closed_form_agrees_with_a_slow_loop_over_every_pair(gpu: Gpu, demo: dict[str, Workload]) -> None:
    for workload in (demo["bert-base"], demo["gcn"], demo["ppo"], replace(demo["unet3d"], activity=1.0)):
        points = operating_points(gpu, workload)
        expected = [_by_hand_under_the_limit(gpu, workload, pair) for pair in gpu.clocks]
        assert np.column_stack((points.sm_mhz, points.seconds, points.watts)) == pytest.approx(np.array(expected))


def test_a_limited_pair_runs_under_the_limit_and_the_next_clock_would_break_it(
    gpu: Gpu, demo: dict[str, Workload]
) -> None:
    workload = replace(demo["bert-base"], activity=1.0)
    points = operating_points(gpu, workload)
    top = gpu.clocks.action_of(gpu.default_pair) - 1
    assert points.is_capped[top]
    assert points.watts[top] <= gpu.power_limit_w
    next_clock = ClockPair(points.pair_at(top).sm_mhz + 15, 9501)
    assert _by_hand(gpu, workload, next_clock)[1] > gpu.power_limit_w


def test_no_pair_breaks_the_power_limit(gpu: Gpu) -> None:
    for workload in training_workloads(30, seed=5):
        assert operating_points(gpu, workload).watts.max() <= gpu.power_limit_w


def test_a_pair_under_the_limit_runs_as_requested(gpu: Gpu, demo: dict[str, Workload]) -> None:
    points = operating_points(gpu, demo["dlrm"])
    assert not points.is_capped.any()
    assert [points.pair_at(row) for row in range(len(gpu.clocks))] == list(gpu.clocks)


def test_counters_that_are_ratios_stay_between_0_and_1(gpu: Gpu) -> None:
    is_ratio = np.array([unit == "1" for unit in COUNTER_UNITS])
    for workload in training_workloads(30, seed=5):
        ratios = operating_points(gpu, workload).counters[:, is_ratio]
        assert ratios.min() >= 0
        assert ratios.max() <= 1


def test_memory_looks_busier_when_only_the_memory_clock_falls(gpu: Gpu, demo: dict[str, Workload]) -> None:
    counters = operating_points(gpu, demo["resnet50"]).counters[:, COUNTER_NAMES.index("dram_active")]
    slow, fast = (gpu.clocks.action_of(ClockPair(1995, mem)) - 1 for mem in (5001, 9501))
    assert counters[slow] > counters[fast]


def test_a_sweep_holds_joules_of_an_iteration_and_the_default_as_reference(gpu: Gpu, demo: dict[str, Workload]) -> None:
    sweep, points = sweep_of(gpu, demo["gcn"]), operating_points(gpu, demo["gcn"])
    assert sweep.reference == gpu.default_pair
    assert sweep.watts == pytest.approx(points.watts)
    assert sweep.counter_names == COUNTER_NAMES


def test_every_demonstrated_workload_offers_a_saving_and_none_a_free_lunch(gpu: Gpu, demo: dict[str, Workload]) -> None:
    for workload in demo.values():
        sweep = sweep_of(gpu, workload)
        best = Objective.ENERGY.best(sweep.time_ratio, sweep.energy_ratio, 0.05)
        assert 0.05 < 1 - sweep.energy_ratio[best] < 0.35
        assert sweep.time_ratio.min() >= 1.0, "nothing is faster than the default"


def test_memory_bound_work_saves_more_than_compute_bound_work(gpu: Gpu, demo: dict[str, Workload]) -> None:
    def saving(name: str) -> float:
        sweep = sweep_of(gpu, demo[name])
        best = Objective.ENERGY.best(sweep.time_ratio, sweep.energy_ratio, 0.05)
        return float(1 - sweep.energy_ratio[best])

    assert saving("gcn") > 2 * saving("bert-base")


def test_energy_has_its_least_value_inside_the_range_of_sm_clocks(gpu: Gpu, demo: dict[str, Workload]) -> None:
    for workload in demo.values():
        sweep = sweep_of(gpu, workload)
        at_top_memory = sweep.energy_ratio[-len(gpu.clocks.sm_clocks) :]
        assert 0 < int(np.argmin(at_top_memory)) < len(at_top_memory) - 1


def test_training_sweeps_say_that_they_are_simulated(gpu: Gpu) -> None:
    sweeps = training_sweeps(gpu, n=3, seed=4)
    assert sweeps.provenance.is_simulated
    assert "simulated" in sweeps.provenance.source
    assert len(sweeps.workloads) == 3


def test_training_sweeps_repeat_under_a_seed(gpu: Gpu) -> None:
    one, other = (training_sweeps(gpu, n=2, seed=4).sweeps for _ in range(2))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a.joules, b.joules)
