"""`gpoeo sim`: what can be simulated, and how close it comes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gpoeo_env.cli.main import app
from gpoeo_env.errors import UnknownNameError
from gpoeo_env.sim.catalogue import gpu_names, load_gpu
from gpoeo_env.sim.closed_form import simulated_sweeps
from gpoeo_env.sim.suites import training_suite
from gpoeo_env.trace.store import write_sweeps


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["sim", *map(str, arguments)])


@pytest.fixture(scope="module")
def sweep_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file, gpu = tmp_path_factory.mktemp("sim") / "three.sweep.parquet", load_gpu("v100")
    write_sweeps(file, simulated_sweeps(gpu, training_suite(gpu, 3), "three drawn workloads"))
    return file


def test_every_gpu_is_listed_with_its_clocks_and_limit() -> None:
    shown = call("gpus").stdout
    assert all(name in shown for name in ("a100", "h200", "rtx3080ti", "v100"))
    assert "405, 810, 5001, 9251, 9501" in shown
    assert [entry["name"] for entry in json.loads(call("gpus", "--json").stdout)] == list(gpu_names())


def test_workloads_are_listed_with_their_phases() -> None:
    shown = call("workloads", "--suite", "demo").stdout
    assert "bert-base" in shown
    assert "forward, backward" in shown
    assert len(json.loads(call("workloads", "--suite", "paper", "--json").stdout)) == 71


def test_a_calibration_shows_the_errors_of_fitted_and_of_predicted_clocks(sweep_file: Path) -> None:
    shown = call("calibrate", sweep_file, "--gpu", "v100", "--fit-clocks", "7").stdout
    assert "fitted to 7 clocks of each workload" in shown
    assert "drawn-0-002" in shown
    document = json.loads(call("calibrate", sweep_file, "--gpu", "v100", "--fit-clocks", "7", "--json").stdout)
    assert [row["workload"] for row in document["residuals"]] == [f"drawn-0-00{index}" for index in range(3)]
    assert all(row["fitted_time"] < row["time"] + 0.02 for row in document["residuals"])
    assert document["constants"]["voltage"]["floor_v"] > 0


def test_an_unknown_gpu_names_the_nearest(sweep_file: Path) -> None:
    result = call("calibrate", sweep_file, "--gpu", "v10")
    assert isinstance(result.exception, UnknownNameError)
    assert "did you mean v100" in str(result.exception)
