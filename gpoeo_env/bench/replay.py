"""Policies on recorded sweeps, scored against what the recording says exactly.

plan = ReplayPlan(policies=("gpoeo", "oracle"), limit=0.05, noise=0.01, n_seeds=10)
results = list(replay(plan, read_sweeps("v100.sweep.parquet"), jobs=2))
summarise(results)["gpoeo"].oracle_ratio
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gpoeo_env.bench.batch import batch_of
from gpoeo_env.bench.executors import in_processes
from gpoeo_env.bench.plan import ReplayPlan
from gpoeo_env.bench.result import EpisodeResult
from gpoeo_env.device.replay import ReplayDevice
from gpoeo_env.trace.sweep import SweepSet

__all__ = ["replay"]


def replay(plan: ReplayPlan, sweeps: SweepSet, jobs: int = 1) -> Iterator[EpisodeResult]:
    """Run every episode of a plan on a recording; see `in_processes`.

    Raises:
        GpoeoError: as `in_processes`, whatever a policy raises, and whatever the plan finds wrong with the sweeps.
    """
    arena = partial(ReplayDevice, sweeps, noise=plan.noise)
    episodes = plan.episodes()
    yield from in_processes(jobs)([batch_of(episodes, arena, name) for name in plan.chosen_workloads(sweeps)])
