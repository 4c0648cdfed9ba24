"""The figures behind the page."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpoeo_env.bench.report.replayed import replay_workload
from gpoeo_env.bench.report.standings import BlockResults, Results, load_results, median_workload, standings_of
from gpoeo_env.errors import ArtefactError


def test_rows_read_back_are_those_that_were_written(results: Results) -> None:
    block = results.blocks[0]
    assert (block.n_done, block.n_wanted, len(block.rows)) == (24, 24, 24)
    assert all(row.is_key_right for row in block.rows)


def test_who_breaks_the_limit_ranks_last_however_much_it_saves(results: Results) -> None:
    standings = standings_of(results.blocks[0])
    assert list(standings.policies) == ["oracle", "fixed:sm_mhz=1200", "default", "fixed:sm_mhz=900"]
    assert [each.rank for each in standings.policies.values()] == [None, 1, 2, 3]
    breaker = standings.policies["fixed:sm_mhz=900"]
    assert not breaker.is_within
    assert breaker.saved.value > standings.policies["fixed:sm_mhz=1200"].saved.value


def test_nobody_on_the_pareto_front_is_beaten_in_both(results: Results) -> None:
    standings = standings_of(results.blocks[0])
    front = standings.pareto()
    for member in front:
        assert not any(
            other.saved.value > member.saved.value and other.slower.value < member.slower.value
            for other in standings.policies.values()
            if other.rank is not None
        )
    assert [member.slower.value for member in front] == sorted(member.slower.value for member in front)


def test_policies_are_compared_with_gpoeo_where_it_ran(results: Results) -> None:
    block = results.blocks[0]
    assert all(each.better is None for each in standings_of(block).policies.values())
    standings = standings_of(_called_gpoeo(block, "fixed:sm_mhz=1200"))
    assert standings.policies["gpoeo"].better is None
    better = standings.policies["default"].better
    assert better is not None
    assert better.value == 0.0


def test_the_workload_shown_is_the_median_of_the_first(results: Results) -> None:
    standings = standings_of(results.blocks[0])
    saved = standings.saved["fixed:sm_mhz=1200"].mean(axis=1)
    shown = standings.workloads.index(median_workload(standings))
    assert saved[shown] == np.median(saved)


def test_an_unfinished_benchmark_shows_the_workloads_that_are_done(results_folder: Path, tmp_path: Path) -> None:
    folder = _cut(results_folder, tmp_path, lines=13)
    block = load_results(folder).blocks[0]
    assert (block.n_done, block.n_wanted) == (13, 24)
    assert {row.case.workload for row in block.rows} == {"compute"}


def test_a_benchmark_that_has_just_begun_says_so(results_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match=r"3 of 24 episodes.*goes on"):
        load_results(_cut(results_folder, tmp_path, lines=3))


def test_an_episode_run_again_comes_to_what_its_row_says(results: Results) -> None:
    block, folder = results.blocks[0], Path(results.manifest.folder)
    episodes = list(replay_workload(block, standings_of(block), "memory", folder))
    assert [each.policy for each in episodes] == ["fixed:sm_mhz=1200", "default", "fixed:sm_mhz=900", "oracle"]
    assert all(each.is_same and each.steps for each in episodes)


def test_a_row_that_does_not_repeat_is_told(results: Results) -> None:
    block, folder = results.blocks[0], Path(results.manifest.folder)
    rows = tuple(replace(row, result=replace(row.result, run_saving=0.9)) for row in block.rows)
    episodes = list(replay_workload(replace(block, rows=rows), standings_of(block), "memory", folder))
    assert not any(each.is_same for each in episodes)


def test_a_policy_that_is_not_here_is_told(results: Results) -> None:
    block, folder = results.blocks[0], Path(results.manifest.folder)
    rows = tuple(
        replace(row, case=row.case.model_copy(update={"policy": "absent:Policy"}))
        if row.case.policy == "default"
        else row
        for row in block.rows
    )
    standings = standings_of(block)
    lone = replace(standings, policies={"absent:Policy": standings.policies["default"]})
    lone = replace(lone, policies={name: replace(each, policy=name) for name, each in lone.policies.items()})
    (episode,) = replay_workload(replace(block, rows=rows), lone, "memory", folder)
    assert "absent" in episode.failure
    assert not episode.steps


def _called_gpoeo(block: BlockResults, policy: str) -> BlockResults:
    rows = (
        replace(row, result=replace(row.result, policy="gpoeo")) if row.case.policy == policy else row
        for row in block.rows
    )
    return replace(block, rows=tuple(rows))


def _cut(folder: Path, where: Path, lines: int) -> Path:
    copy = Path(shutil.copytree(folder, where / "cut"))
    rows = (copy / "rows.jsonl").read_text().splitlines(keepends=True)
    (copy / "rows.jsonl").write_text("".join(rows[:lines]))
    assert all(json.loads(row) for row in rows)
    return copy
