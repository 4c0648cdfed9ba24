"""`gpoeo trace import dcgmi`, and what the other commands make of a recording set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gpoeo_env.cli.main import app
from gpoeo_env.errors import UsageError

ROWS = 40


@pytest.fixture(autouse=True)
def _in_a_folder_with_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workloads at two clocks: 0.8 s each, twice as much power as at half the clock."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    Path("logs").mkdir()
    for workload in ("one", "two"):
        for sm_mhz, watts in ((700, 100), (1400, 200)):
            rows = [f"GPU 0 {watts} {20 * watts * row} 0.9 0.5 {sm_mhz} 7" for row in range(ROWS)]
            text = "\n".join(("# Entity POWER TOTEC SMACT DRAMA SMCLK XID", *rows))
            Path("logs", f"{workload}-{sm_mhz}.txt").write_text(text, encoding="utf-8")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def imported(*more: str, name: str = "{workload}-{sm_mhz}.txt") -> Result:
    options = ("--gpu", "A100", "--name", name, "--interval", "0.02", "--mem-mhz", "1593", "-o", "a.parquet")
    return run("trace", "import", "dcgmi", "logs", *options, *more)


def test_a_folder_of_logs_becomes_a_recording_set() -> None:
    done = imported()

    assert done.exit_code == 0
    assert "one at 2 pairs, two at 2 pairs; reference 1400/1593 MHz" in done.stdout
    assert "4 file(s): left out XID: no known reading of a GPU" in done.stderr


def test_its_facts_are_json_on_request() -> None:
    facts = json.loads(imported("--json").stdout)

    assert facts["n_pairs"] == {"one": 2, "two": 2}
    assert json.loads(run("trace", "info", "a.parquet", "--json").stdout) == facts


def test_info_shows_what_a_set_holds() -> None:
    imported()

    shown = run("trace", "info", "a.parquet")

    assert shown.exit_code == 0
    assert "power_w, energy_j, sm_active, dram_active, sm_clock_mhz" in shown.stdout


def test_a_limit_is_not_for_recordings() -> None:
    imported()

    assert isinstance(run("trace", "info", "a.parquet", "--max-slowdown", "0.1").exception, UsageError)


def test_a_pattern_that_says_too_little_is_refused() -> None:
    assert isinstance(imported(name="{workload}.txt").exception, UsageError)


def test_a_set_is_overwritten_on_purpose_only() -> None:
    assert imported().exit_code == 0
    assert isinstance(imported().exception, UsageError)
    assert imported("--force").exit_code == 0


def test_a_policy_runs_on_a_recording_set() -> None:
    imported()

    done = run(
        *("run", "--device", "recordings:a.parquet", "--workload", "two", "--policy", "fixed:sm_mhz=700"),
        *("--window", "2", "--budget", "20", "--no-log", "--json"),
    )

    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert (document["device_kind"], document["workload"], document["is_simulated"]) == ("replay", "two", False)
