from __future__ import annotations

import math
from dataclasses import replace

import pytest

from gpoeo_env.clocks import RELEASE, ClockPair
from gpoeo_env.device.replay import ReplayDevice
from gpoeo_env.env.control import TIME_LIMIT_IN_BUDGETS, ControlLoop, ControlSettings
from gpoeo_env.errors import (
    ClockNotSupportedError,
    ConfigError,
    DeviceError,
    DeviceFaultError,
    DeviceLostError,
    UsageError,
)
from gpoeo_env.objective import Objective
from gpoeo_env.policy import Decision, Purpose, Step
from gpoeo_env.records import Progress, Window, WindowEnd
from gpoeo_env.trace.sweep import SweepSet

SLOW = ClockPair(500, 5000)
"""1.25 s and 150 J per work, against 1 s and 200 J at the reference."""
REFERENCE_AGAIN = Decision(RELEASE, purpose=Purpose.REFERENCE)


class FailingDevice(ReplayDevice):
    """Replays some windows, then ends or is lost."""

    def __init__(
        self, sweeps: SweepSet, windows: int, end: WindowEnd | None, error: type[DeviceError] = DeviceLostError
    ) -> None:
        super().__init__(sweeps, noise=0.0)
        self._left = windows
        self._end = end
        self._error = error

    def observe(self, seconds: float) -> Window:
        self._left -= 1
        if self._left < 0 and self._end is None:
            raise self._error("the GPU fell off the bus; reboot")
        window = super().observe(seconds)
        return replace(window, end=self._end) if self._left < 0 else window


class Blind:
    """A meter that refuses every window."""

    def measure(self, window: Window) -> Progress:
        return Progress(math.nan, math.nan, "none", reason=f"blind to {window.duration_s:g} s")


def loop_on(sweeps: SweepSet, settings: ControlSettings | None = None, *, settle_s: float = 0.0) -> ControlLoop:
    return ControlLoop(ReplayDevice(sweeps, noise=0.0, settle_s=settle_s), settings)


def action_of(loop: ControlLoop, pair: ClockPair) -> int:
    return loop.device.clocks.action_of(pair)


def run_to_end(loop: ControlLoop, action: int) -> list[Step]:
    steps = [loop.begin(0, "steady")]
    while not steps[-1].is_last:
        steps.append(loop.step(Decision(action)))
    return steps


def test_an_episode_begins_with_the_released_clocks_as_its_reference(sweeps: SweepSet) -> None:
    step = loop_on(sweeps).begin(0, "steady")
    assert (step.index, step.pair, step.decision.purpose) == (0, None, Purpose.REFERENCE)
    assert step.reference is not None
    assert step.reference.seconds_per_work == pytest.approx(1.0)
    assert step.reference.joules_per_work == pytest.approx(200.0)


def test_the_context_says_what_a_policy_may_know(sweeps: SweepSet) -> None:
    loop = loop_on(sweeps, ControlSettings(objective=Objective.EDP, limit=0.1, window_s=5.0))
    loop.begin(3, "light")
    context = loop.context
    assert (context.clocks, context.objective, context.limit) == (loop.device.clocks, Objective.EDP, 0.1)
    assert (context.window_s, context.seed, context.default_pair) == (5.0, 3, ClockPair(1000, 5000))


def test_a_locked_pair_is_measured_against_the_reference(sweeps: SweepSet) -> None:
    loop = loop_on(sweeps)
    loop.begin(0, "steady")
    step = loop.step(Decision(action_of(loop, SLOW)))
    assert step.pair == SLOW
    assert step.measurement.ratios is not None
    assert step.measurement.ratios.time == pytest.approx(1.25)
    assert step.measurement.ratios.energy == pytest.approx(0.75)
    assert step.excess == pytest.approx(0.25 - 0.05)


def test_a_decision_chooses_the_length_of_its_window(sweeps: SweepSet) -> None:
    loop = loop_on(sweeps)
    loop.begin(0, "steady")
    assert loop.step(Decision(RELEASE, window_s=2.5)).measurement.duration_s == pytest.approx(2.5)
    assert loop.step(Decision(RELEASE)).measurement.duration_s == pytest.approx(10.0)


def test_the_saved_fractions_add_up_to_the_saving_of_the_run(sweeps: SweepSet) -> None:
    loop = loop_on(sweeps, ControlSettings(budget_s=95.0), settle_s=0.5)
    steps = run_to_end(loop, action_of(loop, SLOW))
    last = steps[-1]
    assert last.terminated
    assert sum(step.saved_frac for step in steps) == pytest.approx(last.totals.saving)


