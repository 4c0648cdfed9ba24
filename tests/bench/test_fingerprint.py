"""A result goes stale with the code and the files that it depends on, and with nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gpoeo_env.bench import fingerprint
from gpoeo_env.bench.case import Case, Place
from gpoeo_env.bench.fingerprint import digest_of
from gpoeo_env.objective import Objective

CASE = Case(
    place=Place(device="sim:rtx3080ti"),
    workload="resnet50",
    policy="default",
    seed=0,
    objective=Objective.ENERGY,
    limit=0.05,
    window_s=10.0,
    budget_s=600.0,
)


def digest(policy: str, folder: Path) -> str:
    for cached in (fingerprint._digest, fingerprint._code, fingerprint._module_of):
        cached.cache_clear()
    return digest_of(CASE.model_copy(update={"policy": policy}), folder)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "stranger"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "mine.py").write_text("from stranger.helper import help_me\n")
    (folder / "helper.py").write_text("def help_me(): ...\n")
    (folder / "beside.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return folder


def test_a_policys_rows_go_stale_with_what_it_imports(package: Path, tmp_path: Path) -> None:
    before, other = digest("stranger.mine:Mine", tmp_path), digest("default", tmp_path)
    (package / "beside.py").write_text("changed = True\n")
    assert digest("stranger.mine:Mine", tmp_path) == before
    (package / "helper.py").write_text("def help_me(): return 1\n")
    assert digest("stranger.mine:Mine", tmp_path) != before
    assert digest("default", tmp_path) == other


def test_the_simulator_takes_part_and_the_command_line_does_not() -> None:
    files = {
        file.as_posix().rpartition("gpoeo_env/")[2]
        for file in fingerprint._code((fingerprint.CORE, "gpoeo_env.device.analytic"))
    }
    assert "env/control.py" in files
    assert any(name.startswith("sim/physics/") for name in files)
    assert not any(name.startswith(("cli/", "testing/")) for name in files)


def test_files_that_a_spec_names_count(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "trees.txt").write_text("a")
    spec = f"gpoeo,model={model}"
    before = digest(spec, tmp_path)
    (model / "trees.txt").write_text("b")
    assert digest(spec, tmp_path) != before
