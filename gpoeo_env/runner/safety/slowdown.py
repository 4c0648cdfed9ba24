"""The slowdown guard: a pair that breaks the limit is left after one window and not taken again, whoever decided.

It trusts no model and no policy, only windows. What it cannot know is whether a pair will break the limit before
that pair has run: keeping such windows rare is the policy's art.
"""

from __future__ import annotations

from gpoeo_env.clocks import RELEASE, ClockPair
from gpoeo_env.objective import Objective
from gpoeo_env.policy import BREACH_SD, Decision, Policy, PolicyContext, Purpose, Step, breaks_limit
from gpoeo_env.progress.summary import relative_to
from gpoeo_env.records import Reference

__all__ = ["SlowdownGuard"]

PATIENCE = 3
"""Windows in a row at locked clocks without measured progress before the clocks are given back."""
_SEARCHING = (Purpose.PROBE, Purpose.CONFIRM)


class SlowdownGuard:
    """Wraps a policy and overrules it where it would harm.

    A broken limit bars the pair, and with it every pair that is lower in both clocks, because lower clocks are never
    faster. The next window is at the driver's default, unless the policy is searching and asks for a pair that is
    not barred. Where the default itself turns out to be as slow, the workload has changed: the reference is measured
    anew, and nothing is barred any more.
    """

    def __init__(self, policy: Policy) -> None:
        """Take the policy; it sees every window, those too that it did not ask for."""
        self._policy = policy
        self._forget(None)

    def reset(self, context: PolicyContext) -> None:
        """Forget the last episode."""
        self._policy.reset(context)
        self._forget(context)

    def act(self, step: Step) -> Decision:
        """Answer a window as the policy does, or more carefully."""
        wish = self._policy.act(step)
        is_broken = breaks_limit(step, self._objective)
        is_default_slow = self._is_default_slow(step)
        self._learn(step, is_broken=is_broken)
        if wish.action == RELEASE:
            return wish
        return self._overruled(step, wish, is_broken=is_broken, is_default_slow=is_default_slow) or wish

    def _forget(self, context: PolicyContext | None) -> None:
        self._context = context
        self._barred: dict[ClockPair, float] = {}
        self._reference: Reference | None = None
        self._is_rolled_back = False
        self._n_unmeasured = 0

    @property
    def _objective(self) -> Objective:
        assert self._context is not None, "the runner resets a policy before it asks"
        return self._context.objective

    def _learn(self, step: Step, *, is_broken: bool) -> None:
        if step.reference and self._reference and step.reference.segment != self._reference.segment:
            self._barred.clear()
        self._reference = step.reference
        if is_broken and step.pair is not None:
            self._barred[step.pair] = step.excess
        if step.measurement.ratios is not None:
            self._n_unmeasured = 0
        elif step.decision.action != RELEASE:
            self._n_unmeasured += 1

    def _overruled(self, step: Step, wish: Decision, *, is_broken: bool, is_default_slow: bool) -> Decision | None:
        """Return what happens in the place of a wish for locked clocks; None = the wish."""
        self._is_rolled_back = False
        if is_default_slow:
            return Decision(
                RELEASE,
                counters=True,
                purpose=Purpose.REFERENCE,
                reason="the driver's default has become as slow: the workload has changed",
            )
        if self._n_unmeasured >= PATIENCE:
            why = step.measurement.progress.reason or "the energy is not known"
            return Decision(
                RELEASE, purpose=Purpose.PROFILE, reason=f"released until progress can be measured again: {why}"
            )
        barred = self._barring(wish.action)
        if barred is None and not (is_broken and wish.purpose not in _SEARCHING):
            return None
        self._is_rolled_back = True
        return Decision(RELEASE, purpose=Purpose.PROBE, reason=self._why(step, barred))

    def _barring(self, action: int) -> ClockPair | None:
        """Return a pair that broke the limit and is not lower than what an action would lock; None = none did."""
        assert self._context is not None, "the runner resets a policy before it asks"
        wanted = self._context.clocks.pair_of(action)
        if wanted is None:
            return None
        return next(
            (pair for pair in self._barred if wanted.sm_mhz <= pair.sm_mhz and wanted.mem_mhz <= pair.mem_mhz), None
        )

    def _why(self, step: Step, barred: ClockPair | None) -> str:
        pair = barred or step.pair
        excess = step.excess if barred is None else self._barred[barred]
        return f"back to the driver's default: {pair} MHz broke the limit by {100 * excess:.1f} %"

    def _is_default_slow(self, step: Step) -> bool:
        """Tell whether the window after a breach shows the default itself over the limit."""
        if not self._is_rolled_back or step.decision.action != RELEASE or self._reference is None:
            return False
        assert self._context is not None, "the runner resets a policy before it asks"
        ratios = relative_to(step.measurement, self._reference)
        return ratios is not None and ratios.slowdown > self._context.limit + BREACH_SD * ratios.time_sd
