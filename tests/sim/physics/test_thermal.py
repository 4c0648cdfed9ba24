from __future__ import annotations

import numpy as np
import pytest

from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.physics.power import PowerParts
from gpoeo_env.sim.physics.thermal import steady_state, warming


def test_the_steady_state_is_where_heating_and_leaking_agree(gpu: Gpu) -> None:
    parts = PowerParts(leakage_w=np.array([20.0, 50.0]), other_w=np.array([60.0, 250.0]))
    temperature_c = np.full(2, 20.0)
    for _ in range(200):  # let the chip heat itself until nothing changes
        leakage_w = parts.leakage_w * (1 + gpu.power.leakage_per_k * (temperature_c - gpu.power.leakage_at_c))
        watts = parts.other_w + leakage_w
        temperature_c = gpu.thermal.ambient_c + gpu.thermal.resistance_k_per_w * watts
    settled = steady_state(gpu, parts)
    assert settled.watts == pytest.approx(watts)
    assert settled.temperature_c == pytest.approx(temperature_c)


def test_a_hotter_room_costs_power(gpu: Gpu) -> None:
    warm = gpu.model_copy(update={"thermal": gpu.thermal.model_copy(update={"ambient_c": 38.0})})
    parts = PowerParts(np.array(50.0), np.array(250.0))
    assert steady_state(warm, parts).watts > steady_state(gpu, parts).watts


def test_two_thirds_of_a_step_are_gone_after_the_time_constant(gpu: Gpu) -> None:
    excess_k, _ = warming(gpu, 12.0, np.array([0.0, gpu.thermal.time_constant_s]))
    assert excess_k == pytest.approx([12.0, 12.0 / np.e])


def test_the_integral_is_that_of_the_excess(gpu: Gpu) -> None:
    elapsed_s = np.linspace(0.0, 200.0, 20_001)
    excess_k, kelvin_s = warming(gpu, -7.0, elapsed_s)
    assert kelvin_s[-1] == pytest.approx(np.trapezoid(excess_k, elapsed_s), rel=1e-6)
