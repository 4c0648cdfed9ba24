"""A benchmark runs block by block, and what is not there is skipped by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpoeo_env.bench.config import BenchConfig, EpisodesBlock, ModelsBlock
from gpoeo_env.bench.executors import in_processes
from gpoeo_env.bench.running import EpisodesOutcome, ModelsOutcome, Skipped, run_bench
from gpoeo_env.bench.sources import FileSource, SimulatedSource, Source, TableSource
from gpoeo_env.trace.store import write_sweeps
from gpoeo_env.trace.sweep import SweepSet

BLOCK = EpisodesBlock(name="replayed", data="small", policy=("default", "oracle"), seeds=2, noise=0.0)


@pytest.fixture
def folder(tmp_path: Path, sweeps: SweepSet) -> Path:
    write_sweeps(tmp_path / "small.parquet", sweeps)
    return tmp_path


def small() -> FileSource:
    return FileSource(kind="sweep", file=Path("small.parquet"))


def test_data_are_replayed_under_every_policy_and_seed(folder: Path) -> None:
    config = BenchConfig(title="t", data={"small": small()}, episodes=(BLOCK,))
    (outcome,) = run_bench(config, folder)
    assert isinstance(outcome, EpisodesOutcome)
    assert outcome.is_simulated
    assert [(row.workload, row.policy, row.seed) for row in outcome.results] == [
        (workload, policy, seed)
        for workload in ("compute", "memory", "rigid")
        for policy in ("default", "oracle")
        for seed in (0, 1)
    ]


def test_a_device_runs_its_own_workloads(tmp_path: Path) -> None:
    block = EpisodesBlock(name="simulated", device="sim:rtx3080ti", policy=("default",), budget_s=60.0)
    (outcome,) = run_bench(BenchConfig(title="t", episodes=(block,)), tmp_path)
    assert isinstance(outcome, EpisodesOutcome)
    assert len(outcome.results) == 10
    assert outcome.gpu_name == "NVIDIA GeForce RTX 3080 Ti"


def test_a_block_without_its_data_is_skipped_and_the_others_run(folder: Path) -> None:
    absent = BLOCK.model_copy(update={"name": "absent", "data": "absent"})
    data: dict[str, Source] = {"small": small(), "absent": FileSource(kind="sweep", file=Path("absent.parquet"))}
    skipped, ran = run_bench(BenchConfig(title="t", data=data, episodes=(absent, BLOCK)), folder)
    assert isinstance(skipped, Skipped)
    assert skipped == Skipped("absent", f"no {folder / 'absent.parquet'}")
    assert isinstance(ran, EpisodesOutcome)


def test_steps_of_a_block_are_watched(folder: Path) -> None:
    seen: list[str] = []

    def watch(name: str, steps: int):  # type: ignore[no-untyped-def]
        seen.append(f"{name}: {steps}")
        return lambda: seen.append("step")

    list(run_bench(BenchConfig(title="t", data={"small": small()}, episodes=(BLOCK,)), folder, watch=watch))
    assert seen == ["replayed: 12", *["step"] * 12]


def test_results_do_not_depend_on_the_number_of_processes(folder: Path) -> None:
    config = BenchConfig(title="t", data={"small": small()}, episodes=(BLOCK,))
    assert list(run_bench(config, folder, in_processes(1))) == list(run_bench(config, folder, in_processes(2)))


def test_models_are_held_against_families_that_they_have_not_seen(tmp_path: Path) -> None:
    data: dict[str, Source] = {
        name: SimulatedSource(kind="simulated", gpu="rtx3080ti", suite=name) for name in ("train", "demo")
    }
    block = ModelsBlock(name="models", train="train", test="demo")
    (outcome,) = run_bench(BenchConfig(title="t", data=data, models=(block,)), tmp_path)
    assert isinstance(outcome, ModelsOutcome)
    assert [row.workload for row in outcome.errors["gpoeo"]] == list(outcome.families)
    assert all(0 < row.time < 0.1 and 0 < row.energy < 0.1 for row in outcome.errors["gpoeo"])


def test_a_table_without_its_overclocks_has_no_pair_above_stock(tmp_path: Path) -> None:
    rows = [f"app,{sm},{mem},{1000 / sm},100" for sm in (900, 1000, 1100) for mem in (4000, 5000)]
    (tmp_path / "t.csv").write_text("\n".join(["app,sm,mem,seconds,watts", *rows]))
    mapping = {"workload": "app", "sm_mhz": "sm", "mem_mhz": "mem", "time_s": "seconds", "power_w": "watts"}
    source = TableSource(
        kind="table", file=Path("t.csv"), gpu="a gpu", map=mapping, reference="1000,4000", most="1000,4000"
    )
    (sweep,) = source.sweeps(tmp_path).sweeps
    assert [str(pair) for pair in sweep.clocks] == ["900/4000", "1000/4000"]
    assert sweep.time_ratio.tolist() == pytest.approx([1000 / 900, 1.0])
