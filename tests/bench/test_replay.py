"""Replay benchmarks, against what the small sweeps say."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from gpoeo_env.bench.plan import Fit, ReplayPlan
from gpoeo_env.bench.replay import replay
from gpoeo_env.bench.result import EpisodeResult
from gpoeo_env.bench.stats import summarise
from gpoeo_env.errors import ClockNotSupportedError, ConfigError, UnknownNameError
from gpoeo_env.trace.sweep import SweepSet


def run(sweeps: SweepSet, *policies: str, jobs: int = 1, n_seeds: int = 2, noise: float = 0.01) -> list[EpisodeResult]:
    return list(replay(ReplayPlan(policies, n_seeds=n_seeds, noise=noise), sweeps, jobs))


def test_results_come_by_workload_then_policy_then_seed(sweeps: SweepSet) -> None:
    results = run(sweeps, "default", "oracle")

    assert [(row.workload, row.policy, row.seed) for row in results] == [
        (workload, policy, seed)
        for workload in ("compute", "memory", "rigid")
        for policy in ("default", "oracle")
        for seed in (0, 1)
    ]


def test_the_oracle_holds_the_cheapest_pair_within_the_limit(sweeps: SweepSet) -> None:
    held = {row.workload: row for row in run(sweeps, "oracle")}

    assert (held["compute"].sm_mhz, held["compute"].mem_mhz) == (1200, 5000)
    assert held["compute"].saving == pytest.approx(0.2)
    assert held["compute"].slowdown == pytest.approx(0.04)
    assert held["memory"].sm_mhz == 900
    assert held["memory"].saving == pytest.approx(0.3)
    assert (held["rigid"].is_released, held["rigid"].saving) == (True, 0.0)


def test_the_oracle_reaches_its_own_bound_and_is_called_one(sweeps: SweepSet) -> None:
    summary = summarise(run(sweeps, "oracle", "default"))

    assert summary["oracle"].oracle_ratio == pytest.approx(1.0)
    assert summary["oracle"].is_bound
    assert not summary["default"].is_bound


def test_the_default_saves_nothing_and_measures_one_window(sweeps: SweepSet) -> None:
    for row in run(sweeps, "default"):
        assert (row.saving, row.slowdown, row.violates, row.measurements) == (0.0, 0.0, False, 1)


def test_a_pair_over_the_limit_violates_it(sweeps: SweepSet) -> None:
    rows = {row.workload: row for row in run(sweeps, "fixed:sm_mhz=1200,mem_mhz=5000")}

    assert {name: row.violates for name, row in rows.items()} == {"compute": False, "memory": False, "rigid": True}
    assert rows["rigid"].slowdown == pytest.approx(0.2)
    assert rows["rigid"].saving == pytest.approx(0.1)


def test_without_noise_the_whole_run_pays_only_for_its_reference(sweeps: SweepSet) -> None:
    (row,) = [row for row in run(sweeps, "oracle", noise=0.0, n_seeds=1) if row.workload == "memory"]

    # 400 s of work: 10 s of it in the reference window, the rest at the held pair.
    assert row.run_saving == pytest.approx(0.3 * 390 / 400)
    assert row.run_slowdown == pytest.approx(0.03 * 390 / 400)


def test_noise_of_the_reference_does_not_look_like_a_saving(sweeps: SweepSet) -> None:
    savings = np.array([row.run_saving for row in run(sweeps, "default", n_seeds=10, noise=0.02)])

    # One reference window is off by 2.8 % (time and power); the mean over 40 windows by a sixth of it.
    assert np.abs(savings).max() < 0.01
    assert savings.std() > 0.0


def test_results_do_not_depend_on_the_number_of_jobs(sweeps: SweepSet) -> None:
    policies = ("fixed:sm_mhz=1200", "oracle")

    assert run(sweeps, *policies, jobs=2) == run(sweeps, *policies, jobs=1)


def test_seeds_give_other_noise_and_equal_seeds_the_same(sweeps: SweepSet) -> None:
    first, second = run(sweeps, "default")[:2]

    assert first.run_slowdown != second.run_slowdown
    assert run(sweeps, "default")[0] == first


def test_an_error_of_a_policy_comes_through_as_itself(sweeps: SweepSet) -> None:
    with pytest.raises(ClockNotSupportedError, match="no clock pair 1000/5000"):
        run(sweeps, "fixed:sm_mhz=1000")


def test_an_error_comes_through_from_a_worker_process_as_well(sweeps: SweepSet) -> None:
    with pytest.raises(UnknownNameError, match="did you mean oracle"):
        run(sweeps, "orcale", jobs=2)


def test_a_replay_needs_a_job(sweeps: SweepSet) -> None:
    with pytest.raises(ConfigError, match="at least one job; got 0"):
        run(sweeps, "default", jobs=0)


SPY = """
from gpoeo_policies.default import DefaultPolicy

taught = []

def build(config, sweeps=None):
    taught.append(None if sweeps is None else tuple(sweep.workload for sweep in sweeps))
    return DefaultPolicy()
"""


@pytest.fixture
def spy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A policy whose module remembers what each of its instances was taught."""
    name = f"spy_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(SPY)
    monkeypatch.syspath_prepend(tmp_path)
    return name


def taught_to(spy: str) -> list[tuple[str, ...] | None]:
    taught: list[tuple[str, ...] | None] = __import__(spy).taught
    return taught


def test_leave_one_out_teaches_the_other_workloads_alone_and_once(sweeps: SweepSet, spy: str) -> None:
    run(sweeps, f"{spy}:build", n_seeds=3)

    assert taught_to(spy) == [("memory", "rigid"), ("compute", "rigid"), ("compute", "memory")]


def test_leave_one_out_teaches_workloads_that_are_not_replayed_as_well(sweeps: SweepSet, spy: str) -> None:
    list(replay(ReplayPlan((f"{spy}:build",), workloads=("memory",), n_seeds=1), sweeps))

    assert taught_to(spy) == [("compute", "rigid")]


def test_fit_none_teaches_nothing(sweeps: SweepSet, spy: str) -> None:
    list(replay(ReplayPlan((f"{spy}:build",), fit=Fit.NONE, n_seeds=1), sweeps))

    assert taught_to(spy) == [None] * 3


def test_a_replay_can_be_left_early(sweeps: SweepSet) -> None:
    results = replay(ReplayPlan(("default",), n_seeds=1000), sweeps)

    assert len(list(islice(results, 3))) == 3


def test_gpoeo_saves_within_the_limit_after_learning_from_the_other_workloads(sweeps: SweepSet) -> None:
    rows = run(sweeps, "gpoeo", n_seeds=1)

    assert [row.violates for row in rows] == [False] * 3
    assert max(row.saving for row in rows) > 0.1
    assert all(1 < row.measurements < row.windows for row in rows)
    assert not any(row.is_bound for row in rows)
