"""The best that could be done by one static action, known without measuring: a bound, not a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from gpoeo_env.clocks import RELEASE
from gpoeo_env.config import validated
from gpoeo_env.policy import Decision, PolicyContext, Purpose, Step
from gpoeo_env.records import TruthTable

__all__ = ["OraclePolicy", "build"]


class OraclePolicy:
    """Is told the truth (virtual devices only) and holds the best action from the first decision on."""

    def __init__(self) -> None:
        """Start with nothing known; `reset` and `learn_truth` tell."""
        self._context: PolicyContext | None = None
        self._action = RELEASE

    def reset(self, context: PolicyContext) -> None:
        """Remember what is wanted."""
        self._context = context
        self._action = RELEASE

    def learn_truth(self, truth: TruthTable) -> None:
        """Choose the best action; releasing wins a tie."""
        assert self._context is not None, "the runner resets a policy before it tells the truth"
        self._action = self._context.objective.best(truth.time, truth.energy, self._context.limit)

    def act(self, step: Step) -> Decision:  # noqa: ARG002 - the truth does not change
        """Hold the best action."""
        return Decision(self._action, purpose=Purpose.HOLD, reason="the best action, known without measuring")


class _Settings(BaseModel, extra="forbid", frozen=True):
    """The policy has no settings."""


def build(config: Mapping[str, Any], sweeps: Sequence[Any] | None = None) -> OraclePolicy:  # noqa: ARG001 - needs none
    """Build the policy (entry point ``oracle``)."""
    validated(_Settings, config, "policy oracle")
    return OraclePolicy()