def test_the_last_window_is_cut_at_the_budget(sweeps: SweepSet) -> None:
    loop = loop_on(sweeps, ControlSettings(budget_s=27.0))
    last = run_to_end(loop, action_of(loop, SLOW))[-1]
    assert last.totals.reference_seconds == pytest.approx(27.0)
    assert last.totals.seconds == pytest.approx(10.0 + 17.0 * 1.25)
    assert last.totals.joules == pytest.approx(10.0 * 200.0 + 17.0 * 150.0)


def test_settling_is_paid_in_the_totals_and_not_in_the_ratios(sweeps: SweepSet) -> None:
    loop = loop_on(sweeps, settle_s=2.0)
    loop.begin(0, "steady")
    step = loop.step(Decision(action_of(loop, SLOW)))
    assert step.totals.settle_seconds == pytest.approx(2.0)
    assert step.totals.seconds == pytest.approx(10.0 + 2.0 + 10.0)
    assert step.measurement.ratios is not None
    assert step.measurement.ratios.time == pytest.approx(1.25)


def test_windows_before_the_first_hold_count_as_search(sweeps: SweepSet) -> None:
    loop = loop_on(sweeps)
    loop.begin(0, "steady")
    loop.step(Decision(1, purpose=Purpose.PROBE))
    loop.step(Decision(2, purpose=Purpose.HOLD))
    step = loop.step(Decision(1, purpose=Purpose.PROBE))
    assert (step.totals.windows, step.totals.search_windows) == (4, 2)
    assert step.totals.search_seconds == pytest.approx(20.0)


def test_more_reference_windows_are_averaged_before_the_first_decision(sweeps: SweepSet) -> None:
    step = loop_on(sweeps, ControlSettings(reference_windows=3)).begin(0, "steady")
    assert step.index == 2
    assert step.reference is not None
    assert (step.reference.windows, step.reference.segment) == (3, 0)


def test_a_reference_directly_after_a_reference_refines_it(sweeps: SweepSet) -> None:
    loop = loop_on(sweeps)
    loop.begin(0, "steady")
    reference = loop.step(REFERENCE_AGAIN).reference
    assert reference is not None
    assert (reference.windows, reference.segment) == (2, 0)


def test_a_reference_after_anything_else_opens_a_new_segment(sweeps: SweepSet) -> None:
    loop = loop_on(sweeps)
    loop.begin(0, "steady")
    loop.step(Decision(1))
    reference = loop.step(REFERENCE_AGAIN).reference
    assert reference is not None
    assert (reference.windows, reference.segment) == (1, 1)


def test_holding_the_released_clocks_leaves_the_reference_alone(sweeps: SweepSet) -> None:
    loop = loop_on(sweeps)
    first = loop.begin(0, "steady").reference
    assert loop.step(Decision(RELEASE, purpose=Purpose.HOLD)).reference == first


def test_a_reference_at_locked_clocks_is_refused(sweeps: SweepSet) -> None:
    loop = loop_on(sweeps)
    loop.begin(0, "steady")
    with pytest.raises(UsageError, match="measured at action 0"):
        loop.step(Decision(1, purpose=Purpose.REFERENCE))


def test_an_action_outside_the_table_is_refused(sweeps: SweepSet) -> None:
    loop = loop_on(sweeps)
    loop.begin(0, "steady")
    with pytest.raises(ClockNotSupportedError, match="no action 5"):
        loop.step(Decision(5))


def test_unknown_progress_saves_nothing_and_is_named(sweeps: SweepSet) -> None:
    loop = ControlLoop(ReplayDevice(sweeps, noise=0.0), meter=Blind())
    loop.begin(0, "steady")
    step = loop.step(Decision(1))
    assert step.reference is None
    assert step.measurement.ratios is None
    assert (step.saved_frac, step.totals.reference_seconds) == (0.0, 10.0)
    assert math.isnan(step.excess)
    assert "progress" in step.measurement.missing


def test_an_episode_without_progress_is_truncated_by_time(sweeps: SweepSet) -> None:
    settings = ControlSettings(window_s=10.0, budget_s=20.0)
    loop = ControlLoop(ReplayDevice(sweeps, noise=0.0), settings, Blind())
    last = run_to_end(loop, RELEASE)[-1]
    assert (last.terminated, last.truncated) == (False, True)
    assert last.totals.seconds == pytest.approx(TIME_LIMIT_IN_BUDGETS * 20.0)


def test_an_episode_is_truncated_after_its_most_steps(sweeps: SweepSet) -> None:
    last = run_to_end(loop_on(sweeps, ControlSettings(max_steps=4)), 1)[-1]
    assert (last.index, last.terminated, last.truncated) == (3, False, True)


