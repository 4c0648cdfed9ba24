"""Figures with their uncertainty, against scipy and against counting by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, trim_mean

from gpoeo_env.bench.aggregates import (
    interquartile_mean,
    interval,
    paired_interval,
    performance_profile,
    probability_of_improvement,
    scores_of,
)
from gpoeo_env.errors import ConfigError
from tests.bench.results import RESULT

RNG = np.random.default_rng(1)
SCORES = RNG.normal(size=(12, 5))


def test_the_interquartile_mean_is_the_mean_of_the_middle_half() -> None:
    assert float(interquartile_mean(SCORES)) == pytest.approx(trim_mean(SCORES.ravel(), 0.25))
    assert float(interquartile_mean(np.array([[0.0, 1.0, 3.0, 100.0]]))) == 2.0


def test_the_chance_of_improvement_is_the_u_statistic_of_each_workload() -> None:
    ours, theirs = SCORES, RNG.normal(0.3, size=(12, 5))
    by_workload = [mannwhitneyu(a, b).statistic / 25 for a, b in zip(ours, theirs, strict=True)]
    chance = probability_of_improvement(ours, theirs)
    assert chance.value == pytest.approx(np.mean(by_workload))
    assert chance.low < chance.value < chance.high
    assert probability_of_improvement(ours, ours).value == 0.5
    assert probability_of_improvement(ours + 9, ours).low == 1.0


@pytest.mark.parametrize("shape", [(40, 5), (200, 1)], ids=["seeds are drawn", "workloads are drawn"])
def test_intervals_hold_the_truth_as_often_as_they_say(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(2)
    found = [interval(rng.normal(size=shape), draws=200) for _ in range(300)]
    covered = np.mean([each.low <= 0.0 <= each.high for each in found])
    # Drawing five of five seeds makes the spread too small by sqrt(4/5): 92 % in the place of 95 %.
    assert 0.88 <= covered <= 0.98


def test_pairing_takes_out_what_both_share() -> None:
    difficulty = 10 * RNG.normal(size=(12, 1))
    gain = paired_interval(difficulty + SCORES * 0.01 + 1.0, difficulty + np.zeros((12, 5)))
    assert gain.value == pytest.approx(1.0, abs=0.01)
    assert gain.high - gain.low < 0.02


def test_a_profile_counts_the_runs_above_each_threshold() -> None:
    assert performance_profile(np.array([[0.1, 0.2], [0.3, 0.4]]), [0.0, 0.2, 0.35, 1.0]).tolist() == [
        1.0,
        0.5,
        0.25,
        0,
    ]


def test_scores_are_gathered_by_policy_workload_and_seed() -> None:
    results = [
        replace(RESULT, policy=policy, workload=workload, seed=seed, run_saving=value + seed)
        for policy, value in (("p", 0.0), ("q", 10.0))
        for workload in ("a", "b")
        for seed in (0, 1, 2)
    ]
    scores = scores_of(results, lambda result: result.run_saving)
    assert scores["q"].tolist() == [[10.0, 11.0, 12.0]] * 2
    with pytest.raises(ConfigError, match="finish the benchmark"):
        scores_of(results[:-1], lambda result: result.run_saving)


def test_scores_of_other_shapes_are_not_compared() -> None:
    for compare in (paired_interval, probability_of_improvement):
        with pytest.raises(ConfigError, match="same workloads"):
            compare(SCORES, SCORES[:3])
