from __future__ import annotations

import numpy as np
import pytest

from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.phases import Mix, Phase
from gpoeo_env.sim.physics.power import PIPES, Activity, activity_of, power_parts, voltage
from gpoeo_env.sim.physics.timing import phase_times
from gpoeo_env.sim.suites.drawn import drawn_workloads


def _activity(**busy: float) -> Activity:
    pipes = np.array([busy.get(pipe, 0.0) for pipe in PIPES])
    rest = [np.array(busy.get(name, 0.0)) for name in ("sm", "onchip", "dram")]
    return Activity(rest[0], pipes, rest[1], rest[2])


def _watts(gpu: Gpu, activity: Activity, sm_mhz: float, mem_mhz: float) -> float:
    parts = power_parts(gpu, activity, np.array(sm_mhz), np.array(mem_mhz))
    return float(parts.leakage_w + parts.other_w)


def test_voltage_is_flat_up_to_the_floor_clock_and_rises_above_it(gpu: Gpu) -> None:
    clocks = np.array(gpu.clocks.sm_clocks, dtype=np.float64)
    volts = voltage(gpu, clocks)
    is_on_floor = clocks <= gpu.voltage.floor_until_mhz
    assert volts[is_on_floor] == pytest.approx(gpu.voltage.floor_v)
    assert np.all(np.diff(volts[~is_on_floor]) > 0)
    assert volts[-1] == pytest.approx(gpu.voltage.top_v)


def test_each_pipe_adds_its_own_power_at_the_top_clock(gpu: Gpu) -> None:
    quiet = _watts(gpu, _activity(), 1995, 9501)
    for pipe in PIPES:
        full = _watts(gpu, _activity(**{pipe: 1.0}), 1995, 9501)
        assert full - quiet == pytest.approx(getattr(gpu.power, f"{pipe}_w"))


def test_the_charge_of_an_operation_falls_with_the_square_of_the_voltage(gpu: Gpu) -> None:
    """Power for each operation is power over clock: at a fixed utilisation, only the voltage changes it."""
    low, high = (
        (_watts(gpu, _activity(fp32=0.5), sm, 9501) - _watts(gpu, _activity(), sm, 9501)) / sm for sm in (900.0, 1995.0)
    )
    assert low / high == pytest.approx((gpu.voltage.floor_v / gpu.voltage.top_v) ** 2)


def test_memory_power_stands_with_the_clock_and_moves_with_the_bytes(gpu: Gpu) -> None:
    half = 9501 / 2
    standing = _watts(gpu, _activity(), 1995, 9501) - _watts(gpu, _activity(), 1995, half)
    moving = _watts(gpu, _activity(dram=0.8), 1995, half) - _watts(gpu, _activity(), 1995, half)
    assert standing == pytest.approx(gpu.power.mem_standing_w / 2)
    assert moving == pytest.approx(0.8 * gpu.power.mem_access_w / 2)


def test_data_that_toggle_less_draw_less_in_the_pipes_alone(gpu: Gpu) -> None:
    clocks = np.array(1995.0), np.array(9501.0)
    busy = _activity(sm=0.9, tensor=0.6, onchip=0.3, dram=0.5)
    still, lively = (power_parts(gpu, busy, *clocks, toggling=toggling).other_w for toggling in (0.0, 1.0))
    assert lively - still == pytest.approx(0.6 * gpu.power.tensor_w + 0.3 * gpu.power.onchip_w)


def test_activity_is_the_mix_weighted_by_the_time_that_each_part_takes(gpu: Gpu) -> None:
    mix = Mix(tensor=0.5, fp32=0.3, bandwidth=0.8, fill=0.7, onchip=0.4)
    phase = Phase(name="step", compute_s=0.1, onchip_s=0.05, memory_s=0.06, overlap=0.0, mix=mix)
    activity = activity_of(phase, phase_times(gpu, phase, np.array(1995.0), np.array(9501.0)))
    assert activity.pipes[PIPES.index("tensor")] == pytest.approx(0.5 * 0.1 / 0.21)
    assert activity.onchip == pytest.approx(0.4 * 0.05 / 0.21)
    assert activity.dram == pytest.approx(0.8 * 0.06 / 0.21)
    assert activity.sm == pytest.approx(0.7)


def test_power_rises_with_both_clocks(gpu: Gpu) -> None:
    sm_mhz = np.array(gpu.clocks.sm_clocks, dtype=np.float64)[None, :]
    mem_mhz = np.array(gpu.clocks.mem_clocks, dtype=np.float64)[:, None]
    for workload in drawn_workloads(12, seed=3):
        phase = workload.phases[-2]
        activity = activity_of(phase, phase_times(gpu, phase, sm_mhz, mem_mhz))
        parts = power_parts(gpu, activity, sm_mhz, mem_mhz, phase.mix.toggling)
        watts = parts.leakage_w + parts.other_w
        assert np.all(np.diff(watts, axis=1) > 0)
        assert np.all(np.diff(watts, axis=0) > 0)


def test_leakage_is_the_rest_that_even_an_idle_core_draws(gpu: Gpu) -> None:
    leaky = gpu.model_copy(update={"power": gpu.power.model_copy(update={"leakage_w": gpu.power.leakage_w + 10.0})})
    more = _watts(leaky, _activity(), 1995, 9501) - _watts(gpu, _activity(), 1995, 9501)
    assert more == pytest.approx(10.0)
