"""What a replay plan refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpoeo_env.bench.plan import Fit, ReplayPlan
from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.errors import ConfigError, UnknownNameError, UsageError
from gpoeo_env.trace.sweep import Provenance, Sweep, SweepSet


def sweeps_named(*workloads: str) -> SweepSet:
    clocks = ClockTable.from_product(sm_mhz=(1000, 1500), mem_mhz=(5000,))
    ones = np.ones(2)
    return SweepSet(
        "a gpu",
        tuple(Sweep(name, clocks, ClockPair(1500, 5000), ones, ones, (), np.empty((2, 0))) for name in workloads),
        Provenance("made for a test", "2026-01-01T00:00:00Z", "test", is_simulated=True, is_relative=True),
    )


def test_a_plan_counts_its_episodes() -> None:
    plan = ReplayPlan(("default", "oracle"), n_seeds=3)

    assert plan.n_episodes(sweeps_named("a", "b")) == 2 * 2 * 3


def test_a_plan_replays_all_workloads_unless_some_are_named() -> None:
    sweeps = sweeps_named("a", "b", "c")

    assert ReplayPlan(("default",)).chosen_workloads(sweeps) == ("a", "b", "c")
    assert ReplayPlan(("default",), workloads=("c", "a")).chosen_workloads(sweeps) == ("c", "a")


def test_an_unknown_workload_is_named_with_the_nearest_one() -> None:
    plan = ReplayPlan(("default",), workloads=("resnet5",))

    with pytest.raises(UnknownNameError, match="did you mean resnet50"):
        plan.chosen_workloads(sweeps_named("resnet50", "bert"))


def test_leave_one_out_needs_another_workload() -> None:
    with pytest.raises(UsageError, match="its only one; choose fit none"):
        ReplayPlan(("default",)).chosen_workloads(sweeps_named("a"))

    assert ReplayPlan(("default",), fit=Fit.NONE).chosen_workloads(sweeps_named("a")) == ("a",)


def test_a_fit_is_found_by_name() -> None:
    assert Fit.named("leave-one-out") is Fit.LEAVE_ONE_OUT
    with pytest.raises(UnknownNameError, match="did you mean leave-one-out"):
        Fit.named("leave-one")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"policies": ()}, "at least one policy"),
        ({"policies": ("default", "default")}, "policy named twice: default"),
        ({"workloads": ("a", "a")}, "workload named twice: a"),
    ],
)
def test_names_are_given_once(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ReplayPlan(**{"policies": ("default",), **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"noise": -0.01}, "noise is a fraction"),
        ({"noise": 1.0}, "noise is a fraction"),
        ({"n_seeds": 0}, "at least one seed"),
        ({"limit": 5.0}, "0.05 means 5 %"),
        ({"budget_s": 0.0}, "ends within its reference window"),
        ({"window_s": 400.0}, "ends within its reference window"),
        ({"window_s": -1.0}, "window_s is a positive number"),
    ],
)
def test_numbers_out_of_range_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ReplayPlan(("default",), **changes)
