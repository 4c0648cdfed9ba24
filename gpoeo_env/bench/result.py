"""One episode, scored against the truth: the row of every table that this project prints."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from gpoeo_env.env.control import ControlLoop
from gpoeo_env.objective import Objective
from gpoeo_env.records import Ratios, TruthTable
from gpoeo_env.runner.episode import Episode

__all__ = ["EpisodeResult", "excess_of", "result_of"]


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """What a policy achieved on one workload under one seed. Ratios are fractions.

    Attributes:
        workload, policy, seed: which episode; the policy as it was spelled.
        objective: what the policy was asked to achieve.
        sm_mhz, mem_mhz: the pair finally held; the declared reference pair where the policy released the clocks, and
            None where the device declares none.
        is_released: the policy held action 0.
        saving, slowdown: noise-free values of the pair finally held.
        violates: these values break the limit of the objective.
        has_held: the policy held a pair at all; where it did not, its last window stands in.
        measurements: windows until the first hold, references and repeats counted.
        search_windows: all windows that were not held, those of a search that went on after a hold included.
        first_saving, first_violates: as ``saving`` and ``violates``, of the pair that was held first.
        oracle_saving: noise-free saving of the best single action under the same objective and limit.
        run_saving, run_slowdown: the whole run, references, search and settling paid: what was measured, against the
            noise-free reference. A run's own totals are relative to the reference that it measured, whose noise would
            show as a saving or a loss of that size, even for a policy that does nothing.
        excess, run_excess: by how much the held pair, and the whole run, break the limit; 0 = kept.
        search_energy_frac: share of the run's energy spent before the first hold.
        search_joules: likewise in joules.
        windows: windows of the whole run.
        is_bound: the policy was told the truth, so that this is what could be done, not what was.
        decision_s: wall time that the policy spent deciding; not part of a result's identity.
        decision_cpu_s: processor time of the same.
    """

    workload: str
    policy: str
    seed: int
    objective: str
    sm_mhz: int | None
    mem_mhz: int | None
    is_released: bool
    saving: float
    slowdown: float
    violates: bool
    has_held: bool
    measurements: int
    search_windows: int
    first_saving: float
    first_violates: bool
    oracle_saving: float
    run_saving: float
    run_slowdown: float
    excess: float
    run_excess: float
    search_energy_frac: float
    search_joules: float
    windows: int
    is_bound: bool
    decision_s: float = field(compare=False)
    decision_cpu_s: float = field(compare=False)

    @property
    def run_edp_saving(self) -> float:
        """Share of the default's energy-delay product that the whole run saved."""
        return 1.0 - (1.0 - self.run_saving) * (1.0 + self.run_slowdown)


def excess_of(ratios: Ratios, objective: Objective, limit: float) -> float:
    """Return by how much noise-free ratios break the limit, a fraction; 0 where they keep it."""
    return float(objective.violation(ratios.time, ratios.energy, limit))


def result_of(episode: Episode, loop: ControlLoop, policy: str, *, is_bound: bool = False) -> EpisodeResult:
    """Score an episode right after it ran.

    Args:
        episode: what `run_episode` returned.
        loop: the loop it ran on; its device must know the truth.
        policy: the label of the policy.
        is_bound: the policy was told the truth.

    Raises:
        DeviceError: the device is not a virtual one.
    """
    truth, context = loop.truth(), loop.context
    held = episode.held
    pair = held.pair or context.default_pair
    ratios = truth.of(held.decision.action)
    first = truth.of(episode.first_held.decision.action)
    best = truth.of(context.objective.best(truth.time, truth.energy, context.limit))
    run = _whole_run(episode, truth)
    totals = episode.last.totals
    excess, first_excess, run_excess = (
        excess_of(each, context.objective, context.limit) for each in (ratios, first, run)
    )
    return EpisodeResult(
        workload=episode.workload or "",
        policy=policy,
        seed=episode.seed,
        objective=context.objective.value,
        sm_mhz=pair.sm_mhz if pair else None,
        mem_mhz=pair.mem_mhz if pair else None,
        is_released=held.pair is None,
        saving=ratios.saving,
        slowdown=ratios.slowdown,
        violates=excess > 0.0,
        has_held=totals.held,
        measurements=episode.measurements,
        search_windows=episode.search_windows,
        first_saving=first.saving,
        first_violates=first_excess > 0.0,
        oracle_saving=best.saving,
        run_saving=run.saving,
        run_slowdown=run.slowdown,
        excess=excess,
        run_excess=run_excess,
        search_energy_frac=totals.search_joules / totals.joules,
        search_joules=totals.search_joules,
        windows=totals.windows,
        is_bound=is_bound,
        decision_s=episode.decision_s,
        decision_cpu_s=episode.decision_cpu_s,
    )


def _whole_run(episode: Episode, truth: TruthTable) -> Ratios:
    """Return the ratios of the whole run against the noise-free reference.

    A reference that was measured 1 % too slow makes every ratio 1 % too small: measured over true ratio, averaged
    over all windows, tells by how much, and leaves the noise of one window divided by the root of their number.
    """
    measured = [(step.decision.action, step.measurement.ratios) for step in episode.steps]
    known = [(action, ratios) for action, ratios in measured if ratios is not None]
    if not known:
        return Ratios(math.nan, math.nan)
    totals = episode.last.totals
    return Ratios(
        time=(1.0 + totals.slowdown) / float(np.mean([ratios.time / truth.time[action] for action, ratios in known])),
        energy=(1.0 - totals.saving)
        / float(np.mean([ratios.energy / truth.energy[action] for action, ratios in known])),
    )
