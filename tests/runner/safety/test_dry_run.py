from __future__ import annotations

from dataclasses import replace

from gpoeo_env.clocks import RELEASE
from gpoeo_env.policy import Step
from gpoeo_env.runner.safety import DryRun
from tests.runner.stage import LOW, MIDDLE, Scripted, played


def test_nothing_is_locked_and_what_would_be_is_said() -> None:
    policy = Scripted(RELEASE, MIDDLE)
    steps = played(DryRun(policy), 4)

    assert {step.decision.action for step in steps} == {RELEASE}
    assert [step.decision.reason for step in steps[1:3]] == ["wish 1", "would lock 800/5000 MHz: wish 2"]
    assert len(policy.seen) == 2


def test_the_policy_is_asked_again_when_the_workload_shifts() -> None:
    policy = Scripted(MIDDLE, LOW)
    dry = DryRun(policy)
    steps: list[Step] = played(dry, 2)
    decision = dry.act(replace(steps[-1], shifted="another rhythm"))

    assert decision.reason == "would lock 500/5000 MHz: wish 2"
