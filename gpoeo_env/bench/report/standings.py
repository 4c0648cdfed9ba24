"""The figures behind the page: who saved what, at what cost, and how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.bench.aggregates import (
    Interval,
    interquartile_mean,
    interval,
    performance_profile,
    probability_of_improvement,
    scores_of,
)
from gpoeo_env.bench.config import BenchConfig, EpisodesBlock
from gpoeo_env.bench.result import EpisodeResult
from gpoeo_env.bench.stats import Summary, summarise
from gpoeo_env.bench.store import Block, Manifest, Row, load_manifest, read_rows
from gpoeo_env.config import validated
from gpoeo_env.errors import ArtefactError
from gpoeo_env.objective import Score
from gpoeo_env.records import Ratios

__all__ = [
    "BlockResults",
    "RIVAL",
    "Results",
    "Standing",
    "Standings",
    "load_results",
    "median_workload",
    "standings_of",
]

Floats = NDArray[np.float64]
RIVAL = "gpoeo"
"""Every policy is compared with this one, where it ran."""


@dataclass(frozen=True, slots=True)
class BlockResults:
    """One set of episodes as far as it was run.

    Attributes:
        block: as the manifest describes it.
        asked: as the configuration does.
        rows: of the workloads that every policy has met under every seed; shown.
        n_done, n_wanted: episodes.
    """

    block: Block
    asked: EpisodesBlock
    rows: tuple[Row, ...]
    n_done: int
    n_wanted: int

    @property
    def results(self) -> list[EpisodeResult]:
        """What the rows came to."""
        return [row.result for row in self.rows]


@dataclass(frozen=True, slots=True)
class Results:
    """A folder of results.

    Attributes:
        folder: where it is.
        manifest: what it is about.
        blocks: every set of episodes that has something to show.
    """

    folder: Path
    manifest: Manifest
    blocks: tuple[BlockResults, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """One policy among the others.

    Attributes:
        policy: its spec.
        rank: from 1; None for a bound.
        is_within: whole runs keep the limit on average.
        summary: all its results.
        saved: mean share of energy saved by whole runs.
        middle: its interquartile mean.
        slower: mean slowdown of whole runs.
        better: probability that a run of its beats one of the rival's; None for the rival, and where it did not run.
    """

    policy: str
    rank: int | None
    is_within: bool
    summary: Summary
    saved: Interval
    middle: Interval
    slower: Interval
    better: Interval | None


@dataclass(frozen=True, slots=True)
class Standings:
    """All policies of a block, bounds first, then by rank.

    Attributes:
        policies: by name.
        workloads: in the order of the rows.
        saved, slower: of whole runs, float64, shape (workloads, seeds), by policy.
        held_slower: noise-free slowdown of the pair finally held, likewise.
        breaks: whether the whole run broke the limit, likewise, 0 or 1.
    """

    policies: Mapping[str, Standing]
    workloads: tuple[str, ...]
    saved: Mapping[str, Floats]
    slower: Mapping[str, Floats]
    held_slower: Mapping[str, Floats]
    breaks: Mapping[str, Floats]

    def profile(self, policy: str, thresholds: Floats) -> Floats:
        """Return the share of runs that save more than each threshold."""
        return performance_profile(self.saved[policy], thresholds)

    def pareto(self) -> list[Standing]:
        """Return the policies that no other one beats in both energy and time, bounds apart, fastest first."""
        rivals = [standing for standing in self.policies.values() if standing.rank is not None]
        front: list[Standing] = []
        for standing in sorted(rivals, key=lambda each: (each.slower.value, -each.saved.value)):
            if not front or standing.saved.value > front[-1].saved.value:
                front.append(standing)
        return front


def load_results(folder: Path) -> Results:
    """Read a folder of results.

    Raises:
        ArtefactError: it is none, it is damaged, or nothing in it is complete enough to compare policies.
    """
    manifest, rows = load_manifest(folder), read_rows(folder)
    config = validated(BenchConfig, manifest.config, f"{folder / 'manifest.json'}")
    asked = {block.name: block for block in config.episodes}
    blocks = [_results_of(block, asked[block.name], rows) for block in manifest.blocks]
    with_rows = tuple(block for block in blocks if block.rows)
    if not with_rows:
        done, wanted = sum(block.n_done for block in blocks), sum(block.n_wanted for block in blocks)
        raise ArtefactError(
            f"{folder} has {done} of {wanted} episodes, and no workload that every policy has met under every seed; "
            "the same `gpoeo bench` command goes on"
        )
    return Results(folder, manifest, with_rows)


def standings_of(block: BlockResults) -> Standings:
    """Compute all figures of a block; takes a tenth of a second a policy."""
    results = block.results
    saved = scores_of(results, lambda result: result.run_saving)
    slower = scores_of(results, lambda result: result.run_slowdown)
    summaries = summarise(results)
    ranks = _ranked(summaries, block.asked)
    return Standings(
        policies={policy: _standing(policy, rank, summaries, saved, slower) for policy, rank in ranks},
        workloads=tuple(dict.fromkeys(result.workload for result in results)),
        saved=saved,
        slower=slower,
        held_slower=scores_of(results, lambda result: result.slowdown),
        breaks=scores_of(results, lambda result: float(result.run_excess > 0)),
    )


def _results_of(block: Block, asked: EpisodesBlock, rows: Mapping[str, Row]) -> BlockResults:
    done = [rows[key] for key in block.keys if key in rows]
    met = Counter(row.case.workload for row in done)
    complete = tuple(row for row in done if met[row.case.workload] == len(asked.policy) * asked.seeds)
    return BlockResults(block, asked, complete, len(done), len(block.keys))


def _ranked(summaries: Mapping[str, Summary], asked: EpisodesBlock) -> list[tuple[str, tuple[int | None, bool]]]:
    """Order policies as the objective orders the means of their whole runs: who breaks the limit comes last."""

    def score(policy: str) -> Score:
        row = summaries[policy]
        return asked.objective.score(Ratios(1 + row.mean_run_slowdown, 1 - row.mean_run_saving), asked.limit)

    bounds = [policy for policy, row in summaries.items() if row.is_bound]
    rivals = sorted((policy for policy in summaries if policy not in bounds), key=score)
    placed: list[tuple[str, int | None]] = [(policy, None) for policy in bounds]
    placed += [(policy, rank) for rank, policy in enumerate(rivals, start=1)]
    return [(policy, (rank, score(policy).violation == 0.0)) for policy, rank in placed]


def _standing(
    policy: str,
    rank: tuple[int | None, bool],
    summaries: Mapping[str, Summary],
    saved: Mapping[str, Floats],
    slower: Mapping[str, Floats],
) -> Standing:
    is_compared = RIVAL in saved and policy != RIVAL
    return Standing(
        policy=policy,
        rank=rank[0],
        is_within=rank[1],
        summary=summaries[policy],
        saved=interval(saved[policy]),
        middle=interval(saved[policy], interquartile_mean),
        slower=interval(slower[policy]),
        better=probability_of_improvement(saved[policy], saved[RIVAL]) if is_compared else None,
    )


def median_workload(standings: Standings) -> str:
    """Return the workload on which the first of the ranking saves its median: neither its best nor its worst."""
    first = next((name for name, each in standings.policies.items() if each.rank == 1), next(iter(standings.policies)))
    means: Sequence[float] = standings.saved[first].mean(axis=1).tolist()
    order = sorted(range(len(means)), key=means.__getitem__)
    return standings.workloads[order[(len(order) - 1) // 2]]
