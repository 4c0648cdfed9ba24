"""The states of the controller, on a replayed device that can change its mind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from gpoeo_env.clocks import RELEASE, ClockPair
from gpoeo_env.device.replay import ReplayDevice
from gpoeo_env.env.control import ControlLoop, ControlSettings
from gpoeo_env.objective import Objective
from gpoeo_env.policy import Decision, Purpose, Step, breaks_limit
from gpoeo_env.progress.meter import WorkCounterMeter
from gpoeo_env.records import Ratios, Window
from gpoeo_env.runner.episode import run_episode
from gpoeo_env.signals import WORK
from gpoeo_env.trace.sweep import SweepSet
from gpoeo_policies.gpoeo.building import ModelStart
from gpoeo_policies.gpoeo.models import EnergyTimeModel
from gpoeo_policies.gpoeo.policy import GpoeoPolicy

LIMIT = 0.05
WINDOW_S = 10.0
Change = Callable[[int, Window], Window]


class ChangingDevice(ReplayDevice):
    """Replays sweeps; from a given window on, what was seen is changed."""

    def __init__(self, sweeps: SweepSet, change: Change, noise: float = 0.002) -> None:
        super().__init__(sweeps, noise=noise)
        self.change = change
        self.n_windows = 0

    def observe(self, seconds: float) -> Window:
        window = self.change(self.n_windows, super().observe(seconds))
        self.n_windows += 1
        return window


def scaled(window: Window, work: float, joules: float = 1.0) -> Window:
    """Return a window in which work and energy grew faster or slower."""
    values = window.values.copy()
    for name, factor in (("work", work), ("energy_j", joules)):
        column = [signal.name for signal in window.signals].index(name)
        values[1:, column] = values[0, column] + factor * (values[1:, column] - values[0, column])
    return replace(window, values=values)


def steps_of(
    device: ReplayDevice, model: EnergyTimeModel, budget_s: float = 600.0, objective: Objective = Objective.ENERGY
) -> Sequence[Step]:
    settings = ControlSettings(objective=objective, limit=LIMIT, window_s=WINDOW_S, budget_s=budget_s)
    with ControlLoop(device, settings, WorkCounterMeter()) as loop:
        return run_episode(loop, GpoeoPolicy(ModelStart(model)), seed=0, workload="work0").steps


def unchanged(_: int, window: Window) -> Window:
    return window


def purposes(steps: Sequence[Step]) -> list[Purpose]:
    return [step.decision.purpose for step in steps]


def test_a_quiet_episode_is_reference_search_confirmation_hold(sweeps: SweepSet, model: EnergyTimeModel) -> None:
    steps = steps_of(ChangingDevice(sweeps, unchanged), model)
    seen = purposes(steps)
    first_hold = seen.index(Purpose.HOLD)

    assert seen[0] is Purpose.REFERENCE
    assert seen.count(Purpose.REFERENCE) == 1
    assert {Purpose.PROBE, Purpose.CONFIRM} >= set(seen[1:first_hold])
    assert seen[-1] is Purpose.HOLD


def test_a_held_pair_has_been_measured_before(sweeps: SweepSet, model: EnergyTimeModel) -> None:
    steps = steps_of(ReplayDevice(sweeps, noise=0.01), model)
    measured: set[int] = set()
    for step in steps:
        if step.decision.purpose is Purpose.HOLD:
            assert step.decision.action in measured
        measured.add(step.decision.action)


@pytest.mark.parametrize("objective", list(Objective))
def test_the_held_pair_is_within_a_few_percent_of_the_best(
    sweeps: SweepSet, model: EnergyTimeModel, objective: Objective
) -> None:
    truth = sweeps.named("work0").truth()
    held = truth.of(steps_of(ReplayDevice(sweeps, noise=0.005), model, objective=objective)[-1].decision.action)
    best = truth.of(objective.best(truth.time, truth.energy, LIMIT))

    assert objective.violation(held.time, held.energy, LIMIT) == 0.0
    assert objective.to_minimise(held.time, held.energy) <= 1.03 * objective.to_minimise(best.time, best.energy)


def test_counters_are_read_at_the_reference_alone(sweeps: SweepSet, model: EnergyTimeModel) -> None:
    steps = steps_of(ReplayDevice(sweeps, noise=0.002), model)

    assert [step.decision.counters for step in steps] == [True] + [False] * (len(steps) - 1)


def test_missing_counters_are_read_once_more(sweeps: SweepSet, model: EnergyTimeModel) -> None:
    def without_counters(index: int, window: Window) -> Window:
        values = window.values.copy()
        if index == 0:
            values[:, [signal.name == "dram_active" for signal in window.signals]] = np.nan
        return replace(window, values=values)

    steps = steps_of(ChangingDevice(sweeps, without_counters), model)

    assert purposes(steps)[1] is Purpose.PROFILE
    assert steps[1].decision.counters
    assert steps[1].decision.action == RELEASE
    assert "dram_active" in steps[1].decision.reason
    assert purposes(steps)[2] in (Purpose.PROBE, Purpose.CONFIRM)


def test_a_breach_is_left_within_one_window(sweeps: SweepSet, model: EnergyTimeModel) -> None:
    """From window 20 on, every locked pair is 15 % slower than it was, and the default is not."""

    def slower_when_locked(index: int, window: Window) -> Window:
        return scaled(window, 0.85, 0.9) if index >= 20 and window.requested is not None else window

    steps = steps_of(ChangingDevice(sweeps, slower_when_locked), model)

    held = steps[19].decision.action
    assert held != RELEASE
    assert steps[20].decision.action == held
    assert steps[21].decision.action == RELEASE
    assert "limit is broken" in steps[21].decision.reason
    assert all(step.decision.action != held for step in steps[21:])
    assert steps[-1].excess == 0.0


def test_a_single_odd_window_changes_nothing(sweeps: SweepSet, model: EnergyTimeModel) -> None:
    def faster_once(index: int, window: Window) -> Window:
        return scaled(window, 1.2) if index == 25 else window

    steps = steps_of(ChangingDevice(sweeps, faster_once), model)

    assert purposes(steps).count(Purpose.REFERENCE) == 1
    assert steps[26].decision.action == steps[25].decision.action


def test_odd_windows_far_apart_are_no_shift(sweeps: SweepSet, model: EnergyTimeModel) -> None:
    def faster_now_and_then(index: int, window: Window) -> Window:
        return scaled(window, 1.2) if index in (25, 33, 40) else window

    steps = steps_of(ChangingDevice(sweeps, faster_now_and_then), model)

    assert purposes(steps).count(Purpose.REFERENCE) == 1


def test_windows_without_progress_far_apart_are_waited_through(sweeps: SweepSet, model: EnergyTimeModel) -> None:
    def stuck_now_and_then(index: int, window: Window) -> Window:
        return scaled(window, 0.0) if index in (20, 25, 30, 35) else window

    steps = steps_of(ChangingDevice(sweeps, stuck_now_and_then), model)

    assert purposes(steps).count(Purpose.REFERENCE) == 1
    assert all(step.decision.action != RELEASE for step in steps[20:])


def test_a_pair_that_broke_the_limit_once_is_never_tried_again(sweeps: SweepSet, model: EnergyTimeModel) -> None:
    def much_slower_once(index: int, window: Window) -> Window:
        return scaled(window, 0.85) if index == 20 else window

    steps = steps_of(ChangingDevice(sweeps, much_slower_once), model, budget_s=900.0)

    assert steps[21].decision.action == RELEASE
    assert all(step.decision.action != steps[20].decision.action for step in steps[21:])
    assert steps[-1].decision.action != RELEASE


def test_a_default_that_slows_down_is_no_breach(sweeps: SweepSet, model: EnergyTimeModel) -> None:
    """With a limit of zero on curves without slack the driver's default is held, and it cannot be rolled back."""

    def slower_once(index: int, window: Window) -> Window:
        return scaled(window, 0.7) if index == 30 else window

    settings = ControlSettings(limit=0.0, window_s=WINDOW_S, budget_s=600.0)
    with ControlLoop(ChangingDevice(sweeps, slower_once), settings, WorkCounterMeter()) as loop:
        steps = run_episode(loop, GpoeoPolicy(ModelStart(model)), seed=0, workload="work0").steps

    assert steps[30].decision.action == RELEASE
    assert steps[30].excess > 0.3
    assert purposes(steps)[31] is Purpose.HOLD


