"""Summaries against sums done by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from gpoeo_env.bench.stats import summarise
from tests.bench.results import RESULT


def test_a_summary_holds_means_and_the_worst() -> None:
    other = replace(RESULT, workload="b", saving=0.1, slowdown=0.08, violates=True, measurements=8, oracle_saving=0.1)

    summary = summarise([RESULT, other])["p"]

    assert summary.mean_saving == pytest.approx(0.15)
    assert summary.mean_slowdown == pytest.approx(0.06)
    assert summary.violation_rate == 0.5
    assert summary.mean_measurements == 6.5
    assert summary.worst_slowdown == 0.08
    assert summary.mean_run_saving == pytest.approx(0.15)
    assert summary.n == 2


def test_what_was_held_first_is_summed_up_beside_what_was_held_last() -> None:
    other = replace(RESULT, first_saving=0.1, first_violates=False, search_windows=9)

    summary = summarise([RESULT, other])["p"]

    assert summary.first_oracle_ratio == pytest.approx((0.18 + 0.1) / (0.3 + 0.3))
    assert summary.first_violation_rate == 0.5
    assert summary.mean_search_windows == 7.5


def test_there_is_no_oracle_ratio_where_saving_was_not_the_aim() -> None:
    assert math.isnan(summarise([replace(RESULT, objective="performance")])["p"].oracle_ratio)


def test_the_oracle_ratio_is_a_ratio_of_means() -> None:
    other = replace(RESULT, saving=0.1, oracle_saving=0.1)

    assert summarise([RESULT, other])["p"].oracle_ratio == pytest.approx((0.2 + 0.1) / (0.3 + 0.1))


def test_there_is_no_oracle_ratio_where_the_oracle_saves_nothing() -> None:
    assert math.isnan(summarise([replace(RESULT, saving=0.0, oracle_saving=0.0)])["p"].oracle_ratio)


def test_policies_keep_the_order_in_which_they_appear() -> None:
    assert list(summarise([replace(RESULT, policy="z"), RESULT, replace(RESULT, policy="z")])) == ["z", "p"]


def test_no_results_have_no_summary() -> None:
    assert summarise([]) == {}


def test_time_spent_deciding_is_no_part_of_a_results_identity() -> None:
    assert replace(RESULT, decision_s=9.0, decision_cpu_s=9.0) == RESULT
