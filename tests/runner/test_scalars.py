"""Curves for TensorBoard, read back with TensorBoard's own reader."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from gpoeo_env.runner.episode import run_episode
from gpoeo_env.runner.scalars import ScalarsOfSteps
from gpoeo_env.runner.tensorboard import ScalarLog
from tests.runner.stage import MIDDLE, Scripted, loop_on_stage

pytest.importorskip("tensorboard")


def read(folder: Path) -> dict[str, list[tuple[int, float]]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # noqa: PLC0415 - optional

    events = EventAccumulator(str(folder))
    events.Reload()
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_a_value_is_read_back(tmp_path: Path) -> None:
    log = ScalarLog(tmp_path / "new")
    log.add("group/name", 1.5, 7)
    log.close()
    log.close()

    assert read(tmp_path / "new") == {"group/name": [(7, 1.5)]}


def test_every_window_is_on_the_curves_and_what_is_unknown_is_not(tmp_path: Path) -> None:
    with loop_on_stage(budget_s=30.0) as loop:
        episode = run_episode(loop, Scripted(MIDDLE), seed=0, observers=[ScalarsOfSteps(tmp_path)])
    curves = read(tmp_path)

    assert [value for _, value in curves["run/saving"]] == pytest.approx([s.totals.saving for s in episode.steps])
    assert curves["clocks/sm_asked_mhz"] == [(step.index, 800.0) for step in episode.steps[1:]]
    assert not any(math.isnan(value) for curve in curves.values() for _, value in curve)
