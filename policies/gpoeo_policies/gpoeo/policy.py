"""The GPOEO controller as a state machine over Steps.

    REFERENCE    the driver's default is measured, counters are read  -> SEARCH, PROFILE, or RELEASED
    PROFILE      counters were missing: once more at the default      -> SEARCH
    SEARCH       the search asks for windows                          -> HOLD
    HOLD         the chosen pair, watched                             -> SEARCH (a window became worth its price)
                                                                      -> ROLLED_BACK (the limit is broken)
                                                                      -> REFERENCE (the workload has shifted)
    ROLLED_BACK  one window at the default after a breach             -> SEARCH, or REFERENCE (the default has shifted)
    RELEASED     progress cannot be measured: the driver decides      -> REFERENCE (progress is back, or another try)

A state without usable progress for some windows leads to REFERENCE, and REFERENCE to RELEASED.

Paper: sections III (workflow) and V (search, monitoring). Beyond it, the search weighs measurement noise, the windows
of a hold go on teaching it, and a pair that breaks its limit is left at once, whatever the models said.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Protocol

from gpoeo_env.clocks import RELEASE, ClockPair, ClockTable
from gpoeo_env.policy import Decision, PolicyContext, Purpose, Step, breaks_limit
from gpoeo_env.records import Features, Ratios
from gpoeo_policies.gpoeo.belief import Prior
from gpoeo_policies.gpoeo.goal import Goal
from gpoeo_policies.gpoeo.search import Search, SearchSettings
from gpoeo_policies.noise import SHIFT_SD
from gpoeo_policies.segment import HoldRecord, Segment, is_usable
from gpoeo_policies.windows import PATIENCE, RETRY_WINDOWS, SHIFT_WINDOWS, measure_reference, released

__all__ = ["GpoeoPolicy", "Predictor"]


class Predictor(Protocol):
    """Where a search starts: boosted models, or a prior without any."""

    def begin(self, context: PolicyContext) -> None:
        """Prepare for an episode.

        Raises:
            UsageError: nothing is known of this GPU.
        """

    def predict(self, features: Features, clocks: ClockTable, base: ClockPair) -> Prior:
        """Return what is expected of every action of a table."""

    def first_probe(self, clocks: ClockTable, seed: int) -> int | None:
        """Return the action to measure first; None = the most valuable one."""


class _Phase(Enum):
    REFERENCE = auto()
    PROFILE = auto()
    SEARCH = auto()
    HOLD = auto()
    ROLLED_BACK = auto()
    RELEASED = auto()


class GpoeoPolicy:
    """Reference, counters, prediction, local search, hold, watch."""

    _phase: _Phase
    _segment: Segment
    _search: Search | None
    _held: int
    _hold_record: HoldRecord
    _n_unusable: int
    _n_surprises: int

    def __init__(self, predictor: Predictor, settings: SearchSettings | None = None) -> None:
        """Take what the search starts from, and how careful it is."""
        self.predictor = predictor
        self.settings = settings or SearchSettings()
        self._context: PolicyContext | None = None
        self._handlers: dict[_Phase, Callable[[Step], Decision]] = {
            _Phase.REFERENCE: self._after_reference,
            _Phase.PROFILE: self._after_reference,
            _Phase.SEARCH: self._after_probe,
            _Phase.HOLD: self._after_hold,
            _Phase.ROLLED_BACK: self._after_rollback,
            _Phase.RELEASED: self._after_release,
        }
        self._forget_segment()

    def reset(self, context: PolicyContext) -> None:
        """Forget the last episode; the first Step will be the reference.

        Raises:
            UsageError: models are wanted, and there are none for this GPU.
        """
        self.predictor.begin(context)
        self._context = context
        self._forget_segment()

    def act(self, step: Step) -> Decision:
        """Answer a window."""
        self._segment.n_windows += 1
        if step.shifted and self._search is not None:
            return self._measure_anew(f"the workload has shifted: {step.shifted}")
        return self._handlers[self._phase](step)

    # One method for each state: what its window says, and where it leads.

    def _after_reference(self, step: Step) -> Decision:
        if not is_usable(step.measurement):
            return self._wait(step)
        self._n_unusable = 0
        self._segment.add_reference(step.measurement)
        missing = self._segment.features.missing()
        if missing and self._phase is _Phase.REFERENCE:
            self._phase = _Phase.PROFILE
            return Decision(
                RELEASE, counters=True, purpose=Purpose.PROFILE, reason=f"no {missing[0]} yet: read counters"
            )
        return self._begin_search(step)

    def _after_probe(self, step: Step) -> Decision:
        ratios = self._segment.ratios(step.measurement)
        if ratios is None:
            return self._wait(step)
        self._n_unusable = 0
        self.search.tell(step.decision.action, ratios)
        return self._next()

    def _after_hold(self, step: Step) -> Decision:
        ratios = self._segment.ratios(step.measurement)
        if ratios is None:
            return self._wait(step)
        self._n_unusable = 0
        if breaks_limit(step, self.context.objective):
            return self._roll_back(step, ratios)
        if self._surprise(step.decision.action, ratios) > SHIFT_SD:
            self._n_surprises += 1
            if self._n_surprises >= SHIFT_WINDOWS:
                return self._measure_anew("the workload has shifted: time or power left what this pair had shown")
            return self._hold(step.decision.action)
        self._n_surprises = 0
        self._hold_record.add(ratios)
        if not self._hold_record.has_doubled:
            return self._hold(step.decision.action)
        self.search.tell(step.decision.action, *self._hold_record.take())
        return self._next()

    def _after_rollback(self, step: Step) -> Decision:
        ratios = self._segment.ratios(step.measurement)
        if ratios is None:
            return self._wait(step)
        self._n_unusable = 0
        if self._surprise(RELEASE, ratios) > SHIFT_SD:
            return self._measure_anew("the workload has shifted: the driver's default itself has changed")
        self.search.tell(RELEASE, ratios)
        self.search.bar(self._held)
        return self._next()

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
        self._search = None
        self._held = RELEASE
        self._hold_record = HoldRecord()
        self._n_unusable = 0
        self._n_surprises = 0

    def _measure_anew(self, reason: str) -> Decision:
        self._forget_segment()
        return measure_reference(reason)

    def _begin_search(self, step: Step) -> Decision:
        context = self.context
        base = context.default_pair or step.measurement.observed or context.clocks.top
        prior = self.predictor.predict(self._segment.features, context.clocks, base)
        first_probe = self.predictor.first_probe(context.clocks, context.seed)
        self._search = Search(Goal.of(context.objective, context.limit), prior, self.settings, first_probe)
        for ratios in self._segment.references:
            self._search.tell(RELEASE, ratios)
        return self._next()

    def _next(self) -> Decision:
        """Return the window that the search wants, or hold its choice."""
        # Nobody knows how long a workload goes on; what has lasted is expected to last as long again.
        action = self.search.ask(horizon=self._segment.n_windows)
        if action is None:
            return self._hold(self.search.choice(self._held))
        self._phase = _Phase.SEARCH
        purpose = Purpose.CONFIRM if action == self.search.candidate else Purpose.PROBE
        return Decision(action, purpose=purpose, reason=self._expectation(action))

    def _hold(self, action: int) -> Decision:
        if self._phase is not _Phase.HOLD or action != self._held:
            self._hold_record = HoldRecord()
        self._phase = _Phase.HOLD
        self._held = action
        return Decision(action, purpose=Purpose.HOLD, reason=self._expectation(action))

    def _roll_back(self, step: Step, ratios: Ratios) -> Decision:
        self._phase = _Phase.ROLLED_BACK
        self._n_surprises = 0
        self.search.tell(step.decision.action, ratios)
        reason = f"the limit is broken by {100 * step.excess:.1f} %: back to the driver's default"
        return Decision(RELEASE, purpose=Purpose.PROBE, reason=reason)

    def _wait(self, step: Step) -> Decision:
        """Repeat a window without progress a few times, then give the clocks back and start anew, or give up."""
        self._n_unusable += 1
        if self._n_unusable < PATIENCE:
            return step.decision
        if self._phase not in (_Phase.REFERENCE, _Phase.PROFILE):
            return self._measure_anew(f"progress is lost: {step.measurement.progress.reason}")
        self._n_unusable = 0
        self._phase = _Phase.RELEASED
        return released(step)

    # Readings.

    @property
    def context(self) -> PolicyContext:
        """The context of the episode."""
        assert self._context is not None, "the runner resets a policy before it asks"
        return self._context

    @property
    def search(self) -> Search:
        """The search of this segment."""
        assert self._search is not None, "a segment without a search is in REFERENCE, PROFILE or RELEASED"
        return self._search

    def _surprise(self, action: int, ratios: Ratios) -> float:
        """Return how far a window is from what is known of its action, in standard deviations."""
        if action == RELEASE:
            return self._segment.surprise_at_default(ratios)
        return self.search.surprise(action, ratios)

    def _expectation(self, action: int) -> str:
        if action == RELEASE:
            return "the driver's default"
        expected = self.search.expected(action)
        change = f"expect {-100 * expected.saving:+.1f} % energy, {100 * expected.slowdown:+.1f} % time"
        if self.context.objective.limited_quantity is None:
            return change
        return f"{change}; {self.search.probability_within_limit(action):.0%} sure of the limit"
