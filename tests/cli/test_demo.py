"""`gpoeo demo`: the tables, the chart and the document."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from gpoeo_env.cli.demo import demo
from gpoeo_env.errors import ConfigError, UnknownNameError, UsageError

Gpoeo = Callable[..., "subprocess.CompletedProcess[str]"]


def call(*arguments: str) -> Result:
    app = typer.Typer()
    app.command()(demo)
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, list(arguments))


@pytest.fixture(scope="module")
def printed() -> str:
    return call("--policy", "default", "--policy", "oracle").stdout


def test_the_first_word_is_simulated(printed: str) -> None:
    assert printed.startswith("SIMULATED: a model of the NVIDIA GeForce RTX 3080 Ti; no GPU was measured.")


def test_it_fits_a_terminal_of_80_columns(printed: str) -> None:
    assert max(len(line) for line in printed.splitlines()) <= 80


def test_every_workload_has_a_row_for_each_policy(printed: str) -> None:
    table = printed[printed.index("By workload") : printed.index("By policy")]

    assert table.count(" default ") == table.count("oracle (bound)") >= 6
    for workload in ("resnet50", "bert-base", "dlrm"):
        assert workload in table


def test_a_bound_and_released_clocks_are_explained(printed: str) -> None:
    assert "(bound): was told the truth" in printed
    assert "* clocks released to the driver." in printed


def test_the_chart_names_its_marks_and_the_limit(printed: str) -> None:
    chart = printed[printed.index("Energy saved (up)") :]

    assert "d default   o oracle (bound)" in chart
    assert "limit 5 %" in chart


def test_policies_that_begin_alike_have_different_marks() -> None:
    chart = call("--policy", "fixed:sm_mhz=1410", "--policy", "fixed:sm_mhz=1500").stdout

    assert "f fixed:sm_mhz=1410   i fixed:sm_mhz=1500" in chart


def test_a_held_pair_over_the_limit_is_marked() -> None:
    printed = call("--policy", "fixed:sm_mhz=1410").stdout

    assert "%!" in printed
    assert "! the held pair is slower than the limit allows." in printed


def test_json_is_marked_as_simulated() -> None:
    result = call("--policy", "oracle", "--max-slowdown", "0.1", "--seed", "3", "--json")

    document: dict[str, Any] = json.loads(result.stdout, parse_constant=pytest.fail)
    assert document["is_simulated"]
    assert (document["device"], document["max_slowdown"]) == ("sim:rtx3080ti", 0.1)
    assert {row["seed"] for row in document["results"]} == {3}
    assert all(0.0 < row["slowdown"] <= 0.1 for row in document["results"])
    assert document["summary"]["oracle"]["oracle_ratio"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("--policy", "orcale"), UnknownNameError, "did you mean oracle"),
        (("--device", "sim:rtx308"), UnknownNameError, "did you mean rtx3080ti"),
        (("--max-slowdown", "5"), ConfigError, "0.05 means 5 %"),
        (("--seed", "-1"), UsageError, "0 or more"),
    ],
)
def test_bad_options_say_what_to_do(arguments: tuple[str, ...], error: type[Exception], message: str) -> None:
    result = call("--policy", "default", *arguments)

    assert isinstance(result.exception, error)
    assert message in str(result.exception)
    assert result.stdout == ""


def test_ctrl_c_prints_a_partial_table_and_exits_with_130(gpoeo: Gpoeo) -> None:
    done = gpoeo("demo", "--policy", "oracle", "--policy", "ctrl_c:here,episode=3")

    assert done.returncode == 130
    assert "SIMULATED" in done.stdout
    assert "PARTIAL: interrupted after 5 of" in done.stdout
    assert "By workload" in done.stdout
    assert "Traceback" not in done.stderr
