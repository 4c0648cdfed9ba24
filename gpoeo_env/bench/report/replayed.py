"""Episodes of a folder of results, run again to be shown window by window.

A row holds all that is needed for that. Whether the episode came to the same as the row says is told beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpoeo_env.bench.report.standings import BlockResults, Standings
from gpoeo_env.bench.result import EpisodeResult, result_of
from gpoeo_env.bench.store import Row
from gpoeo_env.device.base import lessons_of
from gpoeo_env.env.control import ControlLoop
from gpoeo_env.errors import GpoeoError
from gpoeo_env.policy import Step, UsesTruth, build_policy
from gpoeo_env.runner.episode import run_episode

__all__ = ["Replayed", "replay_workload"]


@dataclass(frozen=True, slots=True)
class Replayed:
    """One episode, as it ran now.

    Attributes:
        policy, seed, workload: which.
        steps: every window.
        is_same: it came to what the row says; where it did not, code or data have changed since.
        failure: why it could not run; empty = it did.
    """

    policy: str
    seed: int
    workload: str
    steps: tuple[Step, ...]
    is_same: bool
    failure: str = ""


def replay_workload(block: BlockResults, standings: Standings, workload: str, folder: Path) -> Iterator[Replayed]:
    """Run every policy on one workload under its first seed, the first of the ranking first and bounds last.

    Args:
        block: the results.
        standings: who ranks where.
        workload: which.
        folder: where the data are.
    """
    firsts: dict[str, Row] = {}
    for row in block.rows:
        if row.case.workload == workload:
            firsts.setdefault(row.case.policy, row)
    for standing in sorted(standings.policies.values(), key=lambda each: each.rank or len(firsts) + 1):
        yield _replayed(firsts[standing.policy], folder)


def _replayed(row: Row, folder: Path) -> Replayed:
    case = row.case
    try:
        steps, result = _run(row, folder)
    except (GpoeoError, OSError) as error:  # a policy that is not installed here, data that have moved
        return Replayed(case.policy, case.seed, case.workload, (), is_same=False, failure=str(error))
    return Replayed(case.policy, case.seed, case.workload, steps, is_same=result == row.result)


def _run(row: Row, folder: Path) -> tuple[tuple[Step, ...], EpisodeResult]:
    case = row.case
    with ControlLoop(case.place.arena(folder)(), case.settings()) as loop:
        policy = build_policy(case.policy, sweeps=lessons_of(loop.device, case.workload))
        episode = run_episode(loop, policy, seed=case.seed, workload=case.workload)
        return episode.steps, result_of(episode, loop, case.policy, is_bound=isinstance(policy, UsesTruth))
