"""The policy seam: a policy sees frozen Steps and answers with Decisions; it never sees an env or a device.

    class Mine:
        def reset(self, context: PolicyContext) -> None: ...
        def act(self, step: Step) -> Decision: return Decision(action=0)

The same object runs on a live GPU, a simulated one and a recorded sweep.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, cast, runtime_checkable

from gpoeo_env.clocks import RELEASE, ClockPair, ClockTable
from gpoeo_env.config import Spec
from gpoeo_env.errors import ConfigError, UsageError
from gpoeo_env.objective import Objective
from gpoeo_env.records import Measurement, Reference, Totals, TruthTable
from gpoeo_env.registry import POLICIES, load, load_object

__all__ = [
    "Decision",
    "Policy",
    "PolicyContext",
    "PolicyFactory",
    "Purpose",
    "Step",
    "UsesTruth",
    "breaks_limit",
    "build_policy",
]

BREACH_SD = 3.0
"""A window breaks the limit when it is over it by this many standard errors: once in some 700 windows by chance at a
pair exactly at the limit, far less below it."""


class Purpose(Enum):
    """Why a policy wants a window."""

    REFERENCE = "reference"
    """Measure the driver's default. Directly after another reference window it refines the reference; after
    anything else it opens a new reference segment (the workload has shifted). Any other window at action 0 but a
    hold refines the reference in force."""
    PROFILE = "profile"
    """Read counters."""
    PROBE = "probe"
    """Try a candidate."""
    CONFIRM = "confirm"
    """Measure the candidate that is about to be held."""
    HOLD = "hold"
    """Stay; the search is over."""
    IDLE = "idle"
    """The GPU has nothing to do."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do until the next Step.

    Attributes:
        action: index into the action space: 0 releases to the driver, ``i`` locks pair ``i - 1``.
        window_s: how long to measure; None = the env's default.
        counters: read performance counters in this window.
        purpose: why; windows before the first ``HOLD`` count as search.
        reason: one clause for people.
    """

    action: int
    window_s: float | None = None
    counters: bool = False
    purpose: Purpose = Purpose.HOLD
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PolicyContext:
    """What a policy may know before the first Step.

    Attributes:
        clocks: the pairs that the device offers.
        objective: what to achieve.
        limit: bound of the objective, a fraction.
        default_pair: the pair that stands for the driver's default where the device declares one.
        gpu_name: as the driver or the recording names it.
        window_s: the env's default window.
        seed: for policies that draw numbers.
    """

    clocks: ClockTable
    objective: Objective
    limit: float
    default_pair: ClockPair | None
    gpu_name: str
    window_s: float
    seed: int


@dataclass(frozen=True, slots=True)
class Step:
    """One window as a policy sees it.

    Attributes:
        index: 0 for the first window of an episode.
        decision: the decision that led here.
        pair: the pair that was locked; None = released.
        measurement: what the window showed.
        reference: the driver's default as known after this window; None until progress and energy are known.
        totals: sums over the episode so far.
        saved_frac: energy saved in this window as a share of the default's energy on the whole budget.
        excess: by how much this window broke the limit, >= 0; NaN where unknown.
        terminated: the work is done, or the device is lost or too hot.
        truncated: time, steps or recording ran out.
        fault: "gpu_lost", "overheated", or "driver_fault" where the driver failed and may come back; None = none.
        shifted: how the workload became another one in this window, as its samples show; empty = it did not, or the
            window has no samples.
    """

    index: int
    decision: Decision
    pair: ClockPair | None
    measurement: Measurement
    reference: Reference | None
    totals: Totals
    saved_frac: float
    excess: float
    terminated: bool = False
    truncated: bool = False
    fault: str | None = None
    shifted: str = ""

    @property
    def is_last(self) -> bool:
        """Whether the episode ends here."""
        return self.terminated or self.truncated


def breaks_limit(step: Step, objective: Objective) -> bool:
    """Tell whether a locked pair is slower than allowed by more than noise.

    The driver's default cannot be, and other objectives know no such harm: where a saving is missed, going back to
    the default would miss it by more.
    """
    ratios = step.measurement.ratios
    if ratios is None or step.decision.action == RELEASE or objective is not Objective.ENERGY:
        return False
    return step.excess > BREACH_SD * ratios.time_sd


class Policy(Protocol):
    """A controller. `reset` starts an episode; `act` answers every Step, the first one being the reference."""

    def reset(self, context: PolicyContext) -> None:
        """Forget the last episode and prepare for the next."""

    def act(self, step: Step) -> Decision:
        """Decide what to do next."""


@runtime_checkable
class UsesTruth(Protocol):
    """A policy that is told the truth: the oracle. Rows it produces are bounds, not results."""

    def learn_truth(self, truth: TruthTable) -> None:
        """Take the noise-free ratios of every action; called after `reset`, on virtual devices only."""


class PolicyFactory(Protocol):
    """What an entry point of the group ``gpoeo.policies`` names.

    ``sweeps`` are recordings of *other* workloads, for policies that need fitted models; a policy that needs
    none ignores them.
    """

    def __call__(self, config: Mapping[str, Any], sweeps: Sequence[Any] | None = None) -> Policy:
        """Build a policy from its settings. `Any`: settings come from TOML, sweeps from the trace layer."""


def build_policy(spec: str, sweeps: Sequence[Any] | None = None) -> Policy:
    """Build a policy by name or by place.

    ``NAME[,key=value...]`` calls the factory that is registered under the name, ``module:attribute[,key=value...]``
    one that is only importable: a class is called with the settings as keywords, anything else is a `PolicyFactory`.

    Args:
        spec: for example ``gpoeo``, ``fixed:sm_mhz=1200`` or ``my_package.controllers:Mine,gain=0.5``.
        sweeps: recordings of other workloads, for policies that fit models. `Any`: they belong to the trace layer.

    Raises:
        UnknownNameError: there is no such policy or attribute; the message names the nearest.
        ConfigError: a setting is unknown or out of range.
        UsageError: what was built is not a policy, or nothing could be built.
        InstallationError: the policy cannot be imported.
    """
    wanted = Spec.parse(spec)
    if wanted.argument is None:
        policy = cast("PolicyFactory", load(POLICIES, wanted.name))(wanted.settings, sweeps)
    else:
        policy = _build_at(f"{wanted.name}:{wanted.argument}", wanted.settings, sweeps)
    if not (callable(getattr(policy, "reset", None)) and callable(getattr(policy, "act", None))):
        raise UsageError(f"{spec!r} builds a {type(policy).__name__}, which is no policy: it needs reset and act")
    return policy


def _build_at(path: str, settings: Mapping[str, Any], sweeps: Sequence[Any] | None) -> Policy:
    found = load_object(path)
    if not callable(found):
        raise UsageError(f"{path} is of type {type(found).__name__}, which is neither a class nor a function")
    if not isinstance(found, type):
        return cast("PolicyFactory", found)(settings, sweeps)
    try:
        inspect.signature(found).bind(**settings)
    except TypeError as error:
        raise ConfigError(f"policy {path}: {error}; it takes {inspect.signature(found)}") from None
    return cast("Policy", found(**settings))
