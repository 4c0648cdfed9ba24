"""Clocks of a GPU that has nothing to do: where it was measured to draw the least.

Drivers lower the clocks of an idle GPU themselves, but not always, and not while a program holds a context on it. What
is better is not assumed but measured, each time anew: first the driver's default, then the lowest pair.
"""

from __future__ import annotations

import math
from dataclasses import replace
from enum import Enum, auto

from gpoeo_env.clocks import RELEASE, ClockPair, ClockTable
from gpoeo_env.policy import Decision, Policy, PolicyContext, Purpose, Step

__all__ = ["IdleClocks"]

COMPARED_S = 3.0
"""Windows that are compared: thirty updates of the energy counter."""
STAYED_S = 1.0
"""Windows after that: how long work that comes back may find the lowest clocks."""
NOISE_SD = 3.0
"""The lowest pair is kept where it draws less by this many standard errors."""


class _Phase(Enum):
    AWAKE = auto()
    DEFAULT = auto()
    LOWEST = auto()
    SETTLED = auto()


class IdleClocks:
    """Wraps a policy and takes over while nothing runs on the GPU; the policy never sees those windows.

    A window is idle when the driver reports a utilisation of zero in all of it; where it reports none, nothing is
    ever idle. When work comes back, the policy's last decision is carried out again.
    """

    def __init__(self, policy: Policy) -> None:
        """Take the policy."""
        self._policy = policy
        self._phase = _Phase.AWAKE
        self._pending: Decision | None = None
        self._lowest = RELEASE
        self._default_w = math.nan
        self._choice = _idle(RELEASE, STAYED_S, "")

    def reset(self, context: PolicyContext) -> None:
        """Forget the last episode."""
        self._policy.reset(context)
        self._phase = _Phase.AWAKE
        self._pending = None
        self._lowest = context.clocks.action_of(_lowest_pair(context.clocks))

    def act(self, step: Step) -> Decision:
        """Answer a window as the policy does, unless the GPU was idle in it."""
        if step.measurement.features.get("gpu_util") == 0.0:
            return self._idle(step)
        if self._phase is not _Phase.AWAKE:
            self._phase = _Phase.AWAKE
            if self._pending is not None:
                return replace(self._pending, reason=f"there is work again; {self._pending.reason}")
        self._pending = self._policy.act(step)
        return self._pending

    def _idle(self, step: Step) -> Decision:
        power_w = step.measurement.power_w
        if self._phase is _Phase.AWAKE:
            self._phase = _Phase.DEFAULT
            return _idle(RELEASE, COMPARED_S, "nothing runs: what does the driver's default draw?")
        if self._phase is _Phase.DEFAULT:
            self._phase, self._default_w = _Phase.LOWEST, power_w
            return _idle(
                self._lowest, COMPARED_S, f"nothing runs: do the lowest clocks draw less than {power_w:.0f} W?"
            )
        if self._phase is _Phase.LOWEST:
            self._phase = _Phase.SETTLED
            self._choice = _idle(
                self._lowest if self._is_less(step) else RELEASE,
                STAYED_S,
                f"nothing runs: {power_w:.0f} W at the lowest clocks, {self._default_w:.0f} W at the default",
            )
        return self._choice

    def _is_less(self, step: Step) -> bool:
        noise = NOISE_SD * math.sqrt(2.0) * step.measurement.spread.power
        return step.measurement.power_w < self._default_w * (1.0 - noise)


def _idle(action: int, window_s: float, reason: str) -> Decision:
    return Decision(action, window_s=window_s, purpose=Purpose.IDLE, reason=reason)


def _lowest_pair(clocks: ClockTable) -> ClockPair:
    return min(clocks, key=lambda pair: (pair.mem_mhz, pair.sm_mhz))
