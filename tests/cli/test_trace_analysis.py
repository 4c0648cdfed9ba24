"""`gpoeo trace` on recordings: import, info, period, progress and shifts, as a user calls them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from gpoeo_env.cli.trace import app
from gpoeo_env.errors import ArtefactError, InstallationError, TraceError, UsageError
from gpoeo_env.trace.recording_store import read_recording_file

PERIOD_S = 1.25
SECONDS = 60.0


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def document(*arguments: str) -> Any:  # Any: as JSON has it
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.exception
    return json.loads(result.stdout)


def write_log(path: Path, *, shift_at_s: float | None = None) -> None:
    """A loop of 1.25 s, three quarters of it busy, polled every 50 ms; after a shift it is memory-bound."""
    rng = np.random.default_rng(1)
    t_s = np.arange(0.0, SECONDS, 0.05)
    is_busy = (t_s / PERIOD_S) % 1.0 < 0.75
    is_other = np.zeros(len(t_s), dtype=np.bool_) if shift_at_s is None else t_s >= shift_at_s
    columns = {
        "time_s": t_s,
        "power_w": np.where(is_busy, np.where(is_other, 250.0, 480.0), 130.0) + rng.normal(0, 4, len(t_s)),
        "sm_clock_mhz": np.full(len(t_s), 1980.0),
        "mem_clock_mhz": np.full(len(t_s), 3201.0),
        "gpm_sm_util": np.where(is_busy, 90.0, 5.0) + rng.normal(0, 1, len(t_s)),
        "gpm_any_tensor_util": np.where(is_busy & ~is_other, 40.0, 2.0) + rng.normal(0, 0.4, len(t_s)),
        "gpm_dram_bw_util": np.where(is_busy, np.where(is_other, 80.0, 20.0), 2.0) + rng.normal(0, 0.4, len(t_s)),
    }
    table = np.column_stack(list(columns.values()))
    np.savetxt(path, table, fmt="%.4f", delimiter=",", header=",".join(columns), comments="")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    write_log(folder / "loop.csv")
    write_log(folder / "shifting.csv", shift_at_s=30.0)
    return folder


@pytest.fixture(autouse=True)
def _in_the_folder_of_logs(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(logs)
    monkeypatch.setenv("COLUMNS", "100")


def test_a_log_becomes_a_recording(tmp_path: Path) -> None:
    result = run("import", "log", "loop.csv", "--gpu", "H200", "-o", str(tmp_path / "a.parquet"))

    assert result.exit_code == 0
    assert "H200 (measured)" in result.stdout
    recording = read_recording_file(tmp_path / "a.parquet")
    assert (recording.name, recording.gpu_name, len(recording.t_s)) == ("loop", "H200", 1200)


def test_a_recording_that_exists_is_overwritten_by_force_alone(tmp_path: Path) -> None:
    out = tmp_path / "a.parquet"
    out.write_text("mine")

    assert isinstance(run("import", "log", "loop.csv", "--gpu", "H200", "-o", str(out)).exception, UsageError)
    assert out.read_text() == "mine"
    assert run("import", "log", "loop.csv", "--gpu", "H200", "-o", str(out), "--force").exit_code == 0


def test_a_column_without_meaning_is_told_on_stderr(tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text("time_s,power_w,colour\n0,1,red\n1,2,red\n")

    result = run("import", "log", str(tmp_path / "odd.csv"), "--gpu", "H200", "-o", str(tmp_path / "a.parquet"))

    assert "left out 'colour'" in result.stderr
    assert "colour" not in result.stdout


def test_info_shows_the_signals_of_a_log() -> None:
    shown = run("info", "loop.csv").stdout

    for words in ("unknown (measured)", "1200, every 50 ms", "tensor_active", "0.0..60.0 s"):
        assert words in shown


def test_info_of_a_native_recording_is_the_same_as_of_its_log(tmp_path: Path) -> None:
    imported = document("import", "log", "loop.csv", "--gpu", "H200", "-o", str(tmp_path / "a.parquet"))

    again = document("info", str(tmp_path / "a.parquet"))
    assert again == imported
    assert again["signals"] == document("info", "loop.csv")["signals"]


def test_a_limit_means_nothing_for_a_recording() -> None:
    error = run("info", "loop.csv", "--max-slowdown", "0.1").exception

    assert isinstance(error, UsageError)
    assert "is a recording" in str(error)


def test_the_period_of_a_loop_is_found() -> None:
    found = document("period", "loop.csv")

    assert list(found) == ["kind", "period_s", "uncertainty_s", "confidence", "reason", "channels"]
    assert found["kind"] == "periodic"
    multiple = found["period_s"] / PERIOD_S
    assert multiple == pytest.approx(round(multiple), rel=0.01)
    assert found["uncertainty_s"] < 0.01 * found["period_s"]
    assert "power_w" in found["channels"]
    assert "loop: period" in run("period", "loop.csv").stdout


def test_without_a_period_there_is_a_reason_and_no_number(tmp_path: Path) -> None:
    noise = np.random.default_rng(3).normal(300, 20, 900)
    rows = "".join(f"{0.05 * row:.2f},{watts:.3f}\n" for row, watts in enumerate(noise.tolist()))
    (tmp_path / "noise.csv").write_text("time_s,power_w\n" + rows)

    found = document("period", str(tmp_path / "noise.csv"))

    assert found["kind"] in ("aperiodic", "refused")
    assert (found["period_s"], found["uncertainty_s"]) == (None, None)
    assert found["reason"]
    assert found["reason"] in " ".join(run("period", str(tmp_path / "noise.csv")).stdout.split())


def test_progress_has_a_row_for_each_window() -> None:
    report = document("progress", "loop.csv", "--window", "10")

    assert report["meter"] == "counter_work"
    assert len(report["rows"]) in (5, 6)
    for row in report["rows"]:
        assert {"start_s", "end_s", "work_rate", "uncertainty"} < set(row)
        assert row["end_s"] - row["start_s"] == pytest.approx(10, abs=PERIOD_S)
        assert row["work_rate"] == pytest.approx(report["rows"][0]["work_rate"], rel=0.02)


def test_a_refused_window_has_null_and_a_reason(tmp_path: Path) -> None:
    (tmp_path / "flat.csv").write_text("time_s,power_w\n" + "".join(f"{second},100\n" for second in range(40)))

    report = document("progress", str(tmp_path / "flat.csv"))

    assert report["meter"] == "none"
    assert [row["work_rate"] for row in report["rows"]] == [None] * 3
    assert all(row["reason"] for row in report["rows"])
    assert "refused in all of 3 windows" in run("progress", str(tmp_path / "flat.csv")).stdout


@pytest.fixture(scope="module")
def marks(logs: Path) -> Path:
    """The true iterations of the loop: each begins with its busy part."""
    starts = np.arange(0.0, SECONDS - PERIOD_S, PERIOD_S)
    lines = "".join(f"{start:.4f},{start + PERIOD_S:.4f},iter\n" for start in starts)
    (logs / "loop.marks.csv").write_text("start_s,end_s,kind\n" + lines)
    return logs / "loop.marks.csv"


def test_marks_are_the_best_meter(marks: Path) -> None:
    report = document("progress", "loop.csv", "--marks", str(marks))

    measured = [row["work_rate"] for row in report["rows"] if row["work_rate"] is not None]
    assert report["meter"] == "marks"
    assert measured == pytest.approx([1 / PERIOD_S] * len(measured), rel=0.01)


def test_marks_confirm_a_period(marks: Path) -> None:
    found = document("period", "loop.csv", "--marks", str(marks))

    assert found["kind"] == "periodic"


def test_marks_are_drawn_beside_what_was_measured(marks: Path, tmp_path: Path) -> None:
    plots = [tmp_path / "without.svg", tmp_path / "with.svg"]

    run("progress", "loop.csv", "--plot", str(plots[0]))
    run("progress", "loop.csv", "--marks", str(marks), "--plot", str(plots[1]))

    assert ["#2f9e44" in plot.read_text() for plot in plots] == [False, True]


def test_a_shift_is_found_where_it_is() -> None:
    found = document("shifts", "shifting.csv")

    assert found["shifts_s"] == [pytest.approx(30.0, abs=3.0)]
    assert found["shifts"][0]["at_s"] == found["shifts_s"][0]
    assert "1 shift, at" in run("shifts", "shifting.csv").stdout


def test_a_steady_loop_has_no_shift() -> None:
    assert document("shifts", "loop.csv") == {"shifts_s": [], "shifts": []}
    assert "no shift" in run("shifts", "loop.csv").stdout


def test_what_is_cut_off_is_not_looked_at() -> None:
    assert document("shifts", "shifting.csv", "--from", "31")["shifts_s"] == []
    assert document("shifts", "shifting.csv", "--to", "29")["shifts_s"] == []


COMMANDS = ("period", "progress", "shifts")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_native_recording_gives_the_same_answer(command: str, tmp_path: Path) -> None:
    out = str(tmp_path / "a.parquet")
    run("import", "log", "shifting.csv", "--gpu", "H200", "-o", out)

    assert document(command, out) == document(command, "shifting.csv")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_cut_without_rows_is_a_usage_error(command: str) -> None:
    error = run(command, "loop.csv", "--from", "100").exception

    assert isinstance(error, UsageError)
    assert "runs from 0 to 59.95 s" in str(error)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_is_not_there_is_a_trace_error(command: str) -> None:
    assert isinstance(run(command, "nope.csv").exception, TraceError)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_plot_is_drawn_beside_the_answer(command: str, tmp_path: Path) -> None:
    plot = tmp_path / "picture.png"

    assert document(command, "shifting.csv", "--plot", str(plot)) == document(command, "shifting.csv")
    assert plot.stat().st_size > 30_000


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".SVG", b"<?xml"), (".pdf", b"%PDF")])
def test_the_suffix_says_what_kind_of_picture_it_is(suffix: str, start: bytes, tmp_path: Path) -> None:
    plot = tmp_path / f"picture{suffix}"

    assert run("shifts", "loop.csv", "--to", "20", "--plot", str(plot)).exit_code == 0
    assert plot.read_bytes().startswith(start)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("plot", ["loop.csv", "picture", "nowhere/picture.png"])
def test_a_plot_that_cannot_be_is_refused_before_anything_is_read(command: str, plot: str) -> None:
    assert isinstance(run(command, "nope.csv", "--plot", plot).exception, UsageError)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_plot_that_cannot_be_written_is_an_error(command: str, tmp_path: Path) -> None:
    (tmp_path / "taken.png").mkdir()

    error = run(command, "loop.csv", "--plot", str(tmp_path / "taken.png")).exception
    assert isinstance(error, ArtefactError)
    assert "cannot write" in str(error)


@pytest.mark.parametrize("command", COMMANDS)
def test_without_matplotlib_a_plot_says_what_to_install(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpoeo_env.cli.analysis.options.find_spec", lambda _: None)

    error = run(command, "loop.csv", "--plot", "picture.png").exception
    assert isinstance(error, InstallationError)
    assert "gpoeo-env[report]" in str(error)


def test_nothing_is_loaded_for_plots_that_nobody_asked_for() -> None:
    code = "import sys, gpoeo_env.cli.main; print([name for name in ('matplotlib', 'scipy') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("command", [("import", "log"), *((command,) for command in COMMANDS)])
def test_every_command_has_help(command: tuple[str, ...]) -> None:
    result = run(*command, "--help")

    assert result.exit_code == 0
    assert "Usage" in result.stdout
