from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from gpoeo_env import __version__
from gpoeo_env.cli.main import app
from gpoeo_env.registry import plugins

ROOT = Path(__file__).resolve().parents[2]
GPOEO = Path(sys.executable).parent / "gpoeo"


def gpoeo(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command as a user does."""
    return subprocess.run(
        [str(GPOEO), *arguments], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


def commands(of: typer.Typer = app, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return every command and every group of the command line."""
    found = [path]
    for command in of.registered_commands:
        assert command.callback is not None
        found.append((*path, command.name or command.callback.__name__))
    for group in of.registered_groups:
        assert group.typer_instance is not None
        assert group.name is not None
        found += commands(group.typer_instance, (*path, group.name))
    return found


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_every_command_has_help(command: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(app, [*command, "--help"], prog_name="gpoeo")
    assert shown.exit_code == 0
    usage, description, *_ = shown.output.strip().split("\n\n")
    assert usage.startswith(" ".join(["Usage: gpoeo", *command]))
    assert description.strip()[:1].isupper()


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_every_option_has_help(command: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(app, [*command, "--help"], terminal_width=400)
    options = re.findall(r"^  (?:-h, )?(--\S+)(.*)$", shown.output, flags=re.MULTILINE)
    assert options
    assert [name for name, rest in options if not re.search(r"  \S", rest)] == []


@pytest.mark.parametrize("name", ["demo", "run", "replay", "plugins", "trace"])
def test_the_agreed_commands_are_there(name: str) -> None:
    assert any(command[:1] == (name,) for command in commands())


def test_every_command_of_the_readme_exists() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    known = set(commands())
    shown = re.findall(r"^ {4}gpoeo (.+)$", text, flags=re.MULTILINE)
    assert shown
    for line in shown:
        words = tuple(word for word in line.split() if re.fullmatch(r"[a-z]+", word))
        assert any(words[:length] in known for length in (1, 2, 3)), line


@pytest.mark.parametrize("target", ["demo", "test"])
def test_the_readme_names_the_two_make_targets(target: str) -> None:
    assert f"make {target}" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"\n{target}:" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_version_is_that_of_the_distribution() -> None:
    assert gpoeo("--version").stdout == f"gpoeo {__version__}\n"


def test_an_unknown_command_names_the_nearest() -> None:
    done = gpoeo("rpelay")
    assert done.returncode == 2
    assert "Did you mean 'replay'?" in done.stderr


def test_an_error_is_one_line_on_stderr_and_its_exit_code() -> None:
    done = gpoeo("replay", "no_such.sweep.parquet")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (4, "", 1)
    assert done.stderr.startswith("gpoeo: ")
    assert "no_such.sweep.parquet" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (("run", "--device", "sim:rtx3080ti", "--policy", "orcale"), "oracle"),
        (("run", "--device", "sin:rtx3080ti"), "sim"),
        (("run", "--device", "sim:rtx3080t"), "rtx3080ti"),
        (("run", "--device", "sim:rtx3080ti,nois=0.1"), "noise"),
        (("run", "--device", "sim:rtx3080ti", "--workload", "resnet5O"), "resnet50"),
    ],
)
def test_a_wrong_name_exits_with_2_and_names_the_nearest(arguments: tuple[str, ...], nearest: str) -> None:
    done = gpoeo(*arguments)
    assert done.returncode == 2
    assert re.search(rf"did you mean .*\b{nearest}\b", done.stderr)


def test_debug_shows_where_an_error_comes_from() -> None:
    done = gpoeo("replay", "no_such.sweep.parquet", GPOEO_DEBUG="1")
    assert done.stderr.startswith("Traceback")


@pytest.mark.parametrize("arguments", ["plugins", "plugins --json", "--help"])
def test_a_reader_that_goes_away_is_no_news(arguments: str) -> None:
    done = subprocess.run(
        f"set -o pipefail; {GPOEO} {arguments} | true", shell=True, executable="bash", capture_output=True, check=False
    )
    assert (done.stderr, done.returncode) in ((b"", 0), (b"", 1))


def test_plugins_are_listed_with_where_they_come_from() -> None:
    done = gpoeo("plugins")
    assert done.returncode == 0
    for plugin in plugins():
        line = rf"{plugin.name} +{re.escape(plugin.value)} +{plugin.distribution} {re.escape(plugin.version)}"
        assert re.search(line, done.stdout)


def test_plugins_are_listed_for_machines() -> None:
    listed = json.loads(gpoeo("plugins", "--json").stdout)["plugins"]
    assert {
        "group": "gpoeo.policies",
        "name": "default",
        "value": "gpoeo_policies.default:build",
        "distribution": "gpoeo-env",
        "version": __version__,
    } in listed


def test_a_policy_in_the_current_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / "home_made.py").write_text(
        "from gpoeo_env.policy import Decision\n"
        "class Release:\n"
        "    def reset(self, context): ...\n"
        "    def act(self, step): return Decision(0)\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [
            *(str(GPOEO), "run", "--device", "sim:rtx3080ti", "--budget", "60", "--json"),
            *("--policy", "home_made:Release"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