@pytest.mark.parametrize(
    ("objective", "time_sd", "energy_sd", "action", "expected"),
    [
        (Objective.ENERGY, 0.01, 0.5, 1, True),
        (Objective.ENERGY, 0.011, 0.0, 1, False),
        (Objective.ENERGY, 0.01, 0.5, RELEASE, False),
        (Objective.PERFORMANCE, 0.0, 0.0, 1, False),
    ],
)
def test_a_breach_is_three_standard_errors_over_the_limit(
    sweeps: SweepSet, objective: Objective, time_sd: float, energy_sd: float, action: int, *, expected: bool
) -> None:
    with ControlLoop(ReplayDevice(sweeps)) as loop:
        step = loop.begin(0)
    measurement = replace(step.measurement, ratios=Ratios(1.08, 1.0, time_sd, energy_sd))
    breaking = replace(step, measurement=measurement, excess=0.031, decision=Decision(action))

    assert breaks_limit(breaking, objective) is expected


def test_a_shift_opens_a_new_segment_and_searches_again(sweeps: SweepSet, model: EnergyTimeModel) -> None:
    """From window 25 on, the work runs twice as fast at 0.8 of the power: another model, or a smaller batch."""

    def shifted(index: int, window: Window) -> Window:
        return scaled(window, 2.0, 0.8) if index >= 25 else window

    steps = steps_of(ChangingDevice(sweeps, shifted), model, budget_s=1200.0)

    again = [step.index for step in steps if step.decision.purpose is Purpose.REFERENCE][1:]
    assert again == [27]
    assert steps[27].decision.counters
    assert steps[27].reference is not None
    assert steps[27].reference.segment == 1
    assert purposes(steps)[-1] is Purpose.HOLD
    assert steps[-1].measurement.ratios is not None
    assert steps[-1].measurement.ratios.saving > 0.05


