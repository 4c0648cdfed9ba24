from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from gpoeo_env.clocks import ClockPair
from gpoeo_env.device.replay import ReplayDevice
from gpoeo_env.env.control import ControlLoop, ControlSettings
from gpoeo_env.errors import ClockNotSupportedError, ConfigError, DeviceError, UnknownNameError, UsageError
from gpoeo_env.policy import Decision
from gpoeo_env.records import Settle, Spread
from gpoeo_env.signals import ENERGY, WORK
from gpoeo_env.trace.sweep import SweepSet

SLOW = ClockPair(1000, 4000)


def _errors(device: ReplayDevice, *, seed: int, windows: int) -> NDArray[np.float64]:
    """Relative errors of time and power at the reference of "steady" (1 s of work a second, 200 W)."""
    device.begin(seed, "steady")
    seen = [device.observe(10.0) for _ in range(windows)]
    return np.array([(1 / window.rate(WORK.name) - 1, window.rate(ENERGY.name) / 200 - 1) for window in seen])


def test_time_and_power_carry_independent_errors_of_the_stated_size(sweeps: SweepSet) -> None:
    errors = _errors(ReplayDevice(sweeps, noise=0.02), seed=11, windows=4000)
    # Standard errors of 4000 draws: mean 0.02 / 63, standard deviation 0.02 / 89, correlation 1 / 63.
    assert np.abs(errors.mean(axis=0)) == pytest.approx([0.0, 0.0], abs=4 * 0.02 / 63)
    assert errors.std(axis=0) == pytest.approx([0.02, 0.02], abs=4 * 0.02 / 89)
    assert abs(np.mean(errors[:, 0] * errors[:, 1])) / 0.02**2 < 4 / 63


def test_the_first_window_is_as_noisy_as_any_other(sweeps: SweepSet) -> None:
    device = ReplayDevice(sweeps, noise=0.02)
    first = np.concatenate([_errors(device, seed=seed, windows=1) for seed in range(1000)])
    assert first.std(axis=0) == pytest.approx([0.02, 0.02], rel=0.1)


def test_equal_seeds_repeat_and_other_seeds_do_not(sweeps: SweepSet) -> None:
    device = ReplayDevice(sweeps)
    first = _errors(device, seed=3, windows=4)
    np.testing.assert_array_equal(_errors(device, seed=3, windows=4), first)
    assert not np.array_equal(_errors(device, seed=4, windows=4), first)


def test_workloads_draw_different_noise_under_one_seed(sweeps: SweepSet) -> None:
    device = ReplayDevice(sweeps)

    def first_error(workload: str, reference_w: float) -> float:
        device.begin(seed=3, workload=workload)
        return device.observe(1.0).rate(ENERGY.name) / reference_w

    assert first_error("steady", 200.0) != pytest.approx(first_error("overclocked", 110.0))


def test_without_a_seed_every_run_draws_its_own_noise(sweeps: SweepSet) -> None:
    device = ReplayDevice(sweeps)
    device.begin(None)
    first = device.observe(1.0)
    device.begin(None)
    assert not np.array_equal(device.observe(1.0).values, first.values)


def test_windows_state_their_own_errors(sweeps: SweepSet) -> None:
    device = ReplayDevice(sweeps, noise=0.03)
    device.begin(seed=0)
    assert device.observe(1.0).spread == Spread(0.03, 0.03)


def test_settling_takes_time_and_energy_at_the_new_pair_and_does_half_the_work(sweeps: SweepSet) -> None:
    device = ReplayDevice(sweeps, noise=0.0, settle_s=0.4)
    device.begin(seed=0)
    device.set_clocks(SLOW)
    window = device.observe(10.0)
    assert window.settle.seconds == 0.4
    assert window.settle.joules == pytest.approx(0.4 * 100.0)
    assert window.settle.work == pytest.approx(0.5 * 0.4 / 1.6)


def test_settling_passes_before_the_first_row(sweeps: SweepSet) -> None:
    device = ReplayDevice(sweeps, noise=0.0, settle_s=0.4)
    device.begin(seed=0)
    device.set_clocks(SLOW)
    window = device.observe(10.0)
    assert window.t_s.tolist() == pytest.approx([0.4, 10.4])
    assert window.values[0, :2] == pytest.approx([window.settle.joules, window.settle.work])


