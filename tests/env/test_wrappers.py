from __future__ import annotations

from collections.abc import Callable

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from gpoeo_env.device.replay import ReplayDevice
from gpoeo_env.env.clock_env import ClockEnv
from gpoeo_env.env.wrappers import SmMemoryActions
from gpoeo_env.errors import UsageError
from gpoeo_env.trace.sweep import SweepSet


@pytest.fixture
def env(sweeps: SweepSet) -> SmMemoryActions:
    return SmMemoryActions(ClockEnv(ReplayDevice(sweeps, noise=0.0)))


@pytest.fixture
def ragged(sweeps_of: Callable[..., SweepSet]) -> SmMemoryActions:
    """At the low memory clock only the low SM clocks are offered."""
    rows = {(400, 800): (3.0, 90.0), (600, 800): (2.5, 95.0), (600, 5000): (1.5, 90.0), (1000, 5000): (1.0, 100.0)}
    return SmMemoryActions(ClockEnv(ReplayDevice(sweeps_of(only=rows), noise=0.0)))


def choose(*choices: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(choices, dtype=np.int64)


def test_the_two_choices_are_release_or_an_sm_clock_and_a_memory_clock(env: SmMemoryActions) -> None:
    assert env.action_space == gymnasium.spaces.MultiDiscrete([3, 2])


@pytest.mark.parametrize(
    ("choices", "requested"),
    [((1, 0), (500, 800)), ((2, 0), (1000, 800)), ((1, 1), (500, 5000)), ((0, 0), None), ((0, 1), None)],
)
def test_the_choices_lock_their_pair(
    env: SmMemoryActions, choices: tuple[int, int], requested: tuple[int, int] | None
) -> None:
    env.reset(seed=0)
    *_, info = env.step(choose(*choices))
    assert (info["requested"], info["snapped"]) == (requested, False)


@pytest.mark.parametrize(("choices", "requested"), [((3, 0), (600, 800)), ((1, 1), (600, 5000))])
def test_a_pair_that_is_not_offered_snaps_at_its_memory_clock_and_says_so(
    ragged: SmMemoryActions, choices: tuple[int, int], requested: tuple[int, int]
) -> None:
    ragged.reset(seed=0)
    *_, info = ragged.step(choose(*choices))
    assert (info["requested"], info["snapped"]) == (requested, True)


@pytest.mark.parametrize("choices", [(3, 0), (0, 2), (-1, 0)])
def test_a_choice_outside_its_range_is_refused(env: SmMemoryActions, choices: tuple[int, int]) -> None:
    env.reset(seed=0)
    with pytest.raises(UsageError, match="both choices count from 0"):
        env.step(choose(*choices))


def test_the_masks_of_both_choices_stand_in_a_row(env: SmMemoryActions) -> None:
    assert env.get_wrapper_attr("action_masks")().tolist() == [True] * (3 + 2)


def test_only_a_clock_env_is_wrapped() -> None:
    with pytest.raises(UsageError, match="not a CartPoleEnv"):
        SmMemoryActions(gymnasium.make("CartPole-v1"))


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version:UserWarning")
def test_gymnasium_accepts_the_wrapped_env(env: SmMemoryActions) -> None:
    check_env(env, skip_render_check=True)


@pytest.mark.learned
def test_maskable_ppo_trains_on_both_views(sweeps: SweepSet) -> None:
    contrib = pytest.importorskip("sb3_contrib", reason="needs the `learn` extra")
    flat = ClockEnv(ReplayDevice(sweeps))
    for env in (flat, SmMemoryActions(ClockEnv(ReplayDevice(sweeps)))):
        agent = contrib.MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=1, device="cpu", seed=0)
        agent.learn(64)
        observation, _ = env.reset(seed=0)
        action, _ = agent.predict(observation, action_masks=env.action_masks())
        assert env.action_space.contains(action)
