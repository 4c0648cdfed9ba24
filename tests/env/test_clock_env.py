from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from gpoeo_env.clocks import RELEASE, ClockPair
from gpoeo_env.device.replay import ReplayDevice
from gpoeo_env.env.clock_env import ClockEnv
from gpoeo_env.env.control import ControlLoop, ControlSettings
from gpoeo_env.errors import ClockNotSupportedError, ConfigError, DeviceLostError, UnknownNameError, UsageError
from gpoeo_env.policy import Decision
from gpoeo_env.records import Progress, Window
from gpoeo_env.trace.sweep import SweepSet

SLOW = ClockPair(500, 5000)
"""On "steady" 25 % slower and 25 % cheaper than the reference, on "light" 2 % slower and 35 % cheaper."""


class Blind:
    """A meter that refuses every window after the first."""

    def __init__(self) -> None:
        self.windows = 0

    def measure(self, window: Window) -> Progress:
        self.windows += 1
        rate = window.rate("work") if self.windows == 1 else math.nan
        return Progress(rate, 0.01, "none")


class LostDevice(ReplayDevice):
    """Is lost at its first window."""

    def observe(self, seconds: float) -> Window:
        raise DeviceLostError(f"the GPU fell off the bus within {seconds:g} s; reboot")


def env_on(sweeps: SweepSet, settings: ControlSettings | None = None, *, noise: float = 0.0) -> ClockEnv:
    return ClockEnv(ReplayDevice(sweeps, noise=noise), settings)


def test_there_is_one_action_for_release_and_one_for_each_pair(sweeps: SweepSet) -> None:
    assert env_on(sweeps).action_space.n == 5  # type: ignore[attr-defined]  # Gymnasium types it as Space


def test_reset_measures_the_reference(sweeps: SweepSet) -> None:
    _, info = env_on(sweeps).reset(seed=0, options={"workload": "steady"})
    assert info["purpose"] == "reference"
    assert info["requested"] is None
    assert info["reference"]["joules_per_work"] == pytest.approx(200.0)


def test_a_step_is_told_in_full(sweeps: SweepSet) -> None:
    env = env_on(sweeps)
    env.reset(seed=0, options={"workload": "steady"})
    _, _, _, _, info = env.step(env.clocks.action_of(SLOW))
    assert (info["workload"], info["device"], info["requested"], info["observed"]) == (
        "steady",
        "replay",
        (500, 5000),
        (500, 5000),
    )
    assert (info["seconds"], info["joules"]) == (pytest.approx(10.0), pytest.approx(1200.0))
    assert (info["slowdown"], info["saving"]) == (pytest.approx(0.25), pytest.approx(0.25))
    assert info["cost"] == pytest.approx(0.20)
    assert info["totals"]["joules"] == pytest.approx(2000.0 + 1200.0)
    assert info["totals"]["search_windows"] == 1


def test_the_return_is_the_saving_where_no_limit_is_broken(sweeps: SweepSet) -> None:
    env = env_on(sweeps, ControlSettings(budget_s=100.0))
    env.reset(seed=0, options={"workload": "light"})
    rewards, is_terminated = [], False
    while not is_terminated:
        _, reward, is_terminated, _, info = env.step(env.clocks.action_of(SLOW))
        rewards.append(reward)
    assert sum(rewards) == pytest.approx(info["totals"]["saving"])


def test_the_reward_loses_the_weighted_cost_of_the_window(sweeps: SweepSet) -> None:
    env = ClockEnv(ReplayDevice(sweeps, noise=0.0), ControlSettings(budget_s=100.0), excess_penalty=3.0)
    env.reset(seed=0, options={"workload": "steady"})
    _, reward, _, _, info = env.step(env.clocks.action_of(SLOW))
    reference_seconds = 10.0 / 1.25
    assert info["saved_frac"] == pytest.approx(0.25 * reference_seconds / 100.0)
    assert reward == pytest.approx(info["saved_frac"] - 3.0 * 0.20 * reference_seconds / 100.0)


def test_unknown_progress_earns_nothing_and_is_flagged(sweeps: SweepSet) -> None:
    env = ClockEnv(ReplayDevice(sweeps, noise=0.0), meter=Blind())
    env.reset(seed=0, options={"workload": "steady"})
    observation, reward, _, _, info = env.step(1)
    assert reward == 0.0
    assert (info["slowdown"], info["saving"], info["cost"]) == (None, None, None)
    assert "progress" in info["missing"]
    assert observation in env.observation_space


def test_an_env_and_the_loop_measure_the_same_under_one_seed(sweeps: SweepSet) -> None:
    env = env_on(sweeps, noise=0.01)
    env.reset(seed=5, options={"workload": "steady"})
    _, _, _, _, info = env.step(2)
    loop = ControlLoop(ReplayDevice(sweeps, noise=0.01))
    loop.begin(5, "steady")
    ratios = loop.step(Decision(2)).measurement.ratios
    assert ratios is not None
    assert (info["slowdown"], info["saving"]) == (ratios.slowdown, ratios.saving)


