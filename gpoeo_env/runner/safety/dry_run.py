"""A dry run: the policy is asked in earnest, and what it would lock is said and not done."""

from __future__ import annotations

from gpoeo_env.clocks import RELEASE
from gpoeo_env.policy import Decision, Policy, PolicyContext, Purpose, Step

__all__ = ["DryRun"]


class DryRun:
    """Wraps a policy; every window stays at the driver's default.

    The policy is asked until it wants a pair for the first time. What it would do next depends on what that pair
    would have shown, so it is not asked again until the workload shifts.
    """

    def __init__(self, policy: Policy) -> None:
        """Take the policy."""
        self._policy = policy
        self._context: PolicyContext | None = None
        self._wanted = ""

    def reset(self, context: PolicyContext) -> None:
        """Forget the last episode."""
        self._policy.reset(context)
        self._context = context
        self._wanted = ""

    def act(self, step: Step) -> Decision:
        """Answer a window with the driver's default, and say what the policy would have."""
        if not self._wanted or step.shifted:
            wish = self._policy.act(step)
            if wish.action == RELEASE:
                self._wanted = ""
                return wish
            assert self._context is not None, "the runner resets a policy before it asks"
            self._wanted = f"would lock {self._context.clocks.pair_of(wish.action)} MHz: {wish.reason}"
        return Decision(RELEASE, purpose=Purpose.HOLD, reason=self._wanted)
