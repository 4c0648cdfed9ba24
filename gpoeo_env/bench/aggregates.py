"""Figures with their uncertainty, and comparisons of two policies, as Agarwal et al. recommend (NeurIPS 2021).

Scores are arrays of shape (workloads, seeds): the workloads are the strata of the bootstrap, which draws seeds within
each of them. With one seed there is nothing to draw within a workload, and workloads are drawn instead: the interval is
then about other workloads of the same kind, and is wider.

    scores = scores_of(results, lambda result: result.run_saving)
    interval(scores["gpoeo"], interquartile_mean)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.bench.result import EpisodeResult
from gpoeo_env.errors import ConfigError

__all__ = [
    "Interval",
    "interquartile_mean",
    "interval",
    "mean",
    "paired_interval",
    "performance_profile",
    "probability_of_improvement",
    "scores_of",
]

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
"""From scores of shape (..., workloads, seeds) to an array of shape (...)."""
DRAWS, LEVEL = 2000, 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure, and where it lies with 95 % confidence (percentile bootstrap).

    Attributes:
        value: of the scores themselves.
        low, high: bounds.
    """

    value: float
    low: float
    high: float


def scores_of(results: Iterable[EpisodeResult], score: Callable[[EpisodeResult], float]) -> dict[str, Floats]:
    """Return scores by policy, float64 of shape (workloads, seeds), workloads and seeds in the order of the results.

    Raises:
        ConfigError: a policy has not met every workload equally often.
    """
    gathered: dict[str, dict[str, list[float]]] = {}
    for result in results:
        gathered.setdefault(result.policy, {}).setdefault(result.workload, []).append(score(result))
    for policy, by_workload in gathered.items():
        if len({len(row) for row in by_workload.values()}) > 1:
            raise ConfigError(f"{policy} ran under more seeds on some workloads than on others; finish the benchmark")
    return {policy: np.array(list(rows.values()), dtype=np.float64) for policy, rows in gathered.items()}


def mean(scores: Floats) -> Floats:
    """Return the mean over workloads and seeds."""
    return np.asarray(scores.mean(axis=(-2, -1)))


def interquartile_mean(scores: Floats) -> Floats:
    """Return the mean of the middle half over workloads and seeds: less moved by outliers than the mean."""
    flat = np.sort(scores.reshape(*scores.shape[:-2], -1), axis=-1)
    cut = flat.shape[-1] // 4
    return np.asarray(flat[..., cut : flat.shape[-1] - cut].mean(axis=-1))


def interval(scores: Floats, statistic: Statistic = mean, draws: int = DRAWS) -> Interval:
    """Return a statistic of some scores with its stratified-bootstrap interval.

    Args:
        scores: shape (workloads, seeds).
        statistic: `mean` or `interquartile_mean`.
        draws: of the bootstrap; always the same ones, so that a figure is the same in every report.
    """
    return _between(float(statistic(scores)), [float(statistic(scores[rows])) for rows in _draws(scores.shape, draws)])


def paired_interval(ours: Floats, theirs: Floats, draws: int = DRAWS) -> Interval:
    """Return the mean difference of two sets of scores, ours - theirs, of the same workloads and seeds.

    Raises:
        ConfigError: the shapes differ.
    """
    _check_alike(ours, theirs)
    return interval(ours - theirs, mean, draws)


def probability_of_improvement(ours: Floats, theirs: Floats, draws: int = DRAWS) -> Interval:
    """Return how likely a run of ours scores higher than one of theirs on a workload drawn at random; a tie is half.

    This is the Mann-Whitney U statistic per workload, averaged over the workloads.

    Args:
        ours: shape (workloads, seeds).
        theirs: the same workloads and seeds in the same order.
        draws: of the bootstrap.

    Raises:
        ConfigError: the shapes differ.
    """
    _check_alike(ours, theirs)
    other = 1 if ours.shape[1] > 1 else 0  # seeds are drawn on either side, workloads for both together
    drawn = [
        _share_better(ours[our_rows], theirs[their_rows])
        for our_rows, their_rows in zip(_draws(ours.shape, draws), _draws(ours.shape, draws, other), strict=True)
    ]
    return _between(_share_better(ours, theirs), drawn)


def performance_profile(scores: Floats, thresholds: Sequence[float] | Floats) -> Floats:
    """Return the share of runs that score above each threshold, shape (thresholds,)."""
    return np.asarray((scores.reshape(-1, 1) > np.asarray(thresholds, dtype=np.float64)).mean(axis=0))


def _share_better(ours: Floats, theirs: Floats) -> float:
    difference = ours[:, :, None] - theirs[:, None, :]
    return float(((difference > 0) + 0.5 * (difference == 0)).mean())


def _check_alike(ours: Floats, theirs: Floats) -> None:
    if ours.shape != theirs.shape:
        raise ConfigError(f"scores to compare are of the same workloads and seeds; got {ours.shape} and {theirs.shape}")


def _draws(shape: tuple[int, ...], draws: int, seed: int = 0) -> Iterable[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield indices of resampled scores: seeds within each workload; workloads where there is one seed."""
    rng = np.random.default_rng(seed)
    n_workloads, n_seeds = shape
    rows, columns = np.indices(shape)
    for _ in range(draws):
        if n_seeds > 1:
            yield rows, rng.integers(n_seeds, size=shape)
        else:
            yield rng.integers(n_workloads, size=shape), columns


def _between(value: float, drawn: Sequence[float]) -> Interval:
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(value, float(low), float(high))
