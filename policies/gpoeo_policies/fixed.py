"""One clock pair for the whole run: what an operator does by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

from gpoeo_env.clocks import ClockPair
from gpoeo_env.config import validated
from gpoeo_env.policy import Decision, PolicyContext, Purpose, Step

__all__ = ["FixedPolicy", "build"]


class FixedPolicy:
    """Locks one pair right after the reference and holds it."""

    def __init__(self, sm_mhz: int | None = None, mem_mhz: int | None = None) -> None:
        """Choose the pair.

        Args:
            sm_mhz: SM clock; None = the highest one of the table.
            mem_mhz: memory clock; None = the highest one of the table.
        """
        self.sm_mhz = sm_mhz
        self.mem_mhz = mem_mhz
        self._action = 0

    def reset(self, context: PolicyContext) -> None:
        """Look the pair up.

        Raises:
            ClockNotSupportedError: the device does not offer it.
        """
        top = context.clocks.top
        pair = ClockPair(
            top.sm_mhz if self.sm_mhz is None else self.sm_mhz,
            top.mem_mhz if self.mem_mhz is None else self.mem_mhz,
        )
        self._action = context.clocks.action_of(pair)

    def act(self, step: Step) -> Decision:  # noqa: ARG002 - the answer is always the same
        """Hold the pair."""
        return Decision(self._action, purpose=Purpose.HOLD, reason="fixed by configuration")


class _Settings(BaseModel, extra="forbid", frozen=True):
    sm_mhz: int | None = Field(default=None, gt=0)
    mem_mhz: int | None = Field(default=None, gt=0)


def build(config: Mapping[str, Any], sweeps: Sequence[Any] | None = None) -> FixedPolicy:  # noqa: ARG001 - needs none
    """Build the policy (entry point ``fixed``; settings ``sm_mhz``, ``mem_mhz``)."""
    settings = validated(_Settings, config, "policy fixed")
    return FixedPolicy(settings.sm_mhz, settings.mem_mhz)
