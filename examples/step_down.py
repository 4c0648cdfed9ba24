"""A controller of one's own: go down the SM clocks in steps until the job is too slow, then stay one step above.

From this folder, with nothing else to install:

    gpoeo bench ../configs/bench/smoke.toml --policy step_down:StepDown
"""

from gpoeo_env.policy import Decision, PolicyContext, Purpose, Step


class StepDown:
    """Probes ever lower SM clocks at the highest memory clock."""

    def __init__(self, steps: int = 8) -> None:
        """Choose how many clocks to try at most; `step_down:StepDown,steps=12` sets it from outside."""
        self.steps = steps

    def reset(self, context: PolicyContext) -> None:
        """Forget the last episode; list the actions to try, from the top."""
        clocks = context.clocks
        ladder = [clocks.action_of(pair) for pair in clocks if pair.mem_mhz == clocks.mem_clocks[-1]]
        self.left = ladder[:: -max(1, len(ladder) // 2 // self.steps)][: self.steps]
        self.best, self.limit, self.is_done = 0, context.limit, False

    def act(self, step: Step) -> Decision:
        """Take the next step down, or hold the last one that was fast enough."""
        if step.decision.purpose is Purpose.PROBE and not self.is_done:
            ratios = step.measurement.ratios
            self.is_done = ratios is None or ratios.slowdown > self.limit
            self.best = self.best if self.is_done else step.decision.action
        if self.is_done or not self.left:
            return Decision(self.best, purpose=Purpose.HOLD, reason="the lowest clock that was fast enough")
        return Decision(self.left.pop(0), purpose=Purpose.PROBE, reason="one step down")
