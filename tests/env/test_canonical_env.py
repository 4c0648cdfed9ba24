import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from gpoeo_env.env.canonical_env import CanonicalEnv
from gpoeo_env.env.making import make_simulated
from gpoeo_env.errors import ClockNotSupportedError, UsageError


@pytest.mark.filterwarnings("ignore:.*different from the unwrapped version")  # that it is a wrapper is what is meant
def test_gymnasium_accepts_the_canonical_view() -> None:
    env = CanonicalEnv(make_simulated("rtx3080ti", budget_s=100.0))
    check_env(env, skip_render_check=True)
    env.close()


def test_one_observation_and_action_space_serve_every_gpu() -> None:
    spaces = [CanonicalEnv(make_simulated(gpu)) for gpu in ("rtx3080ti", "v100")]
    assert spaces[0].observation_space == spaces[1].observation_space
    assert spaces[0].action_space == spaces[1].action_space


def test_a_missing_memory_clock_is_masked_and_refused() -> None:
    env = CanonicalEnv(make_simulated("v100"))
    env.reset(seed=0)
    assert env.action_masks().sum() == 17
    with pytest.raises(ClockNotSupportedError):
        env.step(np.int64(17))


def test_the_reward_of_a_window_does_not_shrink_with_the_budget() -> None:
    rewards = []
    for budget_s in (200.0, 2000.0):
        env = CanonicalEnv(make_simulated("rtx3080ti", budget_s=budget_s))
        env.reset(seed=0)
        rewards.append(env.step(np.int64(10))[1])
    assert rewards[0] == pytest.approx(rewards[1])


def test_other_objectives_are_refused() -> None:
    with pytest.raises(UsageError, match="objective energy alone"):
        CanonicalEnv(make_simulated("rtx3080ti", objective="edp"))
