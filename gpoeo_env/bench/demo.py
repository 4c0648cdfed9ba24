"""The demonstration: every workload of a simulated GPU under a few policies, the search paid.

Models are fitted on simulated training workloads that share nothing with the demonstrated ones.

    with open_device("sim:rtx3080ti") as device:
        results = list(demonstrate(DemoPlan(), device))
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpoeo_env.bench.batch import evaluate
from gpoeo_env.bench.plan import EpisodePlan
from gpoeo_env.bench.result import EpisodeResult
from gpoeo_env.device.base import Device, lessons_of
from gpoeo_env.env.control import ControlLoop
from gpoeo_env.errors import UsageError
from gpoeo_env.policy import build_policy

__all__ = ["DemoPlan", "demonstrate"]


@dataclass(frozen=True, slots=True)
class DemoPlan:
    """What the demonstration runs.

    Attributes:
        policies: policy specs; they label the results.
        max_slowdown: limit, a fraction.
        seed: of the noise.
        window_s: length of a window in seconds.
        budget_s: work of one episode, in seconds at the driver's default; half an hour, so that the search is paid
            from a run far shorter than a real training job.
    """

    policies: tuple[str, ...] = ("default", "gpoeo", "oracle")
    max_slowdown: float = 0.05
    seed: int = 0
    window_s: float = 10.0
    budget_s: float = 1800.0

    def __post_init__(self) -> None:
        """Check the plan.

        Raises:
            ConfigError: limit, window or budget is out of its range.
            UsageError: there is no policy, or one is named twice.
        """
        self.episodes()

    def episodes(self) -> EpisodePlan:
        """Return what is run on every workload.

        Raises:
            GpoeoError: as the constructor of `EpisodePlan`.
        """
        return EpisodePlan(
            policies=self.policies,
            limit=self.max_slowdown,
            seeds=(self.seed,),
            window_s=self.window_s,
            budget_s=self.budget_s,
        )

    def n_episodes(self, device: Device) -> int:
        """Return how many results the plan gives on a device."""
        return len(device.info.workloads) * len(self.policies)


def demonstrate(plan: DemoPlan, device: Device) -> Iterator[EpisodeResult]:
    """Run every policy on every workload and yield the results, by workload, then policy.

    Each policy is built once and so fits its models once: what a simulated GPU teaches is the same for all workloads
    that it runs.

    Args:
        plan: what to run.
        device: a simulated GPU; its owner closes it.

    Raises:
        UsageError: the device is not a simulated one.
        GpoeoError: whatever a policy raises.
    """
    if device.info.kind != "simulated":
        raise UsageError(
            f"the demonstration runs on a simulated GPU, and this is a {device.info.kind} device; "
            "use `gpoeo replay` for a recorded sweep and `gpoeo run` for anything else"
        )
    known = lessons_of(device, None)
    policies = {spec: build_policy(spec, sweeps=known) for spec in plan.policies}
    loop = ControlLoop(device, plan.episodes().control_settings())
    for workload in device.info.workloads:
        for spec, policy in policies.items():
            yield from evaluate(loop, spec, policy, workload, seeds=(plan.seed,))
