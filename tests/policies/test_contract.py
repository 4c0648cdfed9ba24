"""Every registered policy keeps the contract; and the contract notices policies that do not."""

from __future__ import annotations

import copy
from functools import cache

import pytest

from gpoeo_env.clocks import RELEASE
from gpoeo_env.policy import Decision, Policy, PolicyContext, Purpose, Step, build_policy
from gpoeo_env.registry import POLICIES, plugins
from gpoeo_env.sim.catalogue import load_gpu
from gpoeo_env.sim.closed_form import simulated_sweeps
from gpoeo_env.sim.suites import training_suite
from gpoeo_env.testing.policies import POLICY_CONTRACT, PolicyCheck, check_policy
from gpoeo_env.trace.sweep import Sweep

CHECKS = {check.name: check for check in POLICY_CONTRACT}
NAMES = [plugin.name for plugin in plugins(POLICIES)]


def _lessons() -> tuple[Sweep, ...]:
    gpu = load_gpu("rtx3080ti")
    return simulated_sweeps(gpu, training_suite(gpu, 12), "twelve drawn workloads").sweeps


@cache
def built(name: str) -> Policy:
    """Build once: fitting models takes seconds, and a copy that was never reset is as good as a new policy."""
    return build_policy(name, sweeps=_lessons())


@pytest.mark.parametrize("check", POLICY_CONTRACT, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_every_registered_policy_keeps_every_clause(name: str, check: PolicyCheck) -> None:
    check.run(lambda: copy.deepcopy(built(name)))


class Good:
    """Probes one action, then holds the released clocks."""

    def reset(self, context: PolicyContext) -> None:
        self.context = context
        self.decided = 0

    def act(self, step: Step) -> Decision:
        self.decided += 1
        return self.decide(step)

    def decide(self, step: Step) -> Decision:
        return Decision(1, purpose=Purpose.PROBE) if step.index == 0 else Decision(RELEASE)


class Remembers(Good):
    """Does not forget at reset."""

    def __init__(self) -> None:
        self.episodes = 0

    def reset(self, context: PolicyContext) -> None:
        super().reset(context)
        self.episodes += 1

    def decide(self, step: Step) -> Decision:
        return Decision(min(self.episodes, 2), reason=f"after {step.index}")


class Unseeded(Good):
    """Decides by something that no seed rules."""

    lives = 0

    def __init__(self) -> None:
        type(self).lives += 1

    def decide(self, step: Step) -> Decision:
        return Decision(self.lives % 2, reason=f"after {step.index}")


class OutsideTheTable(Good):
    """Takes action 30 for granted."""

    def decide(self, step: Step) -> Decision:
        return Decision(30 if step.index == 0 else RELEASE)


class NeverHolds(Good):
    """Searches for ever."""

    def decide(self, step: Step) -> Decision:
        return Decision(step.index % 2, purpose=Purpose.PROBE)


class NeverSettles(Good):
    """Calls it holding, and changes the clocks all the time."""

    def decide(self, step: Step) -> Decision:
        return Decision(step.index % 2)


class NeedsProgress(Good):
    """Counts on ratios."""

    def decide(self, step: Step) -> Decision:
        assert step.measurement.ratios is not None
        return super().decide(step)


class NeedsCounters(Good):
    """Counts on counters."""

    def decide(self, step: Step) -> Decision:
        assert step.measurement.features.get("sm_active") > 0, "no counter"
        return super().decide(step)


class Fussy(NeedsCounters, NeedsProgress):
    """Counts on both."""


class ChangesSteps(Good):
    """Writes into what it was shown."""

    def decide(self, step: Step) -> Decision:
        step.measurement.features.values[0] = 0.0
        return Decision(RELEASE)


class LockedReference(Good):
    """Measures a reference at locked clocks."""

    def decide(self, step: Step) -> Decision:
        return Decision(1, purpose=Purpose.REFERENCE, reason=f"after {step.index}")


class NoDecision(Good):
    """Answers with a number."""

    def decide(self, step: Step) -> Decision:
        return step.index  # type: ignore[return-value]  # what the contract has to notice


def test_a_good_policy_passes() -> None:
    check_policy(Good)


def test_the_whole_contract_names_every_broken_clause() -> None:
    with pytest.raises(AssertionError) as broken:
        check_policy(Fussy)
    assert "survives windows without progress: AssertionError" in str(broken.value)
    assert "survives missing counters: AssertionError" in str(broken.value)


@pytest.mark.parametrize(
    ("bad", "clause", "message"),
    [
        (Remembers, "forgets at reset", "a second episode differs"),
        (Unseeded, "decides alike under equal seeds", "two runs under one seed differ"),
        (OutsideTheTable, "serves every clock table", "no action 30"),
        (NeverHolds, "ends its search and holds", "the search does not end"),
        (NeverSettles, "ends its search and holds", "the action still changes"),
        (NeedsProgress, "survives windows without progress", "ratios"),
        (NeedsCounters, "survives missing counters", "no counter"),
        (ChangesSteps, "serves every clock table", "changed Step 0"),
        (LockedReference, "serves every clock table", "measured released"),
        (NoDecision, "serves every clock table", "not a Decision"),
    ],
)
def test_a_bad_policy_is_noticed(bad: type[Good], clause: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        CHECKS[clause].run(bad)
