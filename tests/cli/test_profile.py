"""`gpoeo profile`: from a device to a sweep file that everything else can use."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from gpoeo_env.cli.main import app
from gpoeo_env.errors import UsageError
from gpoeo_env.trace.store import read_sweeps

DEVICE = ("--device", "sim:rtx3080ti,noise=0.0", "--budget", "300")


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["profile", *map(str, arguments)])


def test_a_profile_is_written_and_summed_up(tmp_path: Path) -> None:
    out = tmp_path / "resnet50.sweep.parquet"
    result = call(*DEVICE, "--workload", "resnet50", "-o", out)
    assert result.exit_code == 0, result.exception
    assert "pairs in windows of 10 s" in result.stderr
    assert "drift of the driver's default" in result.stdout
    sweeps = read_sweeps(out)
    assert sweeps.workloads == ("resnet50",)
    assert sweeps.provenance.is_simulated
    assert [path.name for path in tmp_path.iterdir()] == [out.name], "the journal is gone"


def test_another_workload_is_added_on_request_only(tmp_path: Path) -> None:
    out = tmp_path / "two.sweep.parquet"
    call(*DEVICE, "--workload", "resnet50", "-o", out)
    refused = call(*DEVICE, "--workload", "gcn", "-o", out)
    assert isinstance(refused.exception, UsageError)
    document = json.loads(call(*DEVICE, "--workload", "gcn", "-o", out, "--append", "--json").stdout)
    assert document["workload"] == "gcn"
    assert read_sweeps(out).workloads == ("resnet50", "gcn")


def test_a_dry_run_shows_the_plan_and_writes_nothing(tmp_path: Path) -> None:
    result = call(*DEVICE, "-o", tmp_path / "x.parquet", "--dry-run", "--json")
    document = json.loads(result.stdout)
    assert document["seconds"] <= 300
    assert len(document["plan"]["pairs"]) > 10
    assert list(tmp_path.iterdir()) == []
