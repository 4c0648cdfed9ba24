"""`gpoeo trace`: the sub-app as a user calls it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gpoeo_env.cli.trace import app
from gpoeo_env.clocks import ClockPair
from gpoeo_env.errors import TraceError, UnknownNameError, UsageError
from gpoeo_env.trace.store import read_sweeps, write_sweeps

TABLE = """,app,sm,mem,ms,watts,busy,note
0,[red]x,1000,5000,20,50,0.5,ok
1,[red]x,1500,5000,10,90,0.7,ok
2,y,1000,5000,4.1,40,0.1,ok
3,y,1500,5000,4,100,0.2,ok
"""
MAPS = ("workload=app", "sm_mhz=sm", "mem_mhz=mem", "time_ms=ms", "power_w=watts")


@pytest.fixture(autouse=True)
def _in_a_folder_with_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    Path("table.csv").write_text(TABLE)
    Path("performance.csv").write_text("MHz,1000,1500\na,0.8,1\n")
    Path("power.csv").write_text("MHz,1000,1500\na,60,100\n")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def import_table(*more: str, maps: tuple[str, ...] = MAPS, out: str = "out.parquet") -> Result:
    mapped = [word for item in maps for word in ("--map", item)]
    return run("import", "table", "table.csv", "--gpu", "GPU 1", *mapped, "-o", out, *more)


def import_curves(*more: str) -> Result:
    files = ("--performance", "performance.csv", "--power", "power.csv")
    return run("import", "curves", *files, "--gpu", "V100", "--mem-mhz", "877", "-o", "out.parquet", *more)


def test_a_table_becomes_a_sweep_file() -> None:
    result = import_table()

    assert result.exit_code == 0
    assert read_sweeps(Path("out.parquet")).workloads == ("[red]x", "y")
    assert "2, 2 clock pairs each" in result.stdout


def test_what_is_left_out_is_said_on_stderr() -> None:
    result = import_table()

    assert "left out column 'note'" in result.stderr
    assert "left out" not in result.stdout


def test_curves_become_a_sweep_file() -> None:
    result = import_curves("--reference", "1000,877")

    assert result.exit_code == 0
    assert read_sweeps(Path("out.parquet")).sweeps[0].reference == ClockPair(1000, 877)


@pytest.mark.parametrize("run_import", [import_table, import_curves])
def test_json_is_the_only_thing_on_stdout(run_import: Callable[..., Result]) -> None:
    document = json.loads(run_import("--json").stdout)

    assert document["max_slowdown"] == 0.05
    assert document["provenance"]["is_simulated"] is False


@pytest.mark.parametrize("run_import", [import_table, import_curves])
def test_a_file_that_exists_is_overwritten_by_force_alone(run_import: Callable[..., Result]) -> None:
    Path("out.parquet").write_text("mine")

    assert isinstance(run_import().exception, UsageError)
    assert Path("out.parquet").read_text() == "mine"
    assert run_import("--force").exit_code == 0


def test_counters_can_be_chosen_and_columns_ignored() -> None:
    assert import_table("--counter", "busy", out="one.parquet").exit_code == 0
    assert import_table("--ignore", "busy", out="none.parquet").exit_code == 0

    assert read_sweeps(Path("one.parquet")).sweeps[0].counter_names == ("busy",)
    assert read_sweeps(Path("none.parquet")).sweeps[0].counter_names == ()


def test_an_incomplete_workload_is_dropped_and_named() -> None:
    Path("table.csv").write_text(TABLE.replace("4.1", ""))

    assert isinstance(import_table().exception, TraceError)
    result = import_table("--drop-incomplete")
    assert "dropped workload 'y': table.csv, line 4, column 'ms'" in result.stderr
    assert read_sweeps(Path("out.parquet")).workloads == ("[red]x",)


def test_a_memory_clock_can_stand_for_all_rows() -> None:
    result = import_table("--mem-mhz", "877", "--ignore", "mem", maps=tuple(m for m in MAPS if "mem" not in m))

    assert result.exit_code == 0
    assert read_sweeps(Path("out.parquet")).sweeps[0].clocks.mem_clocks == (877,)


@pytest.mark.parametrize(
    ("maps", "complaint"),
    [
        ((*MAPS, "busy"), "is not KEY=COLUMN"),
        ((*MAPS, "sm_mhz=mem"), "--map sm_mhz is given twice"),
    ],
)
def test_a_malformed_map_is_refused(maps: tuple[str, ...], complaint: str) -> None:
    error = import_table(maps=maps).exception

    assert isinstance(error, UsageError)
    assert complaint in str(error)


def test_an_unknown_column_names_the_nearest() -> None:
    error = import_table("--ignore", "bussy").exception

    assert isinstance(error, UnknownNameError)
    assert "did you mean busy?" in str(error)


def test_a_malformed_reference_is_refused() -> None:
    error = import_curves("--reference", "1000").exception

    assert isinstance(error, UsageError)
    assert "SM,MEM" in str(error)


def test_info_shows_what_a_file_holds() -> None:
    import_table("--reference", "1000,5000")

    shown = run("info", "out.parquet").stdout

    for words in (
        "GPU 1 (measured)",
        "1000..1500 MHz",
        "1000/5000 MHz",
        "1: busy",
        "table.csv",
        "[red]x",
        "count as well",
    ):
        assert words in shown


def test_info_as_json_gives_the_best_pair_of_each_workload() -> None:
    import_table()

    document = json.loads(run("info", "out.parquet", "--json").stdout)

    y = document["workloads"][1]
    assert y["best"] == {"sm_mhz": 1000, "mem_mhz": 5000}
    assert y["best_saving"] == pytest.approx(1 - 4.1 * 40 / 400)
    assert y["best_slowdown"] == pytest.approx(0.025)


def test_info_takes_another_limit() -> None:
    import_table()

    document = json.loads(run("info", "out.parquet", "--json", "--max-slowdown", "0.01").stdout)

    assert document["workloads"][1]["best_saving"] == 0.0


def test_info_says_when_sweeps_are_simulated(sweep_file: Path) -> None:
    sweeps = read_sweeps(sweep_file)
    simulated = replace(sweeps, provenance=replace(sweeps.provenance, is_simulated=True))
    write_sweeps(Path("simulated.parquet"), simulated)

    assert "SIMULATED" in run("info", "simulated.parquet").stdout
    assert "SIMULATED" not in run("info", str(sweep_file)).stdout


def test_info_on_a_missing_file_is_a_trace_error() -> None:
    assert isinstance(run("info", "nope.parquet").exception, TraceError)


@pytest.mark.parametrize("command", [(), ("import",), ("import", "curves"), ("import", "table"), ("info",)])
def test_every_command_has_help(command: tuple[str, ...]) -> None:
    result = run(*command, "--help")

    assert result.exit_code == 0
    assert "Usage" in result.stdout
