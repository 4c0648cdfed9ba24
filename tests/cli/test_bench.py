"""`gpoeo bench`: one file, one command, tables or one document."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gpoeo_env.cli.main import app
from gpoeo_env.errors import UsageError


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["bench", *map(str, arguments)])


@pytest.fixture
def config(tmp_path: Path, sweep_file: Path) -> Path:
    file = tmp_path / "bench.toml"
    file.write_text(
        f"""
title = "small and quick"
[data.there]
kind = "sweep"
file = "{sweep_file.name}"
[data.absent]
kind = "sweep"
file = "absent.parquet"
[[episodes]]
name = "what is there"
data = "there"
policy = ["fixed:sm_mhz=1200", "oracle"]
noise = 0.0
beside = "somebody claims 99 %"
[[episodes]]
name = "what is absent"
data = "absent"
policy = ["oracle"]
"""
    )
    return file


def test_tables_say_what_ran_what_was_skipped_and_what_others_claim(config: Path) -> None:
    result = call(config, "--data", config.parent, "--jobs", "1")
    assert result.exit_code == 0, result.exception
    assert "measured data" in result.stdout
    assert "somebody claims 99 %" in result.stdout
    assert f"skipped: no {config.parent / 'absent.parquet'}" in result.stdout
    assert "fixed:sm_mhz=1200: whole runs, search paid, save" in result.stdout


def test_a_document_holds_every_block(config: Path) -> None:
    result = call(config, "--data", config.parent, "--jobs", "1", "--json")
    there, absent = json.loads(result.stdout)["blocks"]
    assert there["summary"]["oracle"]["mean_saving"] == pytest.approx(0.25)
    assert not there["is_simulated"]
    assert absent == {"name": "what is absent", "skipped": f"no {config.parent / 'absent.parquet'}"}


def test_models_are_shown_by_family_with_the_worst(tmp_path: Path) -> None:
    file = tmp_path / "models.toml"
    file.write_text(
        "title = 't'\n"
        "[data.train]\nkind = 'simulated'\ngpu = 'rtx3080ti'\nsuite = 'train'\n"
        "[data.demo]\nkind = 'simulated'\ngpu = 'rtx3080ti'\nsuite = 'demo'\n"
        "[[models]]\nname = 'models'\ntrain = 'train'\ntest = 'demo'\n"
    )
    result = call(file)
    assert result.exit_code == 0, result.exception
    assert "SIMULATED, no GPU was measured" in result.stdout
    assert "demo bert-base" in result.stdout
    assert "worst:" in result.stdout


def test_results_are_kept_gone_on_with_and_validated(config: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    arguments = (config, "--data", config.parent, "--jobs", "1", "-o", results)
    first = call(*arguments)
    again = call(*arguments, "--policy", "default")
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert "better than" not in first.stdout
    rows = (results / "rows.jsonl").read_text().splitlines()
    assert {json.loads(row)["case"]["policy"] for row in rows} == {"fixed:sm_mhz=1200", "oracle", "default"}
    validated = CliRunner().invoke(app, ["validate", str(results), "--sample", "5"])
    assert validated.exit_code == 0
    assert "5 of 5 results came out as written" in validated.stdout


def test_validation_names_what_does_not_come_out_as_written(config: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    call(config, "--data", config.parent, "--jobs", "1", "-o", results)
    lines = [json.loads(line) for line in (results / "rows.jsonl").read_text().splitlines()]
    lines[0]["result"]["saving"] = 0.99
    (results / "rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    validated = CliRunner().invoke(app, ["validate", str(results), "--json"])
    assert validated.exit_code == 1
    document = json.loads(validated.stdout)
    assert document["n_wrong"] == 1
    assert "saving was 0.99" in str(document["rows"])


def test_the_smoke_benchmark_runs(tmp_path: Path) -> None:
    file = Path(__file__).parents[2] / "configs" / "bench" / "smoke.toml"
    result = call(file, "-o", tmp_path / "smoke", "--json")
    assert result.exit_code == 0, result.output
    (block,) = json.loads(result.stdout)["blocks"]
    summary = block["summary"]
    assert block["is_simulated"]
    assert summary["default"]["mean_run_saving"] == pytest.approx(0.0, abs=0.005)
    assert 0.0 < summary["gpoeo"]["mean_run_saving"] < summary["oracle"]["mean_run_saving"]


def test_jobs_and_a_cluster_exclude_each_other(config: Path) -> None:
    refused = call(config, "--jobs", "2", "--ray", "auto")
    assert isinstance(refused.exception, UsageError)
    assert "--ray" in str(refused.exception)
