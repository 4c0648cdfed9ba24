import math

import numpy as np

from gpoeo_env.canonical.clocks import N_ACTIONS
from gpoeo_env.canonical.memory import OBSERVATION_SIZE, CanonicalMemory, observation_space_bounds
from gpoeo_env.features import COUNTERS


def remembering(n: int) -> CanonicalMemory:
    memory = CanonicalMemory(n, limit=0.05)
    counters = np.full((n, len(COUNTERS)), 0.5)
    counters[:, 0] = np.nan
    memory.restart(np.arange(n), np.ones((n, N_ACTIONS), dtype=np.bool_), counters)
    return memory


def test_repeated_windows_of_an_action_are_averaged() -> None:
    memory = remembering(2)
    for time in (1.02, 1.04):
        memory.record(np.array([3, 4]), np.array([time, 1.0]), np.array([0.8, 0.9]))
    np.testing.assert_allclose(memory.time[:, 3], [1.03, 1.0])
    assert memory.visits[0, 3] == 2


def test_a_window_without_ratios_changes_no_mean() -> None:
    memory = remembering(1)
    memory.record(np.array([3]), np.array([math.nan]), np.array([math.nan]))
    assert memory.visits[0, 3] == 0
    assert memory.time[0, 3] == 1.0
    assert np.isfinite(memory.observation()).all()


def test_observations_are_finite_and_bounded_for_any_ratio() -> None:
    memory = remembering(2)
    memory.record(np.array([1, 2]), np.array([25.0, 0.1]), np.array([25.0, 0.1]))
    observation, (low, high) = memory.observation(), observation_space_bounds()
    assert observation.shape == (2, OBSERVATION_SIZE)
    assert ((observation >= low) & (observation <= high)).all()


def test_a_restart_forgets_one_episode_and_leaves_the_other() -> None:
    memory = remembering(2)
    memory.record(np.array([3, 3]), np.array([1.1, 1.2]), np.array([0.9, 0.8]))
    fresh = remembering(2).observation()[0]
    memory.restart(np.array([0]), memory.is_valid[:1], memory.counters[:1])
    np.testing.assert_array_equal(memory.observation()[0], fresh)
    assert memory.time[1, 3] == 1.2
