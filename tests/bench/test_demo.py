"""The demonstration on the simulated GPU."""

from __future__ import annotations

import pytest

from gpoeo_env.bench.demo import DemoPlan, demonstrate
from gpoeo_env.bench.result import EpisodeResult
from gpoeo_env.device.opening import open_device
from gpoeo_env.device.replay import ReplayDevice
from gpoeo_env.errors import ConfigError, UsageError
from gpoeo_env.trace.sweep import SweepSet


def results_of(plan: DemoPlan, spec: str = "sim:rtx3080ti") -> list[EpisodeResult]:
    with open_device(spec) as device:
        return list(demonstrate(plan, device))


def test_every_policy_meets_every_workload_of_the_gpu() -> None:
    plan = DemoPlan(policies=("default", "oracle"), budget_s=100.0)

    with open_device("sim:rtx3080ti") as device:
        results = list(demonstrate(plan, device))
        expected = [(workload, policy) for workload in device.info.workloads for policy in plan.policies]
        assert plan.n_episodes(device) == len(expected)
    assert [(row.workload, row.policy) for row in results] == expected
    assert len({row.workload for row in results}) >= 6


def test_the_oracle_saves_on_every_workload_within_the_limit() -> None:
    for row in results_of(DemoPlan(policies=("oracle",), max_slowdown=0.1, budget_s=100.0)):
        assert row.saving == row.oracle_saving > 0.0
        assert row.slowdown <= 0.1
        assert not row.violates


def test_a_wider_limit_never_saves_less() -> None:
    tight = results_of(DemoPlan(policies=("oracle",), max_slowdown=0.02, budget_s=50.0))
    wide = results_of(DemoPlan(policies=("oracle",), max_slowdown=0.2, budget_s=50.0))

    assert all(after.saving >= before.saving for before, after in zip(tight, wide, strict=True))


def test_equal_seeds_give_equal_results() -> None:
    plan = DemoPlan(policies=("oracle",), seed=3, budget_s=100.0)

    assert results_of(plan) == results_of(plan)
    assert results_of(plan) != results_of(DemoPlan(policies=("oracle",), seed=4, budget_s=100.0))


def test_a_recording_is_not_demonstrated(sweeps: SweepSet) -> None:
    with pytest.raises(UsageError, match="this is a replay device; use `gpoeo replay`"):
        list(demonstrate(DemoPlan(policies=("default",)), ReplayDevice(sweeps)))


@pytest.mark.parametrize("limit", [-0.1, 1.0])
def test_a_limit_that_is_no_fraction_is_refused(limit: float) -> None:
    with pytest.raises(ConfigError, match=r"0\.05 means 5 %"):
        DemoPlan(max_slowdown=limit)


@pytest.mark.parametrize(("policies", "message"), [((), "at least one policy"), (("a", "a"), "policy named twice: a")])
def test_policies_are_given_once(policies: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        DemoPlan(policies=policies)