def test_equal_seeds_give_equal_episodes(sweeps: SweepSet) -> None:
    first, second = env_on(sweeps, noise=0.01), env_on(sweeps, noise=0.01)
    np.testing.assert_array_equal(first.reset(seed=3)[0], second.reset(seed=3)[0])
    for action in (1, 4, 0, 2):
        (seen, *rest), (seen_again, *rest_again) = first.step(action), second.step(action)
        np.testing.assert_array_equal(seen, seen_again)
        assert rest == rest_again


def test_resets_without_a_seed_draw_new_noise(sweeps: SweepSet) -> None:
    env = env_on(sweeps, noise=0.01)
    energies = set()
    env.reset(seed=1)
    for _ in range(4):
        _, info = env.reset(options={"workload": "steady"})
        energies.add(info["joules"])
    assert len(energies) == 4


def test_resets_draw_from_every_workload(sweeps: SweepSet) -> None:
    env = env_on(sweeps)
    env.reset(seed=1)
    assert {env.reset()[1]["workload"] for _ in range(20)} == {"steady", "light"}


def test_an_env_runs_only_the_workload_it_was_given(sweeps: SweepSet) -> None:
    env = ClockEnv(ReplayDevice(sweeps, noise=0.0), workload="light")
    assert {env.reset(seed=seed)[1]["workload"] for seed in range(10)} == {"light"}


def test_a_workload_that_was_not_chosen_is_unknown_at_reset(sweeps: SweepSet) -> None:
    env = ClockEnv(ReplayDevice(sweeps, noise=0.0), workload=["light"])
    with pytest.raises(UnknownNameError, match="unknown workload 'steady'"):
        env.reset(options={"workload": "steady"})


def test_an_unknown_workload_names_the_nearest(sweeps: SweepSet) -> None:
    with pytest.raises(UnknownNameError, match="did you mean steady"):
        ClockEnv(ReplayDevice(sweeps), workload="stedy")


def test_an_empty_choice_of_workloads_is_refused(sweeps: SweepSet) -> None:
    with pytest.raises(UsageError, match="an empty list"):
        ClockEnv(ReplayDevice(sweeps), workload=[])


def test_an_unknown_reset_option_names_the_nearest(sweeps: SweepSet) -> None:
    with pytest.raises(UnknownNameError, match="did you mean workload"):
        env_on(sweeps).reset(options={"workloads": "steady"})


def test_workloads_with_different_tables_are_refused(sweeps_of: Callable[..., SweepSet]) -> None:
    two = {(500, 800): (2.0, 100.0), (900, 800): (1.0, 100.0)}
    sweeps = sweeps_of(small=two, large=two | {(700, 800): (1.5, 100.0)})
    with pytest.raises(UsageError, match="'small' and 'large' have different clock tables"):
        env_on(sweeps)


def test_one_workload_of_a_set_with_different_tables_is_accepted(sweeps_of: Callable[..., SweepSet]) -> None:
    two = {(500, 800): (2.0, 100.0), (900, 800): (1.0, 100.0)}
    sweeps = sweeps_of(small=two, large=two | {(700, 800): (1.5, 100.0)})
    assert len(ClockEnv(ReplayDevice(sweeps), workload="large").clocks) == 3


def test_the_work_budget_terminates_an_episode(sweeps: SweepSet) -> None:
    env = env_on(sweeps, ControlSettings(budget_s=20.0))
    env.reset(seed=0)
    _, _, is_terminated, is_truncated, _ = env.step(RELEASE)
    assert (is_terminated, is_truncated) == (True, False)


def test_the_step_limit_truncates_an_episode(sweeps: SweepSet) -> None:
    env = env_on(sweeps, ControlSettings(max_steps=2))
    env.reset(seed=0)
    _, _, is_terminated, is_truncated, _ = env.step(RELEASE)
    assert (is_terminated, is_truncated) == (False, True)


def test_an_episode_that_its_reference_uses_up_is_refused(sweeps: SweepSet) -> None:
    with pytest.raises(ConfigError, match="raise budget_s"):
        env_on(sweeps, ControlSettings(budget_s=10.0)).reset(seed=0)


def test_a_device_lost_at_the_reference_raises(sweeps: SweepSet) -> None:
    with pytest.raises(DeviceLostError, match="fell off the bus"):
        ClockEnv(LostDevice(sweeps)).reset(seed=0)


def test_a_step_before_reset_is_refused(sweeps: SweepSet) -> None:
    with pytest.raises(UsageError):
        env_on(sweeps).step(0)


def test_an_action_outside_the_space_is_refused(sweeps: SweepSet) -> None:
    env = env_on(sweeps)
    env.reset(seed=0)
    with pytest.raises(ClockNotSupportedError):
        env.step(5)


@pytest.mark.parametrize("penalty", [-1.0, math.nan, math.inf])
def test_a_penalty_out_of_range_is_refused(sweeps: SweepSet, penalty: float) -> None:
    with pytest.raises(ConfigError, match="excess_penalty"):
        ClockEnv(ReplayDevice(sweeps), excess_penalty=penalty)


def test_every_action_is_valid(sweeps: SweepSet) -> None:
    env = env_on(sweeps)
    assert env.action_masks().tolist() == [True] * 5


def test_closing_twice_is_fine(sweeps: SweepSet) -> None:
    env = env_on(sweeps)
    env.reset(seed=0)
    env.close()
    env.close()
