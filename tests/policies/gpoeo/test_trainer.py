"""The trainer behind `gpoeo fit` says what it did."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpoeo_env.trace.sweep import SweepSet
from gpoeo_env.training import Trainer, trainer_named
from gpoeo_policies.gpoeo.bundle import load_model
from gpoeo_policies.gpoeo.trainer import GpoeoTrainer, TrainedModel


def nothing() -> None:
    pass


@pytest.fixture(scope="module")
def trained(sweeps: SweepSet) -> TrainedModel:
    return GpoeoTrainer().fit(sweeps.sweeps, seed=3, folds=4, advance=nothing)


def test_it_is_registered() -> None:
    trainer: Trainer = trainer_named("gpoeo")

    assert isinstance(trainer, GpoeoTrainer)


def test_every_workload_has_its_errors_when_held_out(trained: TrainedModel, sweeps: SweepSet) -> None:
    assert tuple(error.workload for error in trained.report.errors) == sweeps.workloads
    assert all(0.0 < error.energy < 0.2 and 0.0 < error.time < 0.2 for error in trained.report.errors)


def test_the_report_counts_what_was_learned_from(trained: TrainedModel, sweeps: SweepSet) -> None:
    report = trained.report

    assert (report.n_workloads, report.n_pairs) == (14, 14 * len(sweeps.sweeps[0].clocks))
    assert (report.folds, report.seed) == (4, 3)
    assert report.features == ("power_w", "sm_active", "dram_active")


def test_importances_are_shares_of_each_target_the_largest_first(trained: TrainedModel) -> None:
    for target in ("time", "energy"):
        shares = [importance.share for importance in trained.report.importances if importance.target == target]
        assert sum(shares) == pytest.approx(1.0)
        assert shares == sorted(shares, reverse=True)


def test_time_is_not_told_by_power_where_there_are_counters(trained: TrainedModel) -> None:
    inputs = {(importance.target, importance.feature) for importance in trained.report.importances}

    assert ("energy", "power_w") in inputs
    assert ("time", "power_w") not in inputs


def test_what_was_saved_is_what_the_policy_reads(trained: TrainedModel, tmp_path: Path) -> None:
    trained.save(tmp_path / "model")

    assert load_model(tmp_path / "model").feature_names == trained.report.features


def test_another_seed_is_another_model_and_the_same_seed_is_not(sweeps: SweepSet, tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        GpoeoTrainer().fit(sweeps.sweeps, seed=seed, folds=2, advance=nothing).save(tmp_path / name)

    texts = {name: (tmp_path / name / "time-0.txt").read_bytes() for name in "abc"}
    assert texts["a"] == texts["b"] != texts["c"]
