"""Policies on recorded sweeps, scored against what the recording says exactly.

plan = ReplayPlan(policies=("gpoeo", "oracle"), limit=0.05, noise=0.01, n_seeds=10)
results = list(replay(plan, read_sweeps("v100.sweep.parquet"), jobs=2))
summarise(results)["gpoeo"].oracle_ratio
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gpoeo_env.bench.episodes import run_episodes
from gpoeo_env.bench.plan import ReplayPlan
from gpoeo_env.bench.result import EpisodeResult
from gpoeo_env.device.replay import ReplayDevice
from gpoeo_env.trace.sweep import SweepSet

__all__ = ["replay"]


def replay(plan: ReplayPlan, sweeps: SweepSet, jobs: int = 1) -> Iterator[EpisodeResult]:
    """Run every episode of a plan on a recording; see `run_episodes`.

    Raises:
        GpoeoError: as `run_episodes`, and whatever the plan finds wrong with the sweeps.
    """
    arena = partial(ReplayDevice, sweeps, noise=plan.noise)
    yield from run_episodes(plan.episodes(), arena, plan.chosen_workloads(sweeps), jobs)
