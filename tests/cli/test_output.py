from __future__ import annotations

import json
import math
from dataclasses import dataclass

import pytest

from gpoeo_env.cli.output import print_json, progress_bar, stderr, stdout


@dataclass(frozen=True)
class Row:
    name: str
    saving: float


def test_json_is_one_document_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"results": [Row("resnet50", 0.25), Row("größer", math.nan)]})
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {
        "results": [{"name": "resnet50", "saving": 0.25}, {"name": "größer", "saving": None}]
    }
    assert captured.err == ""


def test_results_and_messages_go_their_own_ways(capsys: pytest.CaptureFixture[str]) -> None:
    stdout().print("result")
    stderr().print("message")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("result\n", "message\n")


def test_progress_is_silent_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("working", 3) as advance:
        for _ in range(3):
            advance()
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_progress_is_shown_on_stderr_of_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress_bar("working", 2) as advance:
        advance()
        advance()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "working" in captured.err
    assert "2/2" in captured.err
