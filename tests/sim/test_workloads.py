from __future__ import annotations

from dataclasses import fields, replace

import pytest

from gpoeo_env.errors import UsageError
from gpoeo_env.sim.workloads import Workload, demo_workloads, training_workloads


def test_equal_seeds_draw_equal_workloads() -> None:
    assert training_workloads(5, seed=1) == training_workloads(5, seed=1)


def test_other_seeds_draw_other_workloads() -> None:
    assert training_workloads(1, seed=1)[0].compute_s != training_workloads(1, seed=2)[0].compute_s


def test_more_workloads_begin_with_the_same_ones() -> None:
    assert training_workloads(8, seed=0)[:3] == training_workloads(3, seed=0)


def test_drawn_workloads_share_neither_name_nor_times_with_the_demonstrated_ones() -> None:
    drawn, shown = training_workloads(200, seed=0), demo_workloads()
    assert not {workload.name for workload in drawn} & {workload.name for workload in shown}
    times = {(workload.compute_s, workload.memory_s, workload.host_s) for workload in shown}
    assert not {(workload.compute_s, workload.memory_s, workload.host_s) for workload in drawn} & times


def test_the_demonstration_has_compute_memory_and_host_bound_work() -> None:
    longest = {
        max(("compute_s", "memory_s", "host_s"), key=lambda name: getattr(workload, name))
        for workload in demo_workloads()
    }
    assert longest == {"compute_s", "memory_s", "host_s"}


@pytest.mark.parametrize(("n", "seed"), [(0, 0), (3, -1)])
def test_drawing_nothing_or_with_a_negative_seed_is_refused(n: int, seed: int) -> None:
    with pytest.raises(UsageError, match=f"got n={n}, seed={seed}"):
        training_workloads(n, seed)


@pytest.mark.parametrize(
    ("field", "value"),
    [("compute_s", 0.0), ("memory_s", -1.0), ("host_s", float("nan")), ("overlap", 1.0), ("activity", 1.2)],
)
def test_a_workload_refuses_numbers_out_of_range(field: str, value: float) -> None:
    assert field in {known.name for known in fields(Workload)}
    with pytest.raises(UsageError, match=f"'bert-base': {field}"):
        replace(demo_workloads()[0], **{field: value})  # type: ignore[arg-type]