def test_work_done_at_the_step_limit_terminates_and_does_not_truncate(sweeps: SweepSet) -> None:
    last = run_to_end(loop_on(sweeps, ControlSettings(budget_s=40.0, max_steps=4)), RELEASE)[-1]
    assert (last.index, last.terminated, last.truncated) == (3, True, False)


@pytest.mark.parametrize(
    ("end", "is_terminated", "is_truncated", "fault"),
    [
        (WindowEnd.WORK_DONE, True, False, None),
        (WindowEnd.LOG_END, False, True, None),
        (WindowEnd.LOST, True, False, "gpu_lost"),
    ],
)
def test_the_end_of_a_window_says_how_the_episode_ends(
    sweeps: SweepSet, end: WindowEnd, fault: str | None, *, is_terminated: bool, is_truncated: bool
) -> None:
    last = run_to_end(ControlLoop(FailingDevice(sweeps, windows=2, end=end)), RELEASE)[-1]
    assert (last.index, last.terminated, last.truncated, last.fault) == (2, is_terminated, is_truncated, fault)


def test_a_driver_that_fails_within_an_episode_truncates_it_with_a_fault(sweeps: SweepSet) -> None:
    steps = run_to_end(ControlLoop(FailingDevice(sweeps, 2, None, DeviceFaultError)), RELEASE)
    assert (steps[-1].terminated, steps[-1].truncated, steps[-1].fault) == (False, True, "driver_fault")
    assert steps[-1].totals == steps[-2].totals


def test_a_driver_that_fails_before_anything_is_known_is_an_error(sweeps: SweepSet) -> None:
    with pytest.raises(DeviceFaultError):
        ControlLoop(FailingDevice(sweeps, 0, None, DeviceFaultError)).begin(0)


def test_a_device_lost_within_an_episode_ends_it_with_a_fault(sweeps: SweepSet) -> None:
    steps = run_to_end(ControlLoop(FailingDevice(sweeps, windows=2, end=None)), RELEASE)
    assert (steps[-1].terminated, steps[-1].fault) == (True, "gpu_lost")
    assert steps[-1].totals == steps[-2].totals


def test_a_device_lost_before_the_first_window_raises(sweeps: SweepSet) -> None:
    with pytest.raises(DeviceLostError, match="fell off the bus"):
        ControlLoop(FailingDevice(sweeps, windows=0, end=None)).begin(0, "steady")


def test_a_step_before_begin_is_refused(sweeps: SweepSet) -> None:
    with pytest.raises(UsageError, match="call begin"):
        loop_on(sweeps).step(Decision(0))


def test_a_step_after_the_end_is_refused(sweeps: SweepSet) -> None:
    loop = loop_on(sweeps, ControlSettings(max_steps=2))
    run_to_end(loop, 1)
    with pytest.raises(UsageError, match="call begin"):
        loop.step(Decision(1))


def test_the_context_before_begin_is_refused(sweeps: SweepSet) -> None:
    with pytest.raises(UsageError, match="call begin"):
        _ = loop_on(sweeps).context


def test_the_truth_holds_the_ratios_of_every_action(sweeps: SweepSet) -> None:
    loop = loop_on(sweeps)
    loop.begin(0, "steady")
    truth = loop.truth()
    assert truth.of(action_of(loop, SLOW)).time == pytest.approx(1.25)
    assert truth.of(RELEASE).energy == 1.0


def test_a_loop_closes_its_device(sweeps: SweepSet) -> None:
    with loop_on(sweeps) as loop:
        loop.begin(0, "steady")
    with pytest.raises(DeviceError, match="closed"):
        loop.begin(0, "steady")


@pytest.mark.parametrize(
    ("objective", "expected"),
    [(Objective.ENERGY, 0.20), (Objective.PERFORMANCE, 0.0), (Objective.EDP, 0.0), (Objective.ED2P, 0.0)],
)
def test_the_excess_follows_the_objective(sweeps: SweepSet, objective: Objective, expected: float) -> None:
    loop = loop_on(sweeps, ControlSettings(objective=objective, limit=0.05))
    loop.begin(0, "steady")
    assert loop.step(Decision(action_of(loop, SLOW))).excess == pytest.approx(expected)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"limit": 5.0}, "a limit is a fraction"),
        ({"window_s": 0.0}, "window_s is a positive number"),
        ({"budget_s": math.nan}, "budget_s is a positive number"),
        ({"reference_windows": 0}, "at least one reference window"),
        ({"max_steps": 1, "reference_windows": 2}, "ends before the 2 reference windows"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ControlSettings(**settings)  # type: ignore[arg-type]  # the wrong values are the point
