"""The driver's default: release the clocks and leave them alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from gpoeo_env.clocks import RELEASE
from gpoeo_env.config import validated
from gpoeo_env.policy import Decision, PolicyContext, Purpose, Step

__all__ = ["DefaultPolicy", "build"]


class DefaultPolicy:
    """Holds action 0 from the first decision on."""

    def reset(self, context: PolicyContext) -> None:
        """Nothing to prepare."""

    def act(self, step: Step) -> Decision:  # noqa: ARG002 - the answer is always the same
        """Release."""
        return Decision(RELEASE, purpose=Purpose.HOLD, reason="the driver's default")


class _Settings(BaseModel, extra="forbid", frozen=True):
    """The policy has no settings."""


def build(config: Mapping[str, Any], sweeps: Sequence[Any] | None = None) -> DefaultPolicy:  # noqa: ARG001 - needs none
    """Build the policy (entry point ``default``)."""
    validated(_Settings, config, "policy default")
    return DefaultPolicy()
