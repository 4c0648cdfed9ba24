"""What the control loop tells a policy of sampled windows: the meter in use, and that the workload has shifted."""

from __future__ import annotations

from dataclasses import replace

from gpoeo_env.clocks import ClockPair
from gpoeo_env.device.simulated import SimulatedDevice
from gpoeo_env.env.control import ControlLoop, ControlSettings
from gpoeo_env.policy import Decision, Step
from gpoeo_env.records import Window
from gpoeo_env.signals import WORK
from gpoeo_env.sim.catalogue import load_gpu
from gpoeo_env.sim.suites.demo import demo_workloads

HELD = ClockPair(1800, 9501)
SWITCH = 8
"""Windows before the workload becomes another one."""


class SwitchingDevice(SimulatedDevice):
    """Runs one simulated workload, and from a given window on another one; the clocks stay as they were."""

    def observe(self, seconds: float) -> Window:
        self.n_windows = getattr(self, "n_windows", 0) + 1
        if self.n_windows == SWITCH + 1:
            run = self._running()
            t_s, energy_j, work, pair = run.t_s, run.energy_j, run.work, run.requested
            self.begin(1, "dlrm")
            self.set_clocks(pair)
            self._running().advance(t_s, energy_j, work)
        return super().observe(seconds)


def steps_on(device: SimulatedDevice, n_windows: int) -> list[Step]:
    with ControlLoop(device, ControlSettings(window_s=10.0, budget_s=10_000.0)) as loop:
        steps = [loop.begin(0, "resnet50")]
        action = device.clocks.action_of(HELD)
        steps.extend(loop.step(Decision(action)) for _ in range(n_windows))
    return steps


def test_a_workload_that_becomes_another_one_is_told_once_and_soon() -> None:
    steps = steps_on(SwitchingDevice(load_gpu("rtx3080ti"), demo_workloads()), 16)

    told = [step.index for step in steps if step.shifted]
    assert len(told) == 1
    assert SWITCH <= told[0] <= SWITCH + 1


def test_a_steady_workload_under_changing_clocks_is_never_told_to_have_shifted() -> None:
    device = SimulatedDevice(load_gpu("rtx3080ti"), demo_workloads())
    with ControlLoop(device, ControlSettings(window_s=10.0, budget_s=10_000.0)) as loop:
        steps = [loop.begin(0, "unet3d")]
        pairs = [ClockPair(sm_mhz, 9501) for sm_mhz in (1995, 1500, 1500, 1200, 1800, 1800, 1200, 1500)]
        steps.extend(loop.step(Decision(device.clocks.action_of(pair))) for pair in pairs)

    assert [step.index for step in steps if step.shifted] == []


def without_work(window: Window) -> Window:
    kept = [index for index, signal in enumerate(window.signals) if signal is not WORK]
    signals = tuple(window.signals[index] for index in kept)
    return replace(window, values=window.values[:, kept], signals=signals)


class UncountedDevice(SimulatedDevice):
    """A simulated GPU whose program tells nobody how far it is."""

    def observe(self, seconds: float) -> Window:
        return without_work(super().observe(seconds))


def test_without_a_work_counter_progress_comes_from_counter_work() -> None:
    device = UncountedDevice(load_gpu("rtx3080ti"), demo_workloads(), noise=0.002)
    with ControlLoop(device, ControlSettings(window_s=10.0, budget_s=1000.0)) as loop:
        loop.begin(0, "resnet50")
        step = loop.step(Decision(device.clocks.action_of(HELD)))
        true = loop.truth().of(step.decision.action)

    assert step.measurement.progress.kind == "counter_work"
    assert step.measurement.ratios is not None
    assert abs(step.measurement.ratios.time - true.time) < 3 * step.measurement.ratios.time_sd
    assert step.measurement.ratios.time_sd < 0.05
