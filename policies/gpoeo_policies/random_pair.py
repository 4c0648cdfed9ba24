"""A pair drawn by chance and held: what luck does, the floor under every comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel

from gpoeo_env.clocks import RELEASE
from gpoeo_env.config import validated
from gpoeo_env.policy import Decision, PolicyContext, Purpose, Step

__all__ = ["RandomPolicy", "build"]


class RandomPolicy:
    """Draws one action, every one as likely, with the episode's seed; it never looks at a window."""

    def __init__(self) -> None:
        """Start undecided; `reset` draws."""
        self._action = RELEASE

    def reset(self, context: PolicyContext) -> None:
        """Draw."""
        self._action = int(np.random.default_rng(context.seed).integers(context.clocks.n_actions))

    def act(self, step: Step) -> Decision:  # noqa: ARG002 - chance looks at nothing
        """Hold what was drawn."""
        return Decision(self._action, purpose=Purpose.HOLD, reason="drawn by chance")


class _Settings(BaseModel, extra="forbid", frozen=True):
    """The policy has no settings."""


def build(config: Mapping[str, Any], sweeps: Sequence[Any] | None = None) -> RandomPolicy:  # noqa: ARG001 - needs none
    """Build the policy (entry point ``random``)."""
    validated(_Settings, config, "policy random")
    return RandomPolicy()
