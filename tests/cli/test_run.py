"""`gpoeo run` on virtual devices: one episode, its log and its summary."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from gpoeo_env.cli.run import run
from gpoeo_env.errors import ClockNotSupportedError, ConfigError, UnknownNameError, UsageError

Gpoeo = Callable[..., "subprocess.CompletedProcess[str]"]
SIMULATED = ("--device", "sim:rtx3080ti")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of every test: empty, because a run writes its log there."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


def call(*arguments: str | Path) -> Result:
    app = typer.Typer()
    app.command()(run)
    device = [] if "--device" in arguments else list(SIMULATED)
    return CliRunner().invoke(app, [*device, "--budget", "100", *map(str, arguments)])


def document(*arguments: str | Path) -> dict[str, Any]:
    result = call("--json", *arguments)
    assert result.exit_code == 0, result.exception
    parsed: dict[str, Any] = json.loads(result.stdout, parse_constant=pytest.fail)
    return parsed


def lines_of(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def test_every_window_is_a_line_on_stdout_where_there_is_no_terminal() -> None:
    printed = call("--policy", "fixed:sm_mhz=1410", "--workload", "resnet50").stdout.splitlines()

    assert printed[0].startswith("fixed:sm_mhz=1410 on resnet50, NVIDIA GeForce RTX 3080 Ti (simulated): objective")
    assert "reference  asked driver" in printed[1]
    assert "asked 1410/9501" in printed[2]
    assert "fixed by configuration" in printed[2]


def test_the_summary_says_what_was_held_and_that_it_is_simulated(folder: Path) -> None:
    printed = call("--policy", "fixed:sm_mhz=1410", "--workload", "resnet50").stdout
    (log,) = folder.glob("runs/*")

    assert "SIMULATED: NVIDIA GeForce RTX 3080 Ti" in printed
    assert "held          1410/9501 MHz, after 1 measured window" in printed
    assert "OVER THE LIMIT" in printed
    assert f"log           runs/{log.name}" in printed


def test_the_log_goes_to_a_new_folder_that_says_when_and_what(folder: Path) -> None:
    call("--policy", "fixed:sm_mhz=1410", "--workload", "resnet50", "--seed", "7")

    (log,) = folder.glob("runs/*")
    assert log.name.endswith("Z-sim-rtx3080ti-resnet50-fixed-sm_mhz=1410-seed7")


def test_the_log_holds_every_window(folder: Path) -> None:
    printed = document("--policy", "oracle", "--workload", "resnet50", "--log", "a")

    head, *steps = lines_of(folder / "a" / "windows.jsonl")
    assert (head["policy"], head["device"], head["device_kind"]) == ("oracle", "sim:rtx3080ti", "simulated")
    assert [step["index"] for step in steps] == list(range(printed["totals"]["windows"]))
    assert steps[-1]["totals"] == printed["totals"]
    assert printed["log"] == "a"


def test_no_log_writes_nothing(folder: Path) -> None:
    printed = document("--policy", "default", "--no-log")

    assert printed["log"] is None
    assert list(folder.iterdir()) == []


def test_json_is_one_document_with_the_score_of_a_replay_row() -> None:
    printed = document("--policy", "oracle", "--workload", "dlrm", "--max-slowdown", "0.1")

    assert printed["is_simulated"]
    assert (printed["workload"], printed["objective"], printed["limit"]) == ("dlrm", "energy", 0.1)
    row = printed["result"]
    assert row["saving"] == row["oracle_saving"] > 0.0
    assert (row["violates"], row["is_bound"], row["measurements"]) == (False, True, 1)
    assert printed["held_pair"] == {"sm_mhz": row["sm_mhz"], "mem_mhz": row["mem_mhz"]}


def test_without_a_name_the_first_workload_runs() -> None:
    assert document("--policy", "default", "--no-log")["workload"] == "bert-base"


def test_equal_seeds_give_equal_runs() -> None:
    def totals(seed: int) -> object:
        return document("--policy", "default", "--no-log", "--seed", str(seed))["totals"]

    assert totals(1) == totals(1)
    assert totals(1) != totals(2)


def test_a_recording_can_be_run(sweep_file: Path) -> None:
    printed = document("--device", f"replay:{sweep_file}", "--workload", "memory", "--policy", "oracle")

    assert (printed["device_kind"], printed["is_simulated"]) == ("replay", False)
    assert printed["result"]["saving"] == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("--policy", "orcale"), UnknownNameError, "did you mean oracle"),
        (("--workload", "resnet5"), UnknownNameError, "did you mean resnet50"),
        (("--device", "sim:rtx3080it"), UnknownNameError, "did you mean rtx3080ti"),
        (("--device", "sm:rtx3080ti"), UnknownNameError, "did you mean sim"),
        (("--policy", "fixed:sm_mhz=1411"), ClockNotSupportedError, "the nearest is 1410/9501"),
        (("--budget", "0"), ConfigError, "budget_s is a positive number"),
        (("--window", "-1"), ConfigError, "window_s is a positive number"),
        (("--seed", "-1"), UsageError, "0 or more"),
        (("--log", "a", "--no-log"), UsageError, "leave one out"),
    ],
)
def test_bad_options_say_what_to_do_and_leave_no_file(
    folder: Path, arguments: tuple[str, ...], error: type[Exception], message: str
) -> None:
    result = call("--policy", "default", *arguments)

    assert isinstance(result.exception, error)
    assert message in str(result.exception)
    assert list(folder.iterdir()) == []


def test_a_log_is_never_overwritten(folder: Path) -> None:
    log = folder / "a" / "windows.jsonl"
    log.parent.mkdir()
    log.write_text("mine")

    result = call("--policy", "default", "--log", "a")

    assert isinstance(result.exception, UsageError)
    assert log.read_text() == "mine"


def test_the_windows_are_curves_in_tensorboard_too(folder: Path) -> None:
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # noqa: PLC0415 - optional

    printed = document("--policy", "default", "--log", "a")

    events = EventAccumulator(str(folder / "a")).Reload()
    assert len(events.Scalars("window/power_w")) == printed["totals"]["windows"]


def test_ctrl_c_prints_what_was_reached_and_exits_with_130(gpoeo: Gpoeo, tmp_path: Path) -> None:
    done = gpoeo("run", *SIMULATED, "--policy", "ctrl_c:here,episode=1", "--log", tmp_path)

    assert done.returncode == 130
    assert "PARTIAL: interrupted after 3 windows." in done.stdout
    assert "held          the driver's default clocks" in done.stdout
    assert "Traceback" not in done.stderr
    assert [line.get("index") for line in lines_of(tmp_path / "windows.jsonl")] == [None, 0, 1, 2]


def test_ctrl_c_with_json_marks_the_document_as_partial(gpoeo: Gpoeo) -> None:
    done = gpoeo("run", *SIMULATED, "--policy", "ctrl_c:here,episode=1", "--no-log", "--json")

    assert done.returncode == 130
    printed = json.loads(done.stdout)
    assert (printed["is_partial"], printed["totals"]["windows"]) == (True, 3)
