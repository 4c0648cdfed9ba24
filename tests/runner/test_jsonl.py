"""The log of an episode."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.device.replay import ReplayDevice
from gpoeo_env.env.control import ControlLoop, ControlSettings
from gpoeo_env.errors import ArtefactError, UnknownNameError, UsageError
from gpoeo_env.objective import Objective
from gpoeo_env.policy import Decision, PolicyContext, Purpose, Step, build_policy
from gpoeo_env.records import Features
from gpoeo_env.runner.episode import Episode, run_episode
from gpoeo_env.runner.jsonl import JsonlLog, plain
from gpoeo_env.trace.sweep import Provenance, Sweep, SweepSet


def a_loop() -> ControlLoop:
    clocks = ClockTable.from_product(sm_mhz=(1000, 1500), mem_mhz=(5000,))
    sweep = Sweep(
        "a workload",
        clocks,
        ClockPair(1500, 5000),
        np.array([1.1, 1.0]),
        np.array([80.0, 100.0]),
        ("sm_active",),
        np.array([[math.nan], [0.9]]),
    )
    provenance = Provenance("made for a test", "2026-01-01T00:00:00Z", "test", is_simulated=True, is_relative=True)
    return ControlLoop(ReplayDevice(SweepSet("a gpu", (sweep,), provenance)), ControlSettings(budget_s=60.0))


def logged(path: Path, policy: str = "fixed:sm_mhz=1000") -> Episode:
    log = JsonlLog(path, {"device": "replay", "note": Path("a/path")})
    with a_loop() as loop:
        return run_episode(loop, build_policy(policy), seed=3, workload="a workload", observers=(log,))


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_first_line_says_what_was_run(tmp_path: Path) -> None:
    logged(tmp_path / "a.jsonl")

    head = lines_of(tmp_path / "a.jsonl")[0]
    assert head["type"] == "episode"
    assert (head["workload"], head["seed"], head["objective"], head["limit"]) == ("a workload", 3, "energy", 0.05)
    assert head["default_pair"] == {"sm_mhz": 1500, "mem_mhz": 5000}
    assert (head["device"], head["note"]) == ("replay", "a/path")


def test_every_window_has_its_line(tmp_path: Path) -> None:
    episode = logged(tmp_path / "a.jsonl")

    steps = lines_of(tmp_path / "a.jsonl")[1:]
    assert [line["type"] for line in steps] == ["step"] * len(episode.steps)
    assert [line["index"] for line in steps] == list(range(len(episode.steps)))
    assert [line["totals"]["joules"] for line in steps] == [step.totals.joules for step in episode.steps]
    assert steps[0]["decision"]["purpose"] == "reference"
    assert steps[-1]["pair"] == {"sm_mhz": 1000, "mem_mhz": 5000}


def test_a_missing_number_is_null(tmp_path: Path) -> None:
    logged(tmp_path / "a.jsonl")

    last = lines_of(tmp_path / "a.jsonl")[-1]
    assert last["measurement"]["features"]["sm_active"] is None
    assert "NaN" not in (tmp_path / "a.jsonl").read_text()


def test_folders_are_made(tmp_path: Path) -> None:
    logged(tmp_path / "new" / "deep" / "a.jsonl")

    assert lines_of(tmp_path / "new" / "deep" / "a.jsonl")


def test_a_log_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("mine")

    with pytest.raises(UsageError, match="exists already"):
        logged(tmp_path / "a.jsonl")
    assert (tmp_path / "a.jsonl").read_text() == "mine"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ArtefactError, match=r"cannot write the log .*file/a\.jsonl"):
        logged(tmp_path / "file" / "a.jsonl")


def test_an_episode_that_never_starts_leaves_no_log(tmp_path: Path) -> None:
    log = JsonlLog(tmp_path / "a.jsonl", {})

    with a_loop() as loop, pytest.raises(UnknownNameError):
        run_episode(loop, build_policy("default"), seed=0, workload="another", observers=(log,))
    assert list(tmp_path.iterdir()) == []


class StopsAtThree:
    """Is interrupted when it sees its fourth window."""

    def reset(self, context: PolicyContext) -> None:
        """Nothing to prepare."""

    def act(self, step: Step) -> Decision:
        if step.index == 3:
            raise KeyboardInterrupt
        return Decision(1)


def test_an_interrupted_run_leaves_all_windows_up_to_its_end(tmp_path: Path) -> None:
    log = JsonlLog(tmp_path / "a.jsonl", {})

    with a_loop() as loop, pytest.raises(KeyboardInterrupt):
        run_episode(loop, StopsAtThree(), seed=0, observers=(log,))
    assert [line.get("index") for line in lines_of(tmp_path / "a.jsonl")] == [None, 0, 1, 2, 3]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (math.inf, None),
        (np.float64(0.5), 0.5),
        (np.array([1.0, math.nan]), [1.0, None]),
        (Features.of({"a": 1.0, "b": math.nan}), {"a": 1.0, "b": None}),
        (Objective.ED2P, "ed2p"),
        (Purpose.HOLD, "hold"),
        (ClockPair(1000, 5000), {"sm_mhz": 1000, "mem_mhz": 5000}),
        ({"x": (True, None, "text")}, {"x": [True, None, "text"]}),
    ],
)
def test_records_become_plain_json(value: object, expected: object) -> None:
    assert plain(value) == expected
    json.dumps(plain(value), allow_nan=False)
