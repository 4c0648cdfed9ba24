"""The books of an episode where something is unknown: nothing is counted on one side alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from gpoeo_env.clocks import RELEASE
from gpoeo_env.device.replay import ReplayDevice
from gpoeo_env.env.control import ControlLoop, ControlSettings
from gpoeo_env.errors import DeviceLostError, UsageError
from gpoeo_env.policy import Decision, Purpose
from gpoeo_env.records import Settle, Window, WindowEnd
from gpoeo_env.signals import ENERGY, POWER, WORK
from gpoeo_env.trace.sweep import SweepSet

REFERENCE = Decision(RELEASE, purpose=Purpose.REFERENCE)
Change = Callable[[int, Window], Window]


class AlteredDevice(ReplayDevice):
    """Replays without noise; every window is altered before anybody sees it."""

    def __init__(self, sweeps: SweepSet, change: Change) -> None:
        super().__init__(sweeps, noise=0.0)
        self.change, self.n_windows = change, 0

    def observe(self, seconds: float) -> Window:
        window = self.change(self.n_windows, super().observe(seconds))
        self.n_windows += 1
        return window


def without_energy(window: Window) -> Window:
    values = window.values.copy()
    values[:, [signal in (ENERGY, POWER) for signal in window.signals]] = np.nan
    return replace(window, values=values)


def loop_on(sweeps: SweepSet, change: Change) -> ControlLoop:
    return ControlLoop(AlteredDevice(sweeps, change), ControlSettings(window_s=10.0, budget_s=400.0))


def test_a_window_without_energy_counts_its_time_on_both_sides(sweeps: SweepSet) -> None:
    loop = loop_on(sweeps, lambda index, window: without_energy(window) if index in (1, 2) else window)
    loop.begin(0, "steady")
    for _ in range(3):
        step = loop.step(Decision(RELEASE))

    assert step.totals.seconds == pytest.approx(40.0)
    assert step.totals.slowdown == pytest.approx(0.0)
    assert step.totals.saving == pytest.approx(0.0)
    assert step.totals.joules == pytest.approx(20.0 * 200.0)


def test_settling_of_unknown_energy_is_taken_at_the_windows_power(sweeps: SweepSet) -> None:
    settle = Settle(seconds=1.0, joules=math.nan, work=0.5)
    loop = loop_on(sweeps, lambda index, window: replace(window, settle=settle) if index == 1 else window)
    loop.begin(0, "steady")
    step = loop.step(Decision(RELEASE))

    assert step.totals.joules == pytest.approx(21.0 * 200.0)
    assert step.totals.settle_joules == 0.0


def test_settling_of_unknown_work_is_taken_at_the_windows_rate(sweeps: SweepSet) -> None:
    settle = Settle(seconds=1.0, joules=200.0, work=math.nan)
    loop = loop_on(sweeps, lambda index, window: replace(window, settle=settle) if index == 1 else window)
    loop.begin(0, "steady")

    assert loop.step(Decision(RELEASE)).totals.reference_seconds == pytest.approx(21.0)


def test_a_segment_keeps_its_number_where_its_first_window_is_unusable(sweeps: SweepSet) -> None:
    loop = loop_on(sweeps, lambda index, window: without_energy(window) if index == 2 else window)
    loop.begin(0, "steady")
    loop.step(Decision(1))
    unusable, usable = loop.step(REFERENCE), loop.step(REFERENCE)

    assert unusable.reference is None
    assert usable.reference is not None
    assert usable.reference.segment == 1


def test_a_probe_of_the_default_refines_the_reference_and_a_hold_does_not(sweeps: SweepSet) -> None:
    loop = loop_on(sweeps, lambda _, window: window)
    loop.begin(0, "steady")
    loop.step(Decision(1, purpose=Purpose.PROBE))
    probed = loop.step(Decision(RELEASE, purpose=Purpose.PROBE))
    held = loop.step(Decision(RELEASE, purpose=Purpose.HOLD))

    assert probed.reference is not None
    assert (probed.reference.windows, probed.reference.segment) == (2, 0)
    assert held.reference == probed.reference


def test_a_lost_device_shows_nothing_of_the_window_before(sweeps: SweepSet) -> None:
    def lost(index: int, window: Window) -> Window:
        if index == 2:
            raise DeviceLostError("gone")
        return window

    loop = loop_on(sweeps, lost)
    loop.begin(0, "steady")
    seen, last = loop.step(Decision(1)), loop.step(Decision(2))

    assert last.index == seen.index + 1
    assert last.pair == loop.device.clocks.pair_of(2)
    assert last.measurement.ratios is None
    assert math.isnan(last.measurement.energy_j)
    assert (last.saved_frac, last.totals) == (0.0, seen.totals)
    assert math.isnan(last.excess)


def test_a_window_of_no_length_is_refused_and_not_replaced(sweeps: SweepSet) -> None:
    loop = loop_on(sweeps, lambda _, window: window)
    loop.begin(0, "steady")

    with pytest.raises(UsageError, match="positive number of seconds; got 0"):
        loop.step(Decision(1, window_s=0.0))


def test_an_answer_that_is_no_decision_is_named(sweeps: SweepSet) -> None:
    loop = loop_on(sweeps, lambda _, window: window)
    loop.begin(0, "steady")

    with pytest.raises(UsageError, match=r"answers with a Decision, not with 3; wrap it"):
        loop.step(3)  # type: ignore[arg-type]


def without_work(window: Window) -> Window:
    values = window.values.copy()
    values[:, [signal == WORK for signal in window.signals]] = np.nan
    return replace(window, values=values)


@pytest.mark.parametrize(
    ("decision", "expected_s"),
    [(Decision(RELEASE), 20.0), (Decision(1, purpose=Purpose.IDLE), 20.0), (Decision(1), 10.0)],
    ids=["released", "idle", "locked"],
)
def test_without_progress_only_locked_clocks_are_a_loss(
    sweeps: SweepSet, decision: Decision, expected_s: float
) -> None:
    loop = loop_on(sweeps, lambda index, window: without_work(window) if index == 1 else window)
    loop.begin(0, "steady")
    step = loop.step(decision)

    assert step.saved_frac == 0.0
    assert step.totals.seconds == pytest.approx(20.0)
    assert step.totals.reference_seconds == pytest.approx(expected_s)


def test_without_a_budget_the_run_goes_on_until_its_device_says_so(sweeps: SweepSet) -> None:
    def end_at_window_50(index: int, window: Window) -> Window:
        return replace(window, end=WindowEnd.WORK_DONE) if index == 50 else window

    device = AlteredDevice(sweeps, end_at_window_50)
    loop = ControlLoop(device, ControlSettings(window_s=10.0, budget_s=math.inf))
    step = loop.begin(0, "steady")
    while not step.is_last:
        step = loop.step(Decision(1))

    assert (step.index, step.terminated, step.truncated, step.fault) == (50, True, False, None)
    assert math.isfinite(step.totals.saving)


def test_an_overheated_gpu_ends_the_run(sweeps: SweepSet) -> None:
    loop = loop_on(sweeps, lambda index, window: replace(window, end=WindowEnd.OVERHEATED) if index == 1 else window)
    loop.begin(0, "steady")
    step = loop.step(Decision(1))

    assert (step.terminated, step.fault) == (True, "overheated")
