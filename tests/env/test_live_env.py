"""The environment on a live GPU, in a process that has the stand-in loaded."""

from __future__ import annotations

import gymnasium
import pytest

from gpoeo_env.env.registration import LIVE_ID
from gpoeo_env.errors import InstallationError, UnknownNameError
from tests.nvml_stand_in.fixtures import Elsewhere
from tests.nvml_stand_in.stand_in import GPU_IS_LOST, StandIn

WINDOW_S = 0.5


def episode(actions: list[int]) -> list[dict[str, object]]:
    """Take actions in an episode, reset, and close twice; return what every window was told about."""
    env = gymnasium.make(LIVE_ID, window_s=WINDOW_S, disable_env_checker=True)
    infos = [env.reset(seed=0)[1]]
    for action in actions:
        *_, info = env.step(action)
        infos.append(info)
    infos.append(env.reset(seed=0)[1])
    env.close()
    env.close()
    return [{name: info[name] for name in ("requested", "observed", "slowdown", "fault")} for info in infos]


def last_step_of_a_lost_gpu() -> tuple[bool, bool, object]:
    env = gymnasium.make(LIVE_ID, window_s=WINDOW_S, disable_env_checker=True)
    try:
        env.reset(seed=0)
        for _ in range(20):
            *_, terminated, truncated, info = env.step(3)
            if terminated or truncated:
                break
        return terminated, truncated, info["fault"]
    finally:
        env.close()


def test_live_ids_are_marked_as_nondeterministic() -> None:
    assert gymnasium.spec(LIVE_ID).nondeterministic


def test_actions_lock_clocks_and_reset_begins_at_the_drivers_default(elsewhere: Elsewhere, stand_in: StandIn) -> None:
    first, locked, again = elsewhere(episode, [3])  # 1800/2000 MHz
    assert (first["requested"], again["requested"]) == (None, None)
    assert locked["requested"] == (1800, 2000)
    assert locked["observed"] == (1800, 2000)
    assert locked["slowdown"] == pytest.approx(0.0, abs=0.02)
    assert stand_in.locked() == (0, 0)


def test_a_gpu_that_is_lost_terminates_the_episode(elsewhere: Elsewhere, stand_in: StandIn) -> None:
    stepping = elsewhere.start(last_step_of_a_lost_gpu)
    stand_in.wait_for_lock(1800)  # the first window has passed, and an action was taken
    for name in ("nvmlDeviceGetFieldValues", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetUtilizationRates"):
        stand_in.fail(name, GPU_IS_LOST)
    assert stepping.result() == (True, False, "gpu_lost")


def test_a_misspelt_setting_is_refused_before_a_gpu_is_taken() -> None:
    with pytest.raises(UnknownNameError, match="window_s"):
        gymnasium.make(LIVE_ID, windows=1.0)


@pytest.mark.skipif("__import__('pathlib').Path('/proc/driver/nvidia/version').exists()", reason="there is a driver")
def test_without_a_driver_the_error_says_so() -> None:
    with pytest.raises(InstallationError, match="no NVIDIA driver found"):
        gymnasium.make(LIVE_ID)
