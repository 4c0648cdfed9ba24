"""`gpoeo fit` as a user and as a program see it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner, Result

from gpoeo_env.cli.fit import fit
from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.errors import ModelError, TraceError, UnknownNameError, UsageError
from gpoeo_env.trace.store import write_sweeps
from gpoeo_env.trace.sweep import Provenance, Sweep, SweepSet

Gpoeo = Callable[..., "subprocess.CompletedProcess[str]"]
CLOCKS = ClockTable.from_product(range(600, 1501, 100), (5000,))


def a_file(path: Path, first: int, n_workloads: int, gpu_name: str = "a small gpu") -> Path:
    """Write a sweep file of workloads bound by the SM clock to different shares, one of which is odd."""
    relative = CLOCKS.mhz[:, 0] / 1500
    sweeps = []
    for index in range(first, first + n_workloads):
        share = 0.1 + 0.8 * index / 12
        seconds = share / relative + 1 - share + (0.5 * (1 - relative) if index == 3 else 0.0)
        watts = 60 + (100 + 100 * share) * relative**2
        counters = np.tile([share, 0.9 - share / 2], (len(CLOCKS), 1))
        sweeps.append(
            Sweep(
                f"work{index}",
                CLOCKS,
                ClockPair(1500, 5000),
                seconds,
                seconds * watts,
                ("sm_active", "dram_active"),
                counters,
            )
        )
    provenance = Provenance("made for a test", "2026-01-01T00:00:00Z", "test", is_simulated=True, is_relative=True)
    write_sweeps(path, SweepSet(gpu_name, tuple(sweeps), provenance))
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return a_file(tmp_path / "some.sweep.parquet", 0, 8)


def call(*arguments: str | Path) -> Result:
    app = typer.Typer()
    app.command()(fit)
    return CliRunner(env={"COLUMNS": "100"}).invoke(app, [*map(str, arguments)])


def document(*arguments: str | Path) -> dict[str, Any]:
    result = call("--json", *arguments)
    assert result.exit_code == 0, result.exception
    parsed: dict[str, Any] = json.loads(result.stdout, parse_constant=pytest.fail)
    return parsed


def test_the_model_is_written_and_the_policy_reads_it(gpoeo: Gpoeo, file: Path, tmp_path: Path) -> None:
    written = gpoeo("fit", file, "-o", tmp_path / "model")
    assert written.returncode == 0, written.stderr

    replayed = gpoeo(
        "replay", file, "--policy", f"gpoeo,model={tmp_path / 'model'}", "--seeds", "1", "--jobs", "1", "--json"
    )
    assert replayed.returncode == 0, replayed.stderr
    assert len(json.loads(replayed.stdout)["results"]) == 8


def test_errors_stand_for_each_workload_with_the_worst_marked(file: Path, tmp_path: Path) -> None:
    result = call(file, "-o", tmp_path / "model")

    lines = [line.split() for line in result.stdout.splitlines()]
    rows = {line[0]: line[1:] for line in lines if line and line[0].startswith(("work", "all"))}
    assert len([name for name in rows if name.startswith("work")]) == 1 + 8  # the heading, too
    assert [name for name, row in rows.items() if "%!" in row] == ["work3"]
    assert "%" in rows["all"]


def test_a_simulated_origin_is_said(file: Path, tmp_path: Path) -> None:
    assert "SIMULATED sweeps, no GPU was measured" in call(file, "-o", tmp_path / "model").stdout


def test_json_has_errors_importances_and_counts(file: Path, tmp_path: Path) -> None:
    printed = document(file, "-o", tmp_path / "model", "--seed", "7", "--folds", "4")

    report = printed["report"]
    assert (report["n_workloads"], report["n_pairs"], report["folds"], report["seed"]) == (8, 80, 4, 7)
    assert printed["time_error"] == pytest.approx(np.mean([error["time"] for error in report["errors"]]))
    assert {importance["target"] for importance in report["importances"]} == {"time", "energy"}


def test_several_files_are_learned_from_together(file: Path, tmp_path: Path) -> None:
    more = a_file(tmp_path / "more.sweep.parquet", 8, 4)

    assert document(file, more, "-o", tmp_path / "model")["report"]["n_workloads"] == 12


def test_the_same_sweeps_and_seed_give_the_same_bytes(file: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        document(file, "-o", tmp_path / name)

    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_nothing_is_overwritten(file: Path, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()

    result = call(file, "-o", tmp_path / "model")
    assert isinstance(result.exception, ModelError)
    assert "exists already" in str(result.exception)


def test_sweeps_of_two_gpus_are_refused(file: Path, tmp_path: Path) -> None:
    other = a_file(tmp_path / "other.sweep.parquet", 8, 4, gpu_name="another gpu")

    result = call(file, other, "-o", tmp_path / "model")
    assert isinstance(result.exception, TraceError)
    assert "fit a model for each" in str(result.exception)


def test_a_file_named_twice_is_refused(file: Path, tmp_path: Path) -> None:
    assert isinstance(call(file, file, "-o", tmp_path / "model").exception, UsageError)


def test_an_unknown_trainer_is_refused(file: Path, tmp_path: Path) -> None:
    assert isinstance(call(file, "-o", tmp_path / "model", "--trainer", "gpeo").exception, UnknownNameError)


def test_one_workload_is_too_few(tmp_path: Path) -> None:
    file = a_file(tmp_path / "one.sweep.parquet", 0, 1)

    result = call(file, "-o", tmp_path / "model")
    assert isinstance(result.exception, ModelError)
    assert not (tmp_path / "model").exists()
