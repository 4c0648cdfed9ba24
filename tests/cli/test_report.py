"""`gpoeo report` from outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Gpoeo

CONFIG = """
title = "Two workloads"

[data.small]
kind = "sweep"
file = "small.sweep.parquet"

[[episodes]]
name = "All of it"
data = "small"
policy = ["default", "fixed:sm_mhz=1200"]
budget_s = 100.0
"""


@pytest.fixture
def results(gpoeo: Gpoeo, sweep_file: Path) -> Path:
    folder = sweep_file.parent
    (folder / "bench.toml").write_text(CONFIG)
    ran = gpoeo("bench", str(folder / "bench.toml"), "--data", str(folder), "--jobs", "1", "-o", str(folder / "out"))
    assert ran.returncode == 0, ran.stderr
    return folder / "out"


def test_a_page_and_scalars_are_made_of_results(gpoeo: Gpoeo, results: Path, tmp_path: Path) -> None:
    page, scalars = tmp_path / "new" / "page.html", tmp_path / "scalars"
    made = gpoeo("report", str(results), "-o", str(page), "--tensorboard", str(scalars), "--workload", "memory")
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout.strip() == str(page)
    assert "memory under seed 0" in page.read_text(encoding="utf-8")
    assert len(list((scalars / "All-of-it").iterdir())) == 2


def test_an_unknown_workload_names_the_nearest(gpoeo: Gpoeo, results: Path, tmp_path: Path) -> None:
    made = gpoeo("report", str(results), "-o", str(tmp_path / "page.html"), "--workload", "memry")
    assert made.returncode == 2
    assert "memory" in made.stderr
    assert not (tmp_path / "page.html").exists()


def test_a_folder_without_results_is_told(gpoeo: Gpoeo, tmp_path: Path) -> None:
    made = gpoeo("report", str(tmp_path))
    assert made.returncode == 4
    assert "gpoeo bench -o" in made.stderr
