"""Options from a TOML file; and every file in configs/ works."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gpoeo_env.cli.main import app
from gpoeo_env.device.opening import open_device
from gpoeo_env.errors import ConfigError
from gpoeo_env.sim.catalogue import load_gpu
from gpoeo_env.sim.closed_form import simulated_sweeps
from gpoeo_env.sim.suites import training_suite
from gpoeo_env.trace.store import write_sweeps

CONFIGS = Path(__file__).resolve().parents[2] / "configs"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "some.toml"
    path.write_text('policy = ["default", "oracle"]\nseeds = 2\nnoise = 0.0\n')
    return path


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def document(*arguments: str | Path) -> dict[str, Any]:
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.exception
    parsed: dict[str, Any] = json.loads(result.stdout)
    return parsed


def test_a_file_sets_options_lists_included(config: Path, sweep_file: Path) -> None:
    results = document("replay", sweep_file, "--config", config)["results"]

    assert {(row["policy"], row["seed"]) for row in results} == {(p, s) for p in ("default", "oracle") for s in (0, 1)}


@pytest.mark.parametrize("comes_first", [True, False])
def test_the_command_line_wins(config: Path, sweep_file: Path, *, comes_first: bool) -> None:
    given: list[str | Path] = (
        ["--seeds", "1", "--config", config] if comes_first else ["--config", config, "--seeds", "1"]
    )

    assert {row["seed"] for row in document("replay", sweep_file, *given)["results"]} == {0}


def test_an_unknown_setting_is_named_with_the_nearest(config: Path, sweep_file: Path) -> None:
    config.write_text("sedes = 3\n")

    result = call("replay", sweep_file, "--config", config)
    assert isinstance(result.exception, ConfigError)
    assert "unknown setting 'sedes'; did you mean seeds" in str(result.exception)


def test_a_value_of_the_wrong_type_is_refused_as_on_the_command_line(config: Path, sweep_file: Path) -> None:
    config.write_text('seeds = "many"\n')

    result = call("replay", sweep_file, "--config", config)
    assert result.exit_code == 2
    assert "--seeds" in result.output


def test_a_missing_file_is_named(sweep_file: Path) -> None:
    result = call("replay", sweep_file, "--config", "nowhere.toml")

    assert isinstance(result.exception, ConfigError)
    assert "cannot read nowhere.toml" in str(result.exception)


def test_the_reference_comparison_runs_as_it_is(tmp_path: Path) -> None:
    file, gpu = tmp_path / "simulated.sweep.parquet", load_gpu("rtx3080ti")
    write_sweeps(file, simulated_sweeps(gpu, training_suite(gpu, 3, seed=1), "three drawn workloads"))

    summary = document("replay", file, "--config", CONFIGS / "replay-reference.toml", "--seeds", "1")["summary"]

    assert list(summary) == ["default", "gpoeo", "gpoeo,start=top", "gpoeo,start=random", "oracle"]


def test_the_careful_run_runs_as_it_is(tmp_path: Path) -> None:
    config = CONFIGS / "run-careful.toml"
    document("run", "--config", config, "--workload", "resnet50", "--budget", "300", "--log", tmp_path)

    assert json.loads((tmp_path / "windows.jsonl").read_text().splitlines()[0])["limit"] == 0.02


def test_a_gpu_of_ones_own_runs_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CONFIGS.parent)
    with open_device("sim:rtx3080ti-quiet") as device:
        assert device.info.power_limit_w == 260.0


def test_every_file_in_configs_is_tried_here_or_with_the_benchmarks() -> None:
    names = {path.name for path in CONFIGS.rglob("*.toml") if path.parent.name != "bench"}
    assert names == {"replay-reference.toml", "run-careful.toml", "rtx3080ti-quiet.toml"}
