"""A stretch of a run, iteration by iteration: when each phase runs and what it draws.

Everything cumulative is exact between edges, so a sensor can ask for energy, work or a counter's integral at any time.

    line = timeline(points, workload, action, work=0.0, seconds=10.0, pace=Pace(seed=0))
    line.energy_j(t_s), line.work(t_s)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.sim.closed_form import OperatingPoints
from gpoeo_env.sim.workloads import Workload

__all__ = ["Pace", "Timeline", "joined", "timeline"]

Array = NDArray[np.float64]

BLOCK = 256
"""Iterations whose variations are drawn together: an iteration varies alike whichever window it falls into."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How the iterations of one window differ from the mean one.

    Attributes:
        seed: of the variations from iteration to iteration.
        slowness: factor on every duration.
        power: factor on every power.
    """

    seed: int
    slowness: float = 1.0
    power: float = 1.0


@dataclass(frozen=True, slots=True)
class Timeline:
    """Cumulative curves over some seconds, linear between edges.

    Attributes:
        edge_s: seconds since the start, float64, shape (n,), rising from at most 0.
        joules: energy since the first edge, float64, shape (n,).
        iterations: work done at each edge, float64, shape (n,).
        counter_seconds: integral of each counter since the first edge, float64, shape (n, n_counters).
    """

    edge_s: Array
    joules: Array
    iterations: Array
    counter_seconds: Array

    def energy_j(self, t_s: Array) -> Array:
        """Return the energy since time 0."""
        energy: Array = np.interp(t_s, self.edge_s, self.joules) - np.interp(0.0, self.edge_s, self.joules)
        return energy

    def work(self, t_s: Array) -> Array:
        """Return the iterations done, whole and begun, since the beginning of the run."""
        work: Array = np.interp(t_s, self.edge_s, self.iterations)
        return work

    def counter_seconds_at(self, t_s: Array) -> Array:
        """Return the integral of every counter since the first edge, shape (len(t_s), n_counters); NaN before it."""
        return np.column_stack([np.interp(t_s, self.edge_s, column, left=np.nan) for column in self.counter_seconds.T])

    @property
    def seconds(self) -> float:
        """How long it lasts from time 0."""
        return float(self.edge_s[-1])

    def until_work(self, work: float) -> Timeline:
        """Return the part up to some work."""
        end_s = np.interp(work, self.iterations, self.edge_s)
        kept = self.edge_s < end_s
        return Timeline(
            np.append(self.edge_s[kept], end_s),
            np.append(self.joules[kept], np.interp(end_s, self.edge_s, self.joules)),
            np.append(self.iterations[kept], work),
            np.vstack((self.counter_seconds[kept], self.counter_seconds_at(np.array([end_s])))),
        )


def joined(lines: Sequence[Timeline]) -> Timeline:
    """Return timelines one after the other; each one's time 0 is the end of the one before."""
    whole = lines[0]
    for line in lines[1:]:
        after = line.edge_s > 0
        joules = whole.joules[-1] + line.energy_j(line.edge_s[after])
        counters = line.counter_seconds[after] - line.counter_seconds_at(np.zeros(1))
        whole = Timeline(
            np.append(whole.edge_s, whole.seconds + line.edge_s[after]),
            np.append(whole.joules, joules),
            np.append(whole.iterations, line.iterations[after]),
            np.vstack((whole.counter_seconds, whole.counter_seconds[-1] + counters)),
        )
    return whole


def timeline(
    points: OperatingPoints, workload: Workload, action: int, *, work: float, seconds: float, pace: Pace
) -> Timeline:
    """Lay out the iterations from some work on, for at least some seconds.

    Args:
        points: of the workload.
        workload: how its iterations vary.
        action: what is in force.
        work: iterations done at time 0; the fraction is how far the present one is.
        seconds: how long the timeline must last.
        pace: of this window.
    """
    first = int(work)
    mean_s = float(points.seconds[action]) * pace.slowness
    n = int(seconds / mean_s * 1.2) + 2 * int(points.every.max()) + 8
    durations = _durations(points, workload, action, range(first, first + n), pace)
    while durations.sum() - durations[0].sum() < seconds:
        n *= 2
        durations = _durations(points, workload, action, range(first, first + n), pace)
    flat = durations.ravel()
    edge_s = np.concatenate(([0.0], np.cumsum(flat)))
    n_phases = durations.shape[1]
    joules = np.concatenate(([0.0], np.cumsum((durations * points.phase_watts[:, action] * pace.power).ravel())))
    share = np.cumsum(durations, axis=1) / durations.sum(axis=1, keepdims=True)
    iterations = np.concatenate(([float(first)], (first + np.arange(n)[:, None] + share).ravel()))
    read = np.tile(points.phase_counters[:, action], (n, 1)) * flat[:, None]
    counter_seconds = np.concatenate((np.zeros((1, read.shape[1])), np.cumsum(read, axis=0)))
    begun_s = float(np.interp(work, iterations[: n_phases + 1], edge_s[: n_phases + 1]))
    return Timeline(edge_s - begun_s, joules, iterations, counter_seconds)


def _durations(points: OperatingPoints, workload: Workload, action: int, iterations: range, pace: Pace) -> Array:
    """Return the seconds of each phase, float64, shape (len(iterations), n_phases); 0 where a phase is left out."""
    length, jitter = _variations(workload, iterations, pace.seed)
    gpu_s, total_s = points.phase_gpu_seconds[:, action], points.phase_seconds[:, action]
    seconds = (total_s + gpu_s * (length[:, None] - 1.0)) * jitter[:, None] * pace.slowness
    takes_part = (np.array(iterations)[:, None] + 1) % points.every == 0
    return np.where(takes_part, seconds, 0.0)


def _variations(workload: Workload, iterations: range, seed: int) -> tuple[Array, Array]:
    """Return factors on the GPU work and on the whole length of each iteration, mean 1, float64, one for each."""
    n = len(iterations)
    if workload.length_sd == 0 and workload.jitter == 0:
        return np.ones(n), np.ones(n)
    blocks = range(iterations.start // BLOCK, iterations.stop // BLOCK + 1)
    normal = np.concatenate([np.random.default_rng([seed, block]).standard_normal((BLOCK, 2)) for block in blocks])
    drawn = normal[iterations.start - blocks.start * BLOCK :][:n]
    length, jitter = (
        np.exp(sd * column - 0.5 * sd**2)
        for sd, column in zip((workload.length_sd, workload.jitter), drawn.T, strict=True)
    )
    return length, jitter