def test_every_change_before_a_window_is_paid_for(sweeps: SweepSet) -> None:
    device = ReplayDevice(sweeps, settle_s=0.4)
    device.begin(seed=0)
    device.set_clocks(SLOW)
    device.set_clocks(None)
    assert device.observe(10.0).settle.seconds == pytest.approx(0.8)
    assert device.observe(10.0).settle == Settle()


def test_an_episode_pays_for_its_settling(sweeps: SweepSet) -> None:
    settings = ControlSettings(budget_s=100.0)
    with ControlLoop(ReplayDevice(sweeps, noise=0.0, settle_s=1.0), settings) as loop:
        step = loop.begin(seed=0)
        while not step.is_last:
            step = loop.step(Decision(loop.device.clocks.action_of(ClockPair(1000, 5000))))
    # 10 s of reference, 1 s of settling at half rate, then full rate at 1.3 s a unit of work.
    left = 90.0 - 0.5 / 1.3
    assert step.totals.seconds == pytest.approx(10.0 + 1.0 + 1.3 * left, rel=1e-3)
    assert step.totals.joules == pytest.approx(2000.0 + 120.0 + 156.0 * left, rel=1e-3)
    assert step.totals.settle_seconds == pytest.approx(1.0)


def test_holding_the_default_spends_exactly_what_the_default_spends(sweeps: SweepSet) -> None:
    with ControlLoop(ReplayDevice(sweeps, noise=0.0)) as loop:
        step = loop.begin(seed=0)
        while not step.is_last:
            step = loop.step(Decision(0))
    assert step.terminated
    assert step.totals.reference_seconds == pytest.approx(600.0)
    assert (step.totals.saving, step.totals.slowdown) == pytest.approx((0.0, 0.0), abs=1e-12)


def test_begin_rewinds_the_devices_clock(sweeps: SweepSet) -> None:
    device = ReplayDevice(sweeps)
    device.begin(seed=0)
    device.observe(5.0)
    device.begin(seed=0)
    assert device.observe(5.0).t_s[0] == 0.0


def test_a_failed_begin_leaves_the_run_as_it_was(sweeps: SweepSet) -> None:
    device = ReplayDevice(sweeps)
    device.begin(seed=0)
    device.observe(5.0)
    with pytest.raises(UnknownNameError, match=r"workload 'stedy'; did you mean steady\?"):
        device.begin(seed=0, workload="stedy")
    assert device.observe(5.0).t_s[0] == 5.0


def test_an_action_outside_the_table_is_refused(sweeps: SweepSet) -> None:
    with ControlLoop(ReplayDevice(sweeps)) as loop:
        loop.begin(seed=0)
        with pytest.raises(ClockNotSupportedError, match="no action 5; this table has 0"):
            loop.step(Decision(5))


def test_a_device_needs_begin_before_anything_else(sweeps: SweepSet) -> None:
    device = ReplayDevice(sweeps)
    for call in (lambda: device.set_clocks(None), lambda: device.observe(1.0), device.truth):
        with pytest.raises(DeviceError, match=r"call begin\(seed, workload\) first"):
            call()


def test_a_closed_device_cannot_begin_again(sweeps: SweepSet) -> None:
    device = ReplayDevice(sweeps)
    device.close()
    with pytest.raises(DeviceError, match="the device is closed; open a new one"):
        device.begin(seed=0)


def test_a_negative_seed_is_refused(sweeps: SweepSet) -> None:
    with pytest.raises(UsageError, match="got -1"):
        ReplayDevice(sweeps).begin(seed=-1)


@pytest.mark.parametrize("noise", [-0.01, 0.5, math.nan])
def test_noise_out_of_range_is_refused(sweeps: SweepSet, noise: float) -> None:
    with pytest.raises(ConfigError, match="noise is a fraction"):
        ReplayDevice(sweeps, noise=noise)


@pytest.mark.parametrize("settle_s", [-1.0, math.inf])
def test_settling_time_out_of_range_is_refused(sweeps: SweepSet, settle_s: float) -> None:
    with pytest.raises(ConfigError, match="settle_s"):
        ReplayDevice(sweeps, settle_s=settle_s)
