"""A small sweep file, a way to call a command, and policies that press Ctrl-C."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.trace.store import write_sweeps
from gpoeo_env.trace.sweep import Provenance, Sweep, SweepSet

Gpoeo = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def sweep_file(tmp_path: Path) -> Path:
    """Best pairs at 5 %: 1200/5000 MHz for "compute" (saves 20 %), 900/5000 for "memory" (saves 30 %)."""
    clocks = ClockTable.from_product(sm_mhz=(900, 1200, 1500), mem_mhz=(5000,))
    curves = {"compute": ([1.4, 1.04, 1.0], [140, 160, 200]), "memory": ([1.03, 1.01, 1.0], [140, 160, 200])}
    sweeps = tuple(
        Sweep(name, clocks, ClockPair(1500, 5000), np.array(s), np.array(j, dtype=float), (), np.empty((3, 0)))
        for name, (s, j) in curves.items()
    )
    provenance = Provenance("made for a test", "2026-01-01T00:00:00Z", "test", is_simulated=False, is_relative=True)
    path = tmp_path / "small.sweep.parquet"
    write_sweeps(path, SweepSet("a small gpu", sweeps, provenance))
    return path


CTRL_C = """
import os, signal
from pathlib import Path
from gpoeo_policies.default import DefaultPolicy

class Pressing(DefaultPolicy):
    \"\"\"Presses Ctrl-C in its nth episode, at the third window; of several processes one does.\"\"\"

    def __init__(self, episode, pid):
        self.episodes_left, self.pid = episode, pid

    def reset(self, context):
        self.episodes_left -= 1

    def act(self, step):
        if step.index == 2 and self.episodes_left == 0 and is_first():
            os.kill(self.pid, signal.SIGINT)
        return super().act(step)

def is_first():
    try:
        Path("pressed").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True

def here(config, sweeps=None):
    return Pressing(config["episode"], os.getpid())

def in_parent(config, sweeps=None):
    return Pressing(config["episode"], os.getppid())
"""


@pytest.fixture
def gpoeo(tmp_path: Path) -> Gpoeo:
    """Run the command line in a process of its own, in an empty folder; the module ``ctrl_c`` can be imported."""
    modules, folder = tmp_path / "modules", tmp_path / "folder"
    modules.mkdir()
    folder.mkdir()
    (modules / "ctrl_c.py").write_text(CTRL_C)

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", "from gpoeo_env.cli.main import main; main()", *map(str, arguments)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(modules), "COLUMNS": "100"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run
