"""The closed form against plain scalars, pair by pair, with the limits kept by stepping down."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from gpoeo_env.clocks import RELEASE, ClockPair
from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.closed_form import OperatingPoints, operating_points, simulated_sweeps, sweep_of
from gpoeo_env.sim.counters import GPM
from gpoeo_env.sim.phases import Phase
from gpoeo_env.sim.physics.limits import POWER_CAP, THERMAL_SLOWDOWN
from gpoeo_env.sim.suites.drawn import drawn_workloads
from gpoeo_env.sim.workloads import Workload


def _power_mean(parts: tuple[float, ...], overlap: float) -> float:
    exponent = 1.0 / (1.0 - overlap)
    return math.pow(sum(math.pow(part, exponent) for part in parts), 1.0 / exponent)


def _phase_by_hand(gpu: Gpu, phase: Phase, pair: ClockPair) -> tuple[float, float, float]:
    """Seconds, watts without leakage, and leakage at its reference temperature."""
    speed, mem_speed = pair.sm_mhz / 1995, pair.mem_mhz / 9501
    floor = gpu.throughput.onchip_floor
    compute_s, memory_s = phase.compute_s / speed, phase.memory_s / mem_speed
    onchip_s = phase.onchip_s / (floor + (1 - floor) * speed)
    gpu_s = _power_mean((compute_s, onchip_s, memory_s), phase.overlap) if phase.uses_gpu else 0.0
    total_s = _power_mean((gpu_s, phase.host_s), phase.host_overlap)
    curve, power, mix = gpu.voltage, gpu.power, phase.mix
    rise = max(0.0, pair.sm_mhz - curve.floor_until_mhz) / (1995 - curve.floor_until_mhz)
    volts = curve.floor_v + (curve.top_v - curve.floor_v) * rise**curve.curvature
    squared = (volts / curve.top_v) ** 2
    pipes_w = sum(
        getattr(power, f"{pipe}_w") * getattr(mix, pipe) for pipe in ("tensor", "fp32", "fp16", "fp64", "integer")
    )
    switching_w = (
        power.clock_tree_w
        + power.sm_w * mix.fill * min(1.0, gpu_s / total_s)
        + mix.toggling * (pipes_w * compute_s + power.onchip_w * mix.onchip * onchip_s) / total_s
    )
    memory_w = (power.mem_standing_w + power.mem_access_w * mix.bandwidth * memory_s / total_s) * mem_speed
    return total_s, power.board_w + switching_w * squared * speed + memory_w, power.leakage_w * squared


def _by_hand(gpu: Gpu, workload: Workload, pair: ClockPair) -> tuple[float, float, float]:
    """Seconds, watts and temperature of a mean iteration without limits; the temperature by letting it settle."""
    phases = [(_phase_by_hand(gpu, phase, pair), phase.every) for phase in workload.phases]
    seconds = sum(total_s / every for (total_s, _, _), every in phases)
    other_w = sum(total_s / every * watts for (total_s, watts, _), every in phases) / seconds
    leakage_w, temperature_c = phases[0][0][2], 40.0
    for _ in range(60):
        watts = other_w + leakage_w * (1 + gpu.power.leakage_per_k * (temperature_c - gpu.power.leakage_at_c))
        temperature_c = gpu.thermal.ambient_c + gpu.thermal.resistance_k_per_w * watts
    return seconds, watts, temperature_c


def _by_hand_under_the_limits(gpu: Gpu, workload: Workload, pair: ClockPair) -> tuple[int, float, float]:
    """Step the SM clock down until both limits hold."""
    sm_mhz = pair.sm_mhz
    seconds, watts, temperature_c = _by_hand(gpu, workload, pair)
    while (watts > gpu.power_limit_w or temperature_c > gpu.thermal.slowdown_c) and sm_mhz > 210:
        sm_mhz -= 15
        seconds, watts, temperature_c = _by_hand(gpu, workload, ClockPair(sm_mhz, pair.mem_mhz))
    return sm_mhz, seconds, watts


def _limited(gpu: Gpu, *, power_limit_w: float, slowdown_c: float) -> Gpu:
    thermal = gpu.thermal.model_copy(update={"slowdown_c": slowdown_c})
    return gpu.model_copy(update={"power_limit_w": power_limit_w, "thermal": thermal})


def _rows(points: OperatingPoints) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    sm_mhz = [pair.sm_mhz for pair in points.in_force[1:]]
    return np.column_stack((sm_mhz, points.seconds[1:], points.watts[1:]))


@pytest.mark.parametrize(("power_limit_w", "slowdown_c"), [(350.0, 88.0), (260.0, 88.0), (350.0, 55.0)])
def test_the_closed_form_agrees_with_a_slow_loop_over_every_pair(
    gpu: Gpu, demo: dict[str, Workload], power_limit_w: float, slowdown_c: float
) -> None:
    limited = _limited(gpu, power_limit_w=power_limit_w, slowdown_c=slowdown_c)
    for workload in (demo["bert-base"], demo["ppo"], drawn_workloads(12, seed=0)[-1]):
        expected = [_by_hand_under_the_limits(limited, workload, pair) for pair in gpu.clocks]
        assert _rows(operating_points(limited, workload)) == pytest.approx(np.array(expected))


def test_released_clocks_are_the_default_pair_under_the_same_limits(gpu: Gpu, demo: dict[str, Workload]) -> None:
    points = operating_points(_limited(gpu, power_limit_w=250.0, slowdown_c=88.0), demo["bert-base"])
    default = gpu.clocks.action_of(gpu.default_pair)
    assert points.in_force[RELEASE] == points.in_force[default] != gpu.default_pair
    assert points.watts[RELEASE] == points.watts[default]


def test_reasons_tell_the_power_cap_from_the_heat(gpu: Gpu, demo: dict[str, Workload]) -> None:
    top = gpu.clocks.action_of(gpu.clocks.top)
    capped = operating_points(_limited(gpu, power_limit_w=260.0, slowdown_c=99.0), demo["bert-base"])
    hot = operating_points(_limited(gpu, power_limit_w=500.0, slowdown_c=55.0), demo["bert-base"])
    free = operating_points(gpu, demo["dlrm"])
    assert capped.throttle_reasons[top] == (POWER_CAP,)
    assert hot.throttle_reasons[top] == (THERMAL_SLOWDOWN,)
    assert set(free.throttle_reasons) == {()}
    assert list(free.in_force[1:]) == list(gpu.clocks)


def test_a_gpu_that_waits_for_long_falls_asleep_when_released_and_only_then(gpu: Gpu) -> None:
    step, stall = Phase(name="step", compute_s=0.1), Phase(name="stall", host_s=10.0)
    points = operating_points(gpu, Workload(name="w", family="f", phases=(step, stall)))
    locked = points.phase_watts[1, gpu.clocks.action_of(gpu.default_pair)]
    awake_s = gpu.power.idle_after_s
    assert points.phase_watts[1, RELEASE] == pytest.approx(
        (awake_s * locked + (10.0 - awake_s) * gpu.power.idle_w) / 10.0
    )
    assert locked > gpu.power.idle_w


def test_an_evaluation_every_n_counts_for_a_nth_in_the_mean(gpu: Gpu) -> None:
    step, evaluation = Phase(name="step", compute_s=0.1), Phase(name="evaluation", compute_s=0.5, every=10)
    points = operating_points(gpu, Workload(name="w", family="f", phases=(step, evaluation)))
    assert points.seconds[gpu.clocks.action_of(gpu.clocks.top)] == pytest.approx(0.15)


def test_a_sweep_holds_joules_of_an_iteration_and_the_default_as_reference(gpu: Gpu, demo: dict[str, Workload]) -> None:
    sweep, points = sweep_of(gpu, demo["gcn"]), operating_points(gpu, demo["gcn"])
    assert sweep.reference == gpu.default_pair
    assert sweep.watts == pytest.approx(points.watts[1:])
    assert sweep.counter_names == GPM


def test_energy_has_its_least_value_inside_the_range_of_sm_clocks(gpu: Gpu, demo: dict[str, Workload]) -> None:
    for workload in demo.values():
        at_top_memory = sweep_of(gpu, workload).energy_ratio[-len(gpu.clocks.sm_clocks) :]
        assert 0 < int(np.argmin(at_top_memory)) < len(at_top_memory) - 1


def test_simulated_sweeps_say_that_they_are_simulated(gpu: Gpu, demo: dict[str, Workload]) -> None:
    sweeps = simulated_sweeps(gpu, [demo["gcn"], demo["ppo"]], "two workloads")
    assert sweeps.provenance.is_simulated
    assert sweeps.provenance.source == "simulated: rtx3080ti, two workloads"
    assert sweeps.workloads == ("gcn", "ppo")


def test_jitter_and_varying_lengths_leave_the_mean_as_it_is(gpu: Gpu, demo: dict[str, Workload]) -> None:
    steady = replace(demo["lstm"], jitter=0.0, length_sd=0.0)
    np.testing.assert_array_equal(operating_points(gpu, steady).seconds, operating_points(gpu, demo["lstm"]).seconds)
