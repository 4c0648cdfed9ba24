from __future__ import annotations

import numpy as np
import pytest

from gpoeo_env.sim.profile import PowerProfile

PROFILE = PowerProfile.of(watts=200.0, standing_w=80.0, busy_frac=0.6, swing=0.2)


def test_the_mean_over_whole_iterations_is_the_operating_points_power() -> None:
    assert PROFILE.integral(np.array([1.0, 7.0])) == pytest.approx([200.0, 1400.0])


def test_power_is_above_its_busy_mean_first_then_below_then_standing() -> None:
    busy_w = (200.0 - 80.0) / 0.6
    edges = np.array([0.0, 0.3, 0.6, 1.0])
    levels = np.diff(PROFILE.integral(edges)) / np.diff(edges)
    assert levels == pytest.approx([80.0 + 1.2 * busy_w, 80.0 + 0.8 * busy_w, 80.0])


def test_the_integral_over_many_small_steps_agrees_with_one_step() -> None:
    progress = np.linspace(0.25, 9.75, 1000)
    steps = np.diff(PROFILE.integral(progress))
    assert np.all(steps > 0)
    assert steps.sum() == pytest.approx(float(np.diff(PROFILE.integral(progress[[0, -1]]))[0]))


def test_a_gpu_that_never_waits_has_a_profile_too() -> None:
    profile = PowerProfile.of(watts=300.0, standing_w=100.0, busy_frac=1.0, swing=0.1)
    assert profile.integral(np.array([0.5, 1.0])) == pytest.approx([160.0, 300.0])
