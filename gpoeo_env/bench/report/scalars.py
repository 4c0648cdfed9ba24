"""The figures of the page as TensorBoard scalars: one run a policy, so that TensorBoard lays them over each other."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np

from gpoeo_env.bench.aggregates import Interval
from gpoeo_env.bench.report.replayed import Replayed
from gpoeo_env.bench.report.standings import BlockResults, Standing, Standings
from gpoeo_env.runner.scalars import scalars_of
from gpoeo_env.runner.tensorboard import ScalarLog

__all__ = ["write_scalars"]

Scalar = tuple[str, float, int]
"""A tag, a value and its place on the axis."""
N_THRESHOLDS = 101


def write_scalars(block: BlockResults, standings: Standings, episodes: Sequence[Replayed], folder: Path) -> None:
    """Write the figures of a block, a folder a policy.

    ``mean/`` and ``ranking/`` hold one value, ``workload/`` one a workload in their order, ``profile/`` one a per cent
    of energy saved, ``window/`` and the like one a window of the episode that the page shows.

    Raises:
        InstallationError: TensorBoard is not installed.
        OSError: a file cannot be made.
    """
    steps = {episode.policy: episode for episode in episodes}
    for policy, standing in standings.policies.items():
        log = ScalarLog(folder / _slug(block.block.name) / _slug(policy))
        try:
            for tag, value, place in _scalars(standing, standings, steps.get(policy)):
                if math.isfinite(value):
                    log.add(tag, value, place)
        finally:
            log.close()


def _scalars(standing: Standing, standings: Standings, episode: Replayed | None) -> Iterator[Scalar]:
    for part in fields(standing.summary):
        yield f"mean/{part.name}", float(getattr(standing.summary, part.name)), 0
    for part in fields(standing):
        value = getattr(standing, part.name)
        if isinstance(value, Interval):
            yield from ((f"ranking/{part.name}_{end.name}", getattr(value, end.name), 0) for end in fields(value))
    for name, scores in (("saved", standings.saved), ("slower", standings.slower)):
        for place, value in enumerate(scores[standing.policy].mean(axis=1).tolist()):
            yield f"workload/{name}", value, place
    thresholds = np.linspace(0.0, 1.0, N_THRESHOLDS)
    for place, share in enumerate(standings.profile(standing.policy, thresholds).tolist()):
        yield "profile/share_that_saves_more", share, place
    for step in episode.steps if episode else ():
        for tag, number in scalars_of(step).items():
            yield f"episode/{tag}", number, step.index


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._=-]+", "-", text).strip("-")[:60]
