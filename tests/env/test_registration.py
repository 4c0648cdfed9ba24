from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from gpoeo_env.env.clock_env import ClockEnv
from gpoeo_env.env.registration import REPLAY_ID, SIMULATED_ID, register_envs
from gpoeo_env.errors import ConfigError, UnknownNameError
from gpoeo_env.objective import Objective
from gpoeo_env.trace.store import write_sweeps
from gpoeo_env.trace.sweep import SweepSet


def test_gymnasium_accepts_the_simulated_env() -> None:
    check_env(gymnasium.make(SIMULATED_ID).unwrapped)


def test_gymnasium_accepts_the_simulated_env_with_samples() -> None:
    check_env(gymnasium.make(SIMULATED_ID, samples=True).unwrapped)


def test_gymnasium_accepts_the_replay_env(sweeps: SweepSet) -> None:
    check_env(gymnasium.make(REPLAY_ID, sweeps=sweeps).unwrapped)


@pytest.mark.learned
def test_stable_baselines_accepts_both_envs(sweeps: SweepSet) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker", reason="needs the `learn` extra")
    checker.check_env(gymnasium.make(SIMULATED_ID).unwrapped)
    checker.check_env(gymnasium.make(REPLAY_ID, sweeps=sweeps).unwrapped)


def test_an_env_is_made_in_one_line_without_importing_this_package() -> None:
    code = "import gymnasium; print(gymnasium.make('gpoeo_env:gpoeo/GpuSim-v0', gpu='rtx3080ti').action_space)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Discrete(")


def test_registering_twice_is_fine() -> None:
    before = gymnasium.spec(SIMULATED_ID)
    register_envs()
    assert gymnasium.spec(SIMULATED_ID) is before


def test_settings_reach_the_control_loop() -> None:
    env = gymnasium.make(SIMULATED_ID, objective="performance", limit=0.1, window_s=5.0, budget_s=99.0).unwrapped
    assert isinstance(env, ClockEnv)
    settings = env.settings
    assert (settings.objective, settings.limit) == (Objective.PERFORMANCE, 0.1)
    assert (settings.window_s, settings.budget_s) == (5.0, 99.0)


def test_noise_reaches_the_simulated_device() -> None:
    env = gymnasium.make(SIMULATED_ID, noise=0.0, workload="resnet50")
    _, info = env.reset(seed=0)
    _, again = env.reset(seed=1)
    assert info["joules"] == again["joules"]


def test_a_sweep_file_is_replayed(tmp_path: Path, sweeps: SweepSet) -> None:
    path = tmp_path / "made_up.sweep.parquet"
    write_sweeps(path, sweeps)
    env = gymnasium.make(REPLAY_ID, sweeps=str(path), noise=0.0, workload="light")
    _, info = env.reset(seed=0)
    assert info["reference"]["joules_per_work"] == pytest.approx(200.0)


def test_envs_run_in_a_vector(sweeps: SweepSet) -> None:
    envs = gymnasium.make_vec(REPLAY_ID, num_envs=3, vectorization_mode="sync", sweeps=sweeps)
    envs.reset(seed=0)
    observations, rewards, *_ = envs.step(np.array([0, 1, 2]))
    assert observations in envs.observation_space
    assert rewards.shape == (3,)
    envs.close()


def test_an_unknown_gpu_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="rtx3080ti"):
        gymnasium.make(SIMULATED_ID, gpu="rtx3080t")


def test_noise_out_of_range_is_refused() -> None:
    with pytest.raises(ConfigError, match="noise"):
        gymnasium.make(SIMULATED_ID, noise=2.0)


@pytest.mark.parametrize("name", [SIMULATED_ID, REPLAY_ID])
def test_a_misspelt_setting_is_named_with_the_nearest(name: str, sweeps: SweepSet) -> None:
    source: dict[str, Any] = {"sweeps": sweeps} if name == REPLAY_ID else {}

    with pytest.raises(UnknownNameError, match="unknown setting 'limits'; did you mean limit"):
        gymnasium.make(name, limits=0.1, **source)