def test_a_shift_that_the_samples_show_needs_no_second_window(sweeps: SweepSet, model: EnergyTimeModel) -> None:
    policy = GpoeoPolicy(ModelStart(model))
    with ControlLoop(ReplayDevice(sweeps), ControlSettings(window_s=WINDOW_S)) as loop:
        step = loop.begin(0, "work0")
        policy.reset(loop.context)
        step = loop.step(policy.act(step))
        decision = policy.act(replace(step, shifted="power at 12.0 s"))

    assert (decision.action, decision.purpose, decision.counters) == (RELEASE, Purpose.REFERENCE, True)
    assert "power at 12.0 s" in decision.reason


def test_a_workload_that_slows_down_everywhere_is_a_shift_and_no_breach(
    sweeps: SweepSet, model: EnergyTimeModel
) -> None:
    def slower(index: int, window: Window) -> Window:
        return scaled(window, 0.7) if index >= 20 else window

    steps = steps_of(ChangingDevice(sweeps, slower), model, budget_s=900.0)

    assert [step.decision.action for step in steps[21:23]] == [RELEASE, RELEASE]
    assert steps[22].decision.purpose is Purpose.REFERENCE
    assert purposes(steps)[-1] is Purpose.HOLD
    assert steps[-1].decision.action != RELEASE


def test_without_progress_the_clocks_are_released_until_it_is_back(sweeps: SweepSet, model: EnergyTimeModel) -> None:
    def stuck(index: int, window: Window) -> Window:
        return scaled(window, 0.0) if 20 <= index < 30 else window

    steps = steps_of(ChangingDevice(sweeps, stuck), model, budget_s=900.0)

    assert [step.decision.action for step in steps[23:31]] == [RELEASE] * 8
    assert "did not advance" in steps[23].decision.reason
    assert steps[23].decision.purpose is Purpose.REFERENCE
    assert steps[26].decision.purpose is Purpose.HOLD
    assert steps[31].decision.purpose is Purpose.REFERENCE
    assert steps[-1].decision.action != RELEASE


def test_a_device_that_never_tells_progress_keeps_the_drivers_clocks(sweeps: SweepSet, model: EnergyTimeModel) -> None:
    def without_work(_: int, window: Window) -> Window:
        kept = [index for index, signal in enumerate(window.signals) if signal is not WORK]
        signals = tuple(window.signals[index] for index in kept)
        return replace(window, values=window.values[:, kept], signals=signals)

    settings = ControlSettings(limit=LIMIT, window_s=WINDOW_S, budget_s=600.0, max_steps=12)
    with ControlLoop(ChangingDevice(sweeps, without_work), settings, WorkCounterMeter()) as loop:
        steps = run_episode(loop, GpoeoPolicy(ModelStart(model)), seed=0, workload="work0").steps

    assert {step.decision.action for step in steps} == {RELEASE}
    assert steps[-1].decision.purpose is Purpose.HOLD
    assert "no work counter" in steps[-1].decision.reason


def test_an_episode_leaves_nothing_behind(sweeps: SweepSet, model: EnergyTimeModel) -> None:
    policy = GpoeoPolicy(ModelStart(model))
    settings = ControlSettings(limit=LIMIT, window_s=WINDOW_S, budget_s=400.0)
    with ControlLoop(ReplayDevice(sweeps, noise=0.01), settings) as loop:
        first = run_episode(loop, policy, seed=1, workload="work0").steps
        run_episode(loop, policy, seed=2, workload="work5")
        again = run_episode(loop, policy, seed=1, workload="work0").steps

    assert [step.decision for step in again] == [step.decision for step in first]


def test_reasons_say_what_is_expected(sweeps: SweepSet, model: EnergyTimeModel) -> None:
    steps = steps_of(ReplayDevice(sweeps, noise=0.01), model)

    assert "% energy" in steps[-1].decision.reason
    assert "sure of the limit" in steps[-1].decision.reason


def test_a_locked_pair_is_what_the_device_was_asked_for(sweeps: SweepSet, model: EnergyTimeModel) -> None:
    steps = steps_of(ReplayDevice(sweeps, noise=0.002), model)

    assert isinstance(steps[-1].pair, ClockPair)
    assert steps[-1].pair == sweeps.named("work0").clocks.pair_of(steps[-1].decision.action)
