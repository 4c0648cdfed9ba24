"""Scoring one episode against the truth."""

from __future__ import annotations

import numpy as np
import pytest

from gpoeo_env.bench.result import EpisodeResult, excess_of, result_of
from gpoeo_env.device.replay import ReplayDevice
from gpoeo_env.env.control import ControlLoop, ControlSettings
from gpoeo_env.objective import Objective
from gpoeo_env.policy import Decision, PolicyContext, Purpose, Step
from gpoeo_env.records import Ratios
from gpoeo_env.runner.episode import Episode, run_episode
from gpoeo_env.trace.sweep import SweepSet

PROBED, HELD = 4, 5
"""Actions of the small sweeps: 900/5000 and 1200/5000 MHz."""


class ProbesThenHolds:
    """Tries one pair for some windows, then holds another."""

    def __init__(self, probes: int) -> None:
        self.probes = probes

    def reset(self, context: PolicyContext) -> None:
        """Nothing to prepare."""

    def act(self, step: Step) -> Decision:
        if step.index < self.probes:
            return Decision(PROBED, purpose=Purpose.PROBE)
        return Decision(HELD, purpose=Purpose.HOLD)


def scored(sweeps: SweepSet, probes: int = 2, noise: float = 0.0) -> tuple[Episode, EpisodeResult]:
    settings = ControlSettings(budget_s=200.0)
    with ControlLoop(ReplayDevice(sweeps, noise=noise), settings) as loop:
        episode = run_episode(loop, ProbesThenHolds(probes), seed=0, workload="compute")
        return episode, result_of(episode, loop, "probing")


def test_windows_before_the_first_hold_are_the_measurements(sweeps: SweepSet) -> None:
    _, result = scored(sweeps, probes=2)

    assert result.measurements == 3  # the reference and two probes
    assert result.windows > 3


def test_saving_and_slowdown_are_those_of_the_pair_held_last(sweeps: SweepSet) -> None:
    _, result = scored(sweeps, noise=0.05)

    assert (result.sm_mhz, result.mem_mhz, result.is_released) == (1200, 5000, False)
    assert result.saving == pytest.approx(0.2)
    assert result.slowdown == pytest.approx(0.04)


def test_the_search_is_paid_for_by_the_whole_run(sweeps: SweepSet) -> None:
    _, result = scored(sweeps, probes=2)

    # 10 s of work at the reference, two windows of 10 s at 900/5000 (time 1.4, energy 0.7), the rest at 1200/5000.
    probed, held = 20 / 1.4, 200 - 10 - 20 / 1.4
    assert result.run_slowdown == pytest.approx((10 + 1.4 * probed + 1.04 * held) / 200 - 1)
    assert result.run_saving == pytest.approx(1 - (10 + 0.7 * probed + 0.8 * held) / 200)
    assert result.search_energy_frac == pytest.approx((10 + 0.7 * probed) / (10 + 0.7 * probed + 0.8 * held))


def test_without_noise_the_whole_run_is_what_the_episode_counted(sweeps: SweepSet) -> None:
    episode, result = scored(sweeps)

    assert result.run_saving == pytest.approx(episode.last.totals.saving)
    assert result.run_slowdown == pytest.approx(episode.last.totals.slowdown)


def test_noise_moves_the_score_of_a_whole_run_far_less_than_what_the_episode_counted(sweeps: SweepSet) -> None:
    settings = ControlSettings(budget_s=1000.0)
    slowdowns = []
    with ControlLoop(ReplayDevice(sweeps, noise=0.02), settings) as loop:
        for seed in range(20):
            episode = run_episode(loop, ProbesThenHolds(2), seed=seed, workload="memory")
            result = result_of(episode, loop, "probing")
            slowdowns.append((result.run_slowdown, episode.last.totals.slowdown))

    scored_sd, counted_sd = np.std(slowdowns, axis=0)
    assert scored_sd < counted_sd / 3


def test_a_pair_at_the_limit_does_not_break_it() -> None:
    at_the_limit = Ratios(time=1.0 + 0.05, energy=0.9)

    assert excess_of(at_the_limit, Objective.ENERGY, 0.05) == 0.0
    assert excess_of(Ratios(time=1.0501, energy=0.9), Objective.ENERGY, 0.05) == pytest.approx(0.0001)
    assert excess_of(Ratios(time=1.0, energy=0.96), Objective.PERFORMANCE, 0.05) == pytest.approx(0.01)
    assert excess_of(Ratios(time=9.0, energy=9.0), Objective.EDP, 0.05) == 0.0
