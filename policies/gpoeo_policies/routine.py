"""Controllers that read like their paper's pseudo code: a method is a routine over windows.

    class Halfway(RoutinePolicy):
        def search(self, scene: Scene) -> Routine:
            ratios = yield from scene.probe(scene.ladder.actions[len(scene.ladder) // 2], "half way")
            return scene.best()

A routine yields the windows that it wants and returns the action to hold. What all controllers need alike stands here
and is the same for all of them, so that a comparison compares methods:

    REFERENCE   the driver's default is measured until its error is small -> SEARCH, or RELEASED
    SEARCH      the routine asks for windows                              -> HOLD
    HOLD        what it returned, watched                                 -> REFERENCE (the workload has shifted)
                                                                          -> HOLD (limit broken: a higher clock)
    RELEASED    progress cannot be measured: the driver decides           -> REFERENCE (another try)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from enum import Enum, auto

from gpoeo_env.policy import Decision, PolicyContext, Purpose, Step
from gpoeo_policies.hold_watch import HoldWatch
from gpoeo_policies.scene import Routine, Scene
from gpoeo_policies.segment import Segment, is_usable
from gpoeo_policies.windows import PATIENCE, RETRY_WINDOWS, measure_reference, released

__all__ = ["Routine", "RoutinePolicy", "Scene"]

REFERENCE_SD = 0.006
"""Relative error of the default's time at which it is known well enough to judge a limit of a few percent: everything
that follows carries this error."""
MOST_REFERENCES = 4
"""Windows at the default at most; windows that stay noisier than that would cost more than they teach."""
STEP_UP = 1.03
"""A pair that breaks the limit gives way to one whose SM clock is at least this much higher."""
OVERRULED_WINDOWS = 2
"""Windows in a row that somebody else takes the place of a hold before the hold is given up."""


class _Phase(Enum):
    REFERENCE = auto()
    SEARCH = auto()
    HOLD = auto()
    RELEASED = auto()


class RoutinePolicy(ABC):
    """Measures the default, runs a method's routine, holds what it returns and watches it."""

    _phase: _Phase
    _segment: Segment
    _scene: Scene | None
    _routine: Generator[Decision, Step, int] | None
    _asked: Decision
    _watch: HoldWatch
    _n_unusable: int
    _n_overruled: int

    def __init__(self) -> None:
        """Start with nothing known."""
        self._context: PolicyContext | None = None
        self._handlers: dict[_Phase, Callable[[Step], Decision]] = {
            _Phase.REFERENCE: self._after_reference,
            _Phase.SEARCH: self._after_probe,
            _Phase.HOLD: self._after_hold,
            _Phase.RELEASED: self._after_release,
        }
        self._forget_segment()

    @abstractmethod
    def search(self, scene: Scene) -> Routine:
        """Yield the windows that the method wants; return the action to hold."""

    def reset(self, context: PolicyContext) -> None:
        """Forget the last episode; the first Step will be the reference."""
        self._context = context
        self._forget_segment()

    def act(self, step: Step) -> Decision:
        """Answer a window."""
        if step.shifted and self._scene is not None:
            return self._measure_anew(f"the workload has shifted: {step.shifted}")
        self._asked = self._handlers[self._phase](step)
        return self._asked

    def __deepcopy__(self, memo: dict[int, object]) -> RoutinePolicy:
        """Return a policy with the same settings that has seen nothing: a running routine cannot be copied."""
        copied = object.__new__(type(self))
        memo[id(self)] = copied
        own = set(vars(self)) - set(RoutinePolicy.__annotations__)
        vars(copied).update({name: getattr(self, name) for name in own - {"_handlers", "_context"}})
        RoutinePolicy.__init__(copied)
        return copied

    # One method for each state: what its window says, and where it leads.

    def _after_reference(self, step: Step) -> Decision:
        if not is_usable(step.measurement) or step.reference is None:
            return self._wait(step)
        self._n_unusable = 0
        self._segment.add_reference(step.measurement)
        if step.reference.spread.time > REFERENCE_SD and step.reference.windows < MOST_REFERENCES:
            return measure_reference("measure the driver's default again: its error is in every ratio")
        assert self._context is not None, "the runner resets a policy before it asks"
        self._scene = Scene(self._context, self._segment.features, step)
        self._routine = self.search(self._scene)
        self._phase = _Phase.SEARCH
        return self._advance(None)

    def _after_probe(self, step: Step) -> Decision:
        if not is_usable(step.measurement):
            return self._wait(step)
        self._n_unusable = 0
        return self._advance(step)

    def _after_hold(self, step: Step) -> Decision:
        ratios = self._segment.ratios(step.measurement)
        if ratios is None:
            return self._wait(step)
        self._n_unusable = 0
        if step.decision.action != self._asked.action:
            return self._insist()
        self._n_overruled = 0
        if self._watch.breaks_limit(step, self.scene.context):
            return self._step_up("it breaks the limit")
        if self._watch.is_shift(ratios):
            return self._measure_anew("the workload has shifted: time or power left what this pair had shown")
        return self._asked

    def _after_release(self, step: Step) -> Decision:
        if is_usable(step.measurement):
            return self._measure_anew("progress can be measured again")
        self._n_unusable += 1
        if self._n_unusable >= RETRY_WINDOWS:
            return self._measure_anew("try again to measure progress")
        return released(step)

    # Transitions.

    def _forget_segment(self) -> None:
        self._phase = _Phase.REFERENCE
        self._segment = Segment()
        self._scene = None
        self._routine = None
        self._asked = measure_reference("")
        self._watch = HoldWatch()
        self._n_unusable = 0
        self._n_overruled = 0

    def _measure_anew(self, reason: str) -> Decision:
        self._forget_segment()
        self._asked = measure_reference(reason)
        return self._asked

    def _advance(self, step: Step | None) -> Decision:
        assert self._routine is not None, "a search has a routine"
        try:
            return next(self._routine) if step is None else self._routine.send(step)
        except StopIteration as end:
            return self._hold(int(end.value), self.scene.expectation(end.value))

    def _hold(self, action: int, reason: str) -> Decision:
        self._phase = _Phase.HOLD
        self._watch = HoldWatch()
        self._n_overruled = 0
        return Decision(action, purpose=Purpose.HOLD, reason=reason)

    def _insist(self) -> Decision:
        """Ask again for a hold that somebody (the slowdown guard) has put something else in the place of."""
        self._n_overruled += 1
        if self._n_overruled < OVERRULED_WINDOWS:
            return self._asked
        return self._step_up("it was not allowed")

    def _step_up(self, why: str) -> Decision:
        clocks = self.scene.context.clocks
        left = clocks.pair_of(self._asked.action)
        action = self.scene.above(self._asked.action, STEP_UP)
        return self._hold(action, f"leave {left} MHz: {why}")

    def _wait(self, step: Step) -> Decision:
        """Repeat a window without progress a few times, then give the clocks back and start anew, or give up."""
        self._n_unusable += 1
        if self._n_unusable < PATIENCE:
            return self._asked
        if self._phase is not _Phase.REFERENCE:
            return self._measure_anew(f"progress is lost: {step.measurement.progress.reason}")
        self._n_unusable = 0
        self._phase = _Phase.RELEASED
        return released(step)

    @property
    def scene(self) -> Scene:
        """What the routine of this segment knows."""
        assert self._scene is not None, "a segment without a scene is in REFERENCE or RELEASED"
        return self._scene
