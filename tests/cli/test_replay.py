"""`gpoeo replay` as a user and as a program see it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from gpoeo_env.cli.replay import replay
from gpoeo_env.errors import ConfigError, TraceError, UnknownNameError, UsageError

Gpoeo = Callable[..., "subprocess.CompletedProcess[str]"]

RESULT_KEYS = {
    "workload",
    "policy",
    "seed",
    "sm_mhz",
    "mem_mhz",
    "saving",
    "slowdown",
    "violates",
    "measurements",
    "oracle_saving",
}
SUMMARY_KEYS = {"mean_saving", "mean_slowdown", "violation_rate", "mean_measurements", "oracle_ratio"}


def call(*arguments: str | Path) -> Result:
    app = typer.Typer()
    app.command()(replay)
    return CliRunner(env={"COLUMNS": "100"}).invoke(app, ["--jobs", "1", "--seeds", "2", *map(str, arguments)])


def document(*arguments: str | Path) -> dict[str, Any]:
    result = call("--json", *arguments)
    assert result.exit_code == 0, result.exception
    parsed: dict[str, Any] = json.loads(result.stdout, parse_constant=pytest.fail)
    return parsed


def test_json_has_the_promised_keys(sweep_file: Path) -> None:
    printed = document(sweep_file, "--policy", "default", "--policy", "oracle")

    assert len(printed["results"]) == 2 * 2 * 2
    assert all(set(row) >= RESULT_KEYS for row in printed["results"])
    assert set(printed["summary"]) == {"default", "oracle"}
    assert all(set(row) >= SUMMARY_KEYS for row in printed["summary"].values())
    assert "is_partial" not in printed


def test_json_says_what_was_replayed_and_how(sweep_file: Path) -> None:
    printed = document(sweep_file, "--policy", "default", "--noise", "0.02")

    assert (printed["gpu_name"], printed["is_simulated"]) == ("a small gpu", False)
    assert (printed["plan"]["noise"], printed["plan"]["limit"], printed["plan"]["fit"]) == (0.02, 0.05, "leave-one-out")


def test_json_figures_are_those_of_the_recording(sweep_file: Path) -> None:
    printed = document(sweep_file, "--policy", "oracle")

    held = {row["workload"]: (row["sm_mhz"], row["mem_mhz"]) for row in printed["results"]}
    assert held == {"compute": (1200, 5000), "memory": (900, 5000)}
    summary = printed["summary"]["oracle"]
    assert summary["mean_saving"] == pytest.approx(0.25)
    assert summary["mean_slowdown"] == pytest.approx(0.035)
    assert (summary["violation_rate"], summary["mean_measurements"], summary["oracle_ratio"]) == (0.0, 1.0, 1.0)


def test_released_clocks_are_given_as_the_reference_pair(sweep_file: Path) -> None:
    (first, *_) = document(sweep_file, "--policy", "default")["results"]

    assert (first["sm_mhz"], first["mem_mhz"], first["is_released"]) == (1500, 5000, True)


def test_a_ratio_that_does_not_exist_is_null(sweep_file: Path) -> None:
    printed = document(sweep_file, "--policy", "default", "--max-slowdown", "0.0")

    assert printed["summary"]["default"]["oracle_ratio"] is None


def test_the_limit_decides_what_violates(sweep_file: Path) -> None:
    policy = ("--policy", "fixed:sm_mhz=1200")

    assert document(sweep_file, *policy)["summary"]["fixed:sm_mhz=1200"]["violation_rate"] == 0.0
    strict = document(sweep_file, *policy, "--max-slowdown", "0.02")
    assert strict["summary"]["fixed:sm_mhz=1200"]["violation_rate"] == 0.5


def test_the_tables_name_their_origin_and_what_is_a_bound(sweep_file: Path) -> None:
    printed = call(sweep_file, "--policy", "default", "--policy", "oracle").stdout

    assert "Measured sweep: a small gpu, 2 workloads." in printed
    assert "slowdown at most 5.0 %; noise 1.0 %; 2 seeds; fit leave-one-out" in printed
    assert "oracle (bound)" in printed
    assert "1200/5000" in printed
    assert "* clocks released" in printed


def test_one_workload_can_be_chosen(sweep_file: Path) -> None:
    printed = document(sweep_file, "--policy", "default", "--workload", "memory")

    assert {row["workload"] for row in printed["results"]} == {"memory"}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("--policy", "orcale"), UnknownNameError, "did you mean oracle"),
        (("--policy", "fixed:sm_mz=1200"), ConfigError, "sm_mhz"),
        (("--workload", "memry"), UnknownNameError, "did you mean memory"),
        (("--fit", "leave-one"), UnknownNameError, "did you mean leave-one-out"),
        (("--objective", "enrgy"), UnknownNameError, "did you mean energy"),
        (("--min-saving", "0.1"), UsageError, "--min-saving does not go with --objective energy"),
        (("--objective", "edp", "--max-slowdown", "0.1"), UsageError, "takes no limit"),
        (("--max-slowdown", "5"), ConfigError, "0.05 means 5 %"),
        (("--noise", "-1"), ConfigError, "noise is a fraction"),
        (("--seeds", "0"), ConfigError, "at least one seed"),
        (("--jobs", "0"), ConfigError, "at least one job"),
    ],
)
def test_bad_options_say_what_to_do(
    sweep_file: Path, arguments: tuple[str, ...], error: type[Exception], message: str
) -> None:
    result = call(sweep_file, "--policy", "default", *arguments)

    assert isinstance(result.exception, error)
    assert message in str(result.exception)
    assert result.stdout == ""


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    result = call(tmp_path / "nothing.parquet", "--policy", "default")

    assert isinstance(result.exception, TraceError)
    assert "nothing.parquet" in str(result.exception)


def test_ctrl_c_prints_a_partial_table_and_exits_with_130(gpoeo: Gpoeo, sweep_file: Path) -> None:
    done = gpoeo(
        "replay", sweep_file, "--policy", "oracle", "--policy", "ctrl_c:here,episode=2", "--seeds", "3", "--jobs", "1"
    )

    assert done.returncode == 130
    # Three episodes of the oracle and one of the policy that presses Ctrl-C in its second one.
    assert "PARTIAL: interrupted after 4 of 12 episodes" in done.stdout
    assert "By policy" in done.stdout
    assert "Traceback" not in done.stderr


def test_ctrl_c_with_json_marks_the_document_as_partial(gpoeo: Gpoeo, sweep_file: Path) -> None:
    done = gpoeo(
        "replay", sweep_file, "--policy", "ctrl_c:here,episode=1", "--policy", "default", "--jobs", "1", "--json"
    )

    assert done.returncode == 130
    printed = json.loads(done.stdout)
    assert (printed["results"], printed["summary"], printed["is_partial"]) == ([], {}, True)


def test_ctrl_c_reaches_worker_processes(gpoeo: Gpoeo, sweep_file: Path) -> None:
    done = gpoeo(
        *("replay", sweep_file, "--policy", "ctrl_c:in_parent,episode=2", "--seeds", "100000", "--jobs", "2", "--json")
    )

    assert done.returncode == 130, done.stderr
    printed = json.loads(done.stdout)
    assert printed["is_partial"]
    assert 2 <= len(printed["results"]) < 100000
    assert "Traceback" not in done.stderr
