"""What a benchmark is to do: checked once, then the same for every worker process."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gpoeo_env.device.virtual import MAX_NOISE
from gpoeo_env.env.control import ControlSettings
from gpoeo_env.errors import ConfigError, UnknownNameError, UsageError, repeated
from gpoeo_env.objective import Objective
from gpoeo_env.trace.sweep import SweepSet

__all__ = ["EpisodePlan", "Fit", "ReplayPlan"]


class Fit(Enum):
    """What policies may learn from before they meet a workload of the sweep."""

    LEAVE_ONE_OUT = "leave-one-out"
    """The other workloads of the same sweep, and nothing else."""
    NONE = "none"
    """Nothing of the sweep: a policy brings its own models or goes without."""

    @classmethod
    def named(cls, name: str) -> Fit:
        """Return the member of that name.

        Raises:
            UnknownNameError: there is none; the message names the nearest.
        """
        try:
            return cls(name)
        except ValueError:
            raise UnknownNameError("fit", name, [member.value for member in cls]) from None


@dataclass(frozen=True, slots=True)
class EpisodePlan:
    """Which policies run how often and under which conditions.

    Attributes:
        policies: policy specs as the command line takes them; they label the results.
        objective: what the policies are asked to achieve.
        limit: bound of the objective, a fraction.
        seeds: every policy meets every workload under each of them.
        window_s: length of a window in seconds.
        budget_s: work of one episode, in seconds at the driver's default.
        teaches: policies may learn from what the device knows of other work.
    """

    policies: tuple[str, ...]
    objective: Objective = Objective.ENERGY
    limit: float = 0.05
    seeds: tuple[int, ...] = (0,)
    window_s: float = 10.0
    budget_s: float = 3600.0
    teaches: bool = True

    def __post_init__(self) -> None:
        """Check the plan.

        Raises:
            ConfigError: a number is out of its range.
            UsageError: there is no policy, or one is named twice.
        """
        if not self.policies:
            raise UsageError("a benchmark needs at least one policy; name one, for example gpoeo")
        twice = repeated(self.policies)
        if twice:
            raise UsageError(f"policy named twice: {', '.join(twice)}; name each once")
        if not self.seeds:
            raise ConfigError("a benchmark needs at least one seed; there is none")
        if self.budget_s <= self.window_s:
            raise ConfigError(
                f"an episode of {self.budget_s:g} s ends within its reference window of {self.window_s:g} s; "
                "raise the budget or shorten the window"
            )
        self.control_settings()

    def control_settings(self) -> ControlSettings:
        """Return how an episode is measured and when it ends.

        Raises:
            ConfigError: limit, window or budget is out of its range.
        """
        return ControlSettings(
            objective=self.objective, limit=self.limit, window_s=self.window_s, budget_s=self.budget_s
        )


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """Which policies replay which workloads, how often and under which conditions.

    An episode lasts 40 windows at the reference clocks by default: the search takes less than a quarter of it, and
    what is left is long enough for a policy that watches its hold to react to noise.

    Attributes:
        policies: policy specs as the command line takes them; they label the results.
        objective: what the policies are asked to achieve.
        limit: bound of the objective, a fraction.
        noise: relative standard deviation of every window's time and of its power, a fraction.
        n_seeds: every policy meets every workload under the seeds 0..n_seeds - 1.
        fit: what policies may learn from.
        workloads: names out of the sweep; empty = all.
        window_s: length of a window in seconds.
        budget_s: work of one episode, in seconds at the reference clocks.
    """

    policies: tuple[str, ...]
    objective: Objective = Objective.ENERGY
    limit: float = 0.05
    noise: float = 0.01
    n_seeds: int = 10
    fit: Fit = Fit.LEAVE_ONE_OUT
    workloads: tuple[str, ...] = ()
    window_s: float = 10.0
    budget_s: float = 400.0

    def __post_init__(self) -> None:
        """Check the plan.

        Raises:
            ConfigError: a number is out of its range.
            UsageError: there is no policy, or a policy or workload is named twice.
        """
        twice = repeated(self.workloads)
        if twice:
            raise UsageError(f"workload named twice: {', '.join(twice)}; name each once")
        if not 0.0 <= self.noise <= MAX_NOISE:
            raise ConfigError(f"noise is a fraction from 0 to {MAX_NOISE:g} (0.01 means 1 %); got {self.noise:g}")
        if self.n_seeds < 1:
            raise ConfigError(f"a replay needs at least one seed; got {self.n_seeds}")
        self.episodes()

    def episodes(self) -> EpisodePlan:
        """Return what is run on every workload.

        Raises:
            GpoeoError: as the constructor of `EpisodePlan`.
        """
        return EpisodePlan(
            policies=self.policies,
            objective=self.objective,
            limit=self.limit,
            seeds=tuple(range(self.n_seeds)),
            window_s=self.window_s,
            budget_s=self.budget_s,
            teaches=self.fit is Fit.LEAVE_ONE_OUT,
        )

    def chosen_workloads(self, sweeps: SweepSet) -> tuple[str, ...]:
        """Return the workloads to replay.

        Raises:
            UnknownNameError: the sweep lacks one of them; the message names the nearest.
            UsageError: models are to be fitted on other workloads and there are none.
        """
        if self.fit is Fit.LEAVE_ONE_OUT and len(sweeps.workloads) < 2:
            raise UsageError(
                f"leave-one-out fits on the other workloads of the sweep, and {sweeps.workloads[0]!r} is its only one; "
                "choose fit none"
            )
        for workload in self.workloads:
            sweeps.named(workload)
        return self.workloads or sweeps.workloads

    def n_episodes(self, sweeps: SweepSet) -> int:
        """Return how many results the plan gives on a sweep."""
        return len(self.chosen_workloads(sweeps)) * len(self.policies) * self.n_seeds
