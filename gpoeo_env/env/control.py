"""The control loop: one place where decisions become clocks and windows become Steps.

`ClockEnv` and the runner both stand on it, so that a learned agent and GPOEO are measured by the same code.

    with ControlLoop(device, ControlSettings(limit=0.05)) as loop:
        step = loop.begin(seed=0, workload="resnet50")      # measures the driver's default
        while not step.is_last:
            step = loop.step(policy.act(step))
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

from gpoeo_env.clocks import RELEASE, ClockPair
from gpoeo_env.device.base import Device, HasTruth
from gpoeo_env.errors import ConfigError, DeviceError, DeviceFaultError, DeviceLostError, UsageError
from gpoeo_env.objective import Objective
from gpoeo_env.policy import Decision, PolicyContext, Purpose, Step
from gpoeo_env.progress.choosing import ChoosingMeter
from gpoeo_env.progress.counter_work import CounterWorkMeter
from gpoeo_env.progress.group_meter import GroupMeter
from gpoeo_env.progress.meter import ProgressMeter, WorkCounterMeter
from gpoeo_env.progress.shift import ShiftDetector
from gpoeo_env.progress.summary import combine_references, reference_of, relative_to, summarise, unseen
from gpoeo_env.records import Measurement, Reference, Totals, TruthTable, Window, WindowEnd

__all__ = ["ControlLoop", "ControlSettings"]

TIME_LIMIT_IN_BUDGETS = 20.0
"""An episode whose work never gets done (progress refused, or clocks far too low) is truncated after this many
times its budget."""


@dataclass(frozen=True, slots=True)
class ControlSettings:
    """How an episode is measured and when it ends.

    Attributes:
        objective: what the policy is asked to achieve.
        limit: bound of the objective, a fraction.
        window_s: default length of a window in seconds.
        budget_s: work of one episode, in seconds that the driver's default needs for it; infinite where only the
            device knows when the work is done.
        reference_windows: windows at the driver's default before the first decision.
        max_steps: truncate after this many windows; None = no such bound.
    """

    objective: Objective = Objective.ENERGY
    limit: float = 0.05
    window_s: float = 10.0
    budget_s: float = 600.0
    reference_windows: int = 1
    max_steps: int | None = None

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            ConfigError: a number is out of its range.
        """
        self.objective.check_limit(self.limit)
        if not (math.isfinite(self.window_s) and self.window_s > 0):
            raise ConfigError(f"window_s is a positive number of seconds; got {self.window_s:g}")
        if not self.budget_s > 0:
            raise ConfigError(f"budget_s is a positive number of seconds, or infinite; got {self.budget_s:g}")
        if self.reference_windows < 1:
            raise ConfigError(f"an episode needs at least one reference window; got {self.reference_windows}")
        if self.max_steps is not None and self.max_steps < self.reference_windows:
            raise ConfigError(f"max_steps={self.max_steps} ends before the {self.reference_windows} reference windows")


_FAULTS = {WindowEnd.LOST: "gpu_lost", WindowEnd.OVERHEATED: "overheated"}


