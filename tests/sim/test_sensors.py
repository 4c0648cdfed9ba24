from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from gpoeo_env.sim.sensors import EnergyCurve, counted, interval_means, moving_average, quantised, refreshes

Array = NDArray[np.float64]


def step_at_5(t_s: Array) -> Array:
    """Integral of a power of 100 W that becomes 200 W at 5 s."""
    return np.asarray(np.where(t_s < 5.0, 100.0 * t_s, 500.0 + 200.0 * (t_s - 5.0)))


def test_rows_between_two_refreshes_see_the_last_one() -> None:
    assert refreshes(np.array([0.0, 0.05, 0.1, 0.199, 0.3]), 0.1) == pytest.approx([0.0, 0.0, 0.1, 0.1, 0.3])


def test_a_moving_average_shows_a_step_late() -> None:
    means = moving_average(step_at_5, np.array([5.0, 5.5, 6.0]), 1.0)
    assert means == pytest.approx([100.0, 150.0, 200.0])


def test_a_counter_reads_the_mean_since_its_last_refresh_and_nothing_in_between() -> None:
    t_s = np.array([4.9, 4.95, 5.0, 5.02, 5.1, 5.2])
    means = interval_means(lambda at: step_at_5(at)[:, None], t_s, 0.1)[:, 0]
    assert np.isnan(means).tolist() == [False, True, False, True, False, False]
    assert means[[0, 2, 4, 5]] == pytest.approx([100.0, 100.0, 200.0, 200.0])


def test_sensors_round_and_counters_cut() -> None:
    assert quantised(np.array([1.26, 1.24]), 0.1) == pytest.approx([1.3, 1.2])
    assert counted(np.array([1.29, 1.21]), 0.1) == pytest.approx([1.2, 1.2])


def test_an_energy_curve_starts_in_the_steady_state() -> None:
    curve = EnergyCurve(2.0, 150.0)
    assert curve.at(np.array([-1.0, 0.0])) == pytest.approx([-150.0, 0.0])


def test_an_energy_curve_remembers_as_far_back_as_asked() -> None:
    curve = EnergyCurve(2.0, 100.0)
    for begin in (0.0, 3.0, 6.0):
        t_s = np.linspace(begin, begin + 3.0, 31)
        curve.extend(t_s, step_at_5(t_s))
    assert curve.at(np.array([4.0, 4.5, 6.0, 9.0])) == pytest.approx(step_at_5(np.array([4.0, 4.5, 6.0, 9.0])))


def test_a_gap_in_an_energy_curve_is_bridged_at_constant_power() -> None:
    curve = EnergyCurve(2.0, 100.0)
    curve.extend(np.array([0.5, 1.5]), np.array([80.0, 200.0]))
    assert curve.at(np.array([0.25, 0.5])) == pytest.approx([40.0, 80.0])
