"""Environments in processes of their own, however those are started: what vectorised training does with them."""

from __future__ import annotations

from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from gpoeo_env.env.registration import REPLAY_ID, SIMULATED_ID
from gpoeo_env.trace.sweep import SweepSet

STARTS = ("fork", "spawn", "forkserver")
# Python 3.12 warns of forks in a process with threads; none of ours holds a lock then.
FORKS = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


def makers(sweeps: SweepSet) -> dict[str, partial[gymnasium.Env[np.ndarray, int]]]:
    return {
        "sim": partial(gymnasium.make, f"gpoeo_env:{SIMULATED_ID}", workload="resnet50"),
        "replay": partial(gymnasium.make, f"gpoeo_env:{REPLAY_ID}", sweeps=sweeps, workload="steady"),
    }


@FORKS
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("kind", ["sim", "replay"])
def test_gymnasiums_processes_show_what_one_process_shows(start: str, kind: str, sweeps: SweepSet) -> None:
    make = makers(sweeps)[kind]
    here, there = SyncVectorEnv([make] * 2), AsyncVectorEnv([make] * 2, context=start)
    try:
        np.testing.assert_array_equal(here.reset(seed=7)[0], there.reset(seed=7)[0])
        ours, theirs = here.step(np.array([0, 2])), there.step(np.array([0, 2]))
        np.testing.assert_array_equal(ours[0], theirs[0])
        np.testing.assert_array_equal(ours[1], theirs[1])
    finally:
        here.close()
        there.close()


@FORKS
@pytest.mark.learned
@pytest.mark.parametrize("start", STARTS)
def test_stable_baselines_processes_can_run_it(start: str, sweeps: SweepSet) -> None:
    vectors = pytest.importorskip("stable_baselines3.common.vec_env", reason="needs the `learn` extra")
    envs = vectors.SubprocVecEnv([makers(sweeps)["replay"]] * 2, start_method=start)
    try:
        first = envs.reset()
        observations, rewards, dones, _ = envs.step(np.array([0, 2]))
        assert first.shape == observations.shape
        assert np.isfinite(rewards).all()
        assert not dones.any()
    finally:
        envs.close()
