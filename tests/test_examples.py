"""The examples do what they say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpoeo_env.policy import build_policy
from gpoeo_env.testing.policies import check_policy

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
GPOEO = [sys.executable, "-c", "from gpoeo_env.cli.main import main; main()"]


def test_a_strangers_policy_keeps_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    check_policy(lambda: build_policy("step_down:StepDown"))


def test_a_strangers_policy_is_benchmarked_with_nothing_else_to_install(tmp_path: Path) -> None:
    file = tmp_path / "bench.toml"
    file.write_text(
        'title = "t"\n[[episodes]]\nname = "e"\ndevice = "sim:v100"\npolicy = ["default"]\nbudget_s = 300.0\n'
    )
    command = [*GPOEO, "bench", str(file), "--policy", "step_down:StepDown,steps=6", "--jobs", "2", "--json"]
    ran = subprocess.run(command, cwd=EXAMPLES, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    summary = json.loads(ran.stdout)["blocks"][0]["summary"]
    assert summary["step_down:StepDown,steps=6"]["mean_run_saving"] > 0.0
