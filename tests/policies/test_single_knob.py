"""Controllers that climb SM clocks alone: what they hold, and how many windows it costs them."""

from __future__ import annotations

from functools import cache

import pytest

from gpoeo_env.device.replay import ReplayDevice
from gpoeo_env.env.control import ControlLoop, ControlSettings
from gpoeo_env.policy import build_policy
from gpoeo_env.runner.episode import Episode, run_episode
from gpoeo_env.sim.catalogue import load_gpu
from gpoeo_env.sim.closed_form import simulated_sweeps
from gpoeo_env.sim.suites import suite_named
from gpoeo_env.trace.sweep import SweepSet

LIMIT = 0.05
SETTINGS = ControlSettings(limit=LIMIT, window_s=10.0, budget_s=600.0)
SINGLE_KNOB = ("golden_section", "zeus_sweep")


@cache
def sweeps() -> SweepSet:
    gpu = load_gpu("v100")  # one memory clock: what they cannot reach is not there
    return simulated_sweeps(gpu, suite_named("demo", gpu), "the demonstration")


@pytest.mark.parametrize("spec", SINGLE_KNOB)
@pytest.mark.parametrize("workload", sweeps().workloads[:4])
def test_without_noise_most_of_what_the_limit_allows_is_saved(spec: str, workload: str) -> None:
    with ControlLoop(ReplayDevice(sweeps(), noise=0.0), SETTINGS) as loop:
        episode = run_episode(loop, build_policy(spec), seed=0, workload=workload)
        truth, objective = loop.truth(), loop.context.objective
        held = truth.of(episode.held.decision.action)
        best = truth.of(objective.best(truth.time, truth.energy, LIMIT))
    assert held.slowdown <= LIMIT
    assert held.saving >= 0.6 * best.saving


def noisy_run(spec: str, seed: int) -> Episode:
    with ControlLoop(ReplayDevice(sweeps(), noise=0.01), SETTINGS) as loop:
        return run_episode(loop, build_policy(spec), seed=seed, workload=sweeps().workloads[0])


def test_the_section_needs_few_windows() -> None:
    # (log 0.65 - log 0.03) / -log 0.618 = 6.4 steps, each with one new point, and one more to begin with
    assert noisy_run("golden_section", 0).measurements <= 4 + 8


def test_the_sweep_goes_down_from_the_top_and_ends_below_the_limit() -> None:
    episode = noisy_run("zeus_sweep", 0)
    probed = [step.pair.sm_mhz for step in episode.steps[: episode.measurements] if step.pair is not None]
    assert probed == sorted(probed, reverse=True)
    assert len(probed) < 12


def test_chance_draws_by_the_seed() -> None:
    held = [noisy_run("random", seed).held.decision.action for seed in (0, 0, 1, 2)]
    assert held[0] == held[1]
    assert len(set(held)) > 1