class ControlLoop:
    """Runs one device under decisions, and keeps the books.

    The books: every joule and second is counted, references, search, profiling and settling included, against
    what the driver's default would have spent on the same work (the reference in force).
    """

    def __init__(
        self, device: Device, settings: ControlSettings | None = None, meter: ProgressMeter | None = None
    ) -> None:
        """Take a device; the loop closes it.

        Args:
            device: any device.
            settings: defaults where None.
            meter: how progress is measured; None = the first of work counter, counter work and period that answers.
        """
        self.device = device
        self.settings = settings or ControlSettings()
        self._meter = ChoosingMeter(*([meter] if meter else _meters_for(device.info.n_gpus)))
        self._shifts = ShiftDetector()
        self._context: PolicyContext | None = None
        self._last: Step | None = None
        self._segment = 0

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the device."""
        self.close()

    @property
    def context(self) -> PolicyContext:
        """What a policy may know of the episode that `begin` started."""
        if self._context is None:
            raise UsageError("no episode has begun; call begin() first")
        return self._context

    def begin(self, seed: int, workload: str | None = None) -> Step:
        """Start an episode at the driver's default and measure the reference.

        Returns:
            The Step of the last reference window.

        Raises:
            UnknownNameError: the device has no such workload.
        """
        self.device.begin(seed, workload)
        self._context = PolicyContext(
            clocks=self.device.clocks,
            objective=self.settings.objective,
            limit=self.settings.limit,
            default_pair=self.device.info.default_pair,
            gpu_name=self.device.info.gpu_name,
            window_s=self.settings.window_s,
            seed=seed,
        )
        self._last = None
        self._segment = 0
        self._meter.reset()
        self._shifts.reset()
        decision = Decision(RELEASE, counters=True, purpose=Purpose.REFERENCE, reason="measure the driver's default")
        step = self._advance(decision)
        for _ in range(self.settings.reference_windows - 1):
            if step.is_last:
                break
            step = self._advance(decision)
        return step

    def step(self, decision: Decision) -> Step:
        """Carry out a decision and return what its window showed.

        Raises:
            UsageError: no episode is running, this is no `Decision`, or a reference was asked for at locked clocks.
            ClockNotSupportedError: the action is outside the action space.
        """
        if self._last is None or self._last.is_last:
            raise UsageError("no episode is running; call begin() first")
        if not isinstance(decision, Decision):
            raise UsageError(f"a policy answers with a Decision, not with {decision!r}; wrap it: Decision(action)")
        return self._advance(decision)

    def truth(self) -> TruthTable:
        """Return the noise-free ratios, for the oracle and for scoring.

        Raises:
            DeviceError: the device is not a virtual one.
        """
        if not isinstance(self.device, HasTruth):
            raise DeviceError(f"a {self.device.info.kind} device has no oracle; use one of the virtual devices")
        return self.device.truth()

    def close(self) -> None:
        """Give the clocks back; calling it twice is fine."""
        self.device.close()

    def _advance(self, decision: Decision) -> Step:
        if decision.purpose is Purpose.REFERENCE and decision.action != RELEASE:
            raise UsageError(f"a reference is measured at action 0 (released), not at action {decision.action}")
        pair = self.device.clocks.pair_of(decision.action)
        try:
            self.device.set_clocks(pair)
            window = self.device.observe(self._meter.align(self._window_s(decision)))
        except (DeviceLostError, DeviceFaultError) as error:
            if self._last is None:
                raise
            return self._failed(self._last, decision, pair, is_lost=isinstance(error, DeviceLostError))
        if self._opens_segment(decision):
            self._segment += 1
            self._meter.reset()
        measurement = summarise(window, self._meter)
        reference = self._reference_after(decision, measurement)
        if reference is not None:
            measurement = replace(measurement, ratios=relative_to(measurement, reference))
        spent = self._spent(decision, measurement, reference)
        totals = self._add(decision, measurement, spent)
        index = 0 if self._last is None else self._last.index + 1
        is_work_done = spent.reaches_budget or window.end is WindowEnd.WORK_DONE
        self._last = Step(
            index=index,
            decision=decision,
            pair=pair,
            measurement=measurement,
            reference=reference,
            totals=totals,
            saved_frac=spent.saved_frac,
            excess=self._excess(measurement),
            terminated=is_work_done or window.end in _FAULTS,
            truncated=window.end is WindowEnd.LOG_END or (not is_work_done and self._is_out_of_time(index, totals)),
            fault=None if window.end is None else _FAULTS.get(window.end),
            shifted=self._shift_in(window),
        )
        return self._last

    def _failed(self, last: Step, decision: Decision, pair: ClockPair | None, *, is_lost: bool) -> Step:
        """End the episode with a window in which nothing was seen: for good, or because the driver may come back."""
        self._last = replace(
            last,
            index=last.index + 1,
            decision=decision,
            pair=pair,
            measurement=unseen(last.measurement.features.names),
            saved_frac=0.0,
            excess=math.nan,
            terminated=is_lost,
            truncated=not is_lost,
            fault="gpu_lost" if is_lost else "driver_fault",
            shifted="",
        )
        return self._last

    def _reference_after(self, decision: Decision, measurement: Measurement) -> Reference | None:
        """Return the reference in force after a window; see `Purpose.REFERENCE` for when a new segment opens."""
        known = self._last.reference if self._last else None
        if decision.action != RELEASE or decision.purpose in (Purpose.HOLD, Purpose.IDLE):
            return known
        measured = reference_of(measurement, self._segment)
        if self._opens_segment(decision) or known is None:
            return measured
        return known if measured is None else combine_references(known, measured)

    def _shift_in(self, window: Window) -> str:
        """Say how the workload has become another one; rows that were made from a table cannot tell."""
        shift = None if window.synthesised else self._shifts.update(window)
        return "" if shift is None else f"{shift.what} at {shift.at_s:.1f} s"

    def _window_s(self, decision: Decision) -> float:
        return self.settings.window_s if decision.window_s is None else decision.window_s

    def _opens_segment(self, decision: Decision) -> bool:
        """Tell whether a window measures the driver's default anew; see `Purpose.REFERENCE`."""
        was_reference = self._last is None or self._last.decision.purpose is Purpose.REFERENCE
        return decision.purpose is Purpose.REFERENCE and not was_reference

    def _spent(self, decision: Decision, measurement: Measurement, reference: Reference | None) -> _Spent:
        """Return what the window and its settling cost, cut where the budget is reached.

        Seconds are set against the default's where progress is known, joules where energy is known too; what nobody
        measured on either side is in neither sum. Without progress, a window of the default itself, or of a GPU
        that had nothing to do, is neither gain nor loss; one of locked clocks is a loss.
        """
        settle = measurement.settle
        seconds = measurement.duration_s + settle.seconds
        joules = measurement.energy_j + _or(settle.joules, settle.seconds * measurement.power_w)
        work_rate = measurement.progress.work_rate
        work = measurement.duration_s * work_rate + _or(settle.work, settle.seconds * work_rate)
        is_energy_known = math.isfinite(joules)
        joules = joules if is_energy_known else 0.0
        if reference is None or not math.isfinite(work):
            is_even = decision.action == RELEASE or decision.purpose is Purpose.IDLE
            even = (seconds, joules) if is_even else (0.0, 0.0)
            return _Spent(seconds, joules, *even, share=1.0, saved_frac=0.0, reaches_budget=False)
        reference_s = work * reference.seconds_per_work
        left_s = self.settings.budget_s - (self._last.totals.reference_seconds if self._last else 0.0)
        share = min(1.0, left_s / reference_s)
        reference_w = reference.joules_per_work / reference.seconds_per_work
        reference_j = reference_s * reference_w if is_energy_known else 0.0
        return _Spent(
            seconds=share * seconds,
            joules=share * joules,
            reference_seconds=share * reference_s,
            reference_joules=share * reference_j,
            share=share,
            saved_frac=share * (reference_j - joules) / (reference_w * self.settings.budget_s),
            reaches_budget=reference_s >= left_s,
        )

    def _add(self, decision: Decision, measurement: Measurement, spent: _Spent) -> Totals:
        before = self._last.totals if self._last else Totals()
        holds = before.held or decision.purpose is Purpose.HOLD
        return Totals(
            seconds=before.seconds + spent.seconds,
            joules=before.joules + spent.joules,
            reference_seconds=before.reference_seconds + spent.reference_seconds,
            reference_joules=before.reference_joules + spent.reference_joules,
            windows=before.windows + 1,
            search_windows=before.search_windows + (not holds),
            search_seconds=before.search_seconds + (0.0 if holds else spent.seconds),
            search_joules=before.search_joules + (0.0 if holds else spent.joules),
            settle_seconds=before.settle_seconds + spent.share * measurement.settle.seconds,
            settle_joules=before.settle_joules + spent.share * _or(measurement.settle.joules, 0.0),
            held=holds,
        )

    def _excess(self, measurement: Measurement) -> float:
        ratios = measurement.ratios
        if ratios is None:
            return math.nan
        return float(self.settings.objective.violation(ratios.time, ratios.energy, self.settings.limit))

    def _is_out_of_time(self, index: int, totals: Totals) -> bool:
        is_at_step_limit = self.settings.max_steps is not None and index + 1 >= self.settings.max_steps
        return is_at_step_limit or totals.seconds >= TIME_LIMIT_IN_BUDGETS * self.settings.budget_s


@dataclass(frozen=True, slots=True)
class _Spent:
    """One window's share in the books; ``share`` is the part of it that lies within the budget."""

    seconds: float
    joules: float
    reference_seconds: float
    reference_joules: float
    share: float
    saved_frac: float
    reaches_budget: bool


def _meters_for(n_gpus: int) -> list[ProgressMeter]:
    return _meters() if n_gpus == 1 else [GroupMeter(n_gpus, _meters)]


def _meters() -> list[ProgressMeter]:
    """Return every meter that asks nothing of the program, the best first."""
    from gpoeo_env.progress.period_meter import PeriodMeter  # noqa: PLC0415 - scipy takes a second to load

    return [WorkCounterMeter(), CounterWorkMeter(), PeriodMeter()]


def _or(value: float, otherwise: float) -> float:
    """Return a value, or what stands in for it where nobody measured it."""
    return value if math.isfinite(value) else otherwise
