from __future__ import annotations

from dataclasses import replace

import pytest

from gpoeo_env.clocks import ClockPair
from gpoeo_env.device.analytic import POWER_CAP, AnalyticDevice, build
from gpoeo_env.env.control import ControlLoop
from gpoeo_env.errors import ConfigError, UnknownNameError, UsageError
from gpoeo_env.policy import Decision
from gpoeo_env.progress.meter import WorkCounterMeter
from gpoeo_env.progress.summary import summarise
from gpoeo_env.signals import ENERGY, WORK
from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.closed_form import COUNTER_NAMES, sweep_of
from gpoeo_env.sim.workloads import demo_workloads


def test_windows_without_noise_are_the_closed_form_at_every_pair(gpu: Gpu) -> None:
    workload = demo_workloads()[2]
    sweep = sweep_of(gpu, workload)
    device = AnalyticDevice(gpu, [workload], noise=0.0)
    device.begin(seed=0)
    for row in range(0, len(gpu.clocks), 37):
        device.set_clocks(gpu.clocks.pairs[row])
        window = device.observe(10.0)
        assert window.rate(WORK.name) * sweep.seconds[row] == pytest.approx(1.0)
        assert window.rate(ENERGY.name) == pytest.approx(sweep.watts[row])


def test_the_truth_is_the_closed_forms_ratios(gpu: Gpu) -> None:
    workload = demo_workloads()[0]
    sweep = sweep_of(gpu, workload)
    device = AnalyticDevice(gpu, [workload])
    device.begin(seed=0)
    assert device.truth().time[1:] == pytest.approx(sweep.time_ratio)
    assert device.truth().energy[1:] == pytest.approx(sweep.energy_ratio)


def test_windows_carry_the_counters_of_the_simulated_sweeps(gpu: Gpu) -> None:
    workload = demo_workloads()[0]
    device = AnalyticDevice(gpu, [workload])
    device.begin(seed=0)
    features = summarise(device.observe(10.0), WorkCounterMeter()).features
    recorded = sweep_of(gpu, workload).counters[-1].tolist()
    assert [features.get(name) for name in COUNTER_NAMES] == pytest.approx(recorded)


def test_a_power_limit_shows_in_the_clocks_and_in_the_reasons(gpu: Gpu) -> None:
    workload = replace(demo_workloads()[0], activity=1.0)
    device = AnalyticDevice(gpu, [workload])
    device.begin(seed=0)
    device.set_clocks(gpu.clocks.top)
    window = device.observe(10.0)
    assert window.throttle_reasons == (POWER_CAP,)
    assert window.observed is not None
    assert window.observed.sm_mhz < gpu.clocks.top.sm_mhz


def test_clocks_under_the_power_limit_give_no_reason(gpu: Gpu) -> None:
    device = AnalyticDevice(gpu, demo_workloads())
    device.begin(seed=0, workload="dlrm")
    device.set_clocks(ClockPair(1500, 9501))
    window = device.observe(10.0)
    assert (window.observed, window.throttle_reasons) == (ClockPair(1500, 9501), ())


def test_settling_takes_what_the_gpu_takes_unless_told_otherwise(gpu: Gpu) -> None:
    for settle_s, expected in ((None, gpu.settle_s), (0.0, 0.0)):
        device = AnalyticDevice(gpu, demo_workloads(), settle_s=settle_s)
        device.begin(seed=0)
        device.set_clocks(gpu.clocks.pairs[0])
        assert device.observe(10.0).settle.seconds == pytest.approx(expected)


def test_it_says_that_no_gpu_was_measured(gpu: Gpu) -> None:
    info = AnalyticDevice(gpu, demo_workloads()).info
    assert info.kind == "simulated"
    assert "no GPU was measured" in info.provenance
    assert (info.gpu_name, info.power_limit_w) == (gpu.full_name, 350.0)


def test_an_episode_at_the_best_static_pair_saves_what_the_truth_promises(gpu: Gpu) -> None:
    with ControlLoop(AnalyticDevice(gpu, demo_workloads(), noise=0.0)) as loop:
        step = loop.begin(seed=0, workload="gcn")
        truth = loop.truth()
        best = loop.settings.objective.best(truth.time, truth.energy, loop.settings.limit)
        while not step.is_last:
            step = loop.step(Decision(best))
    # The reference window is 10 s of 600 s of work.
    assert step.totals.saving == pytest.approx(truth.of(best).saving * 590 / 600, abs=1e-3)
    assert step.totals.slowdown == pytest.approx(truth.of(best).slowdown * 590 / 600, abs=1e-3)


def test_a_device_without_workloads_is_refused(gpu: Gpu) -> None:
    with pytest.raises(UsageError, match="at least one workload"):
        AnalyticDevice(gpu, [])


def test_workloads_of_one_name_are_refused(gpu: Gpu) -> None:
    with pytest.raises(UsageError, match="listed twice: bert-base"):
        AnalyticDevice(gpu, [demo_workloads()[0]] * 2)


def test_a_spec_opens_the_catalogued_gpu_with_the_demonstration(gpu: Gpu) -> None:
    device = build("rtx3080ti", {"noise": 0.02})
    assert device.gpu == gpu
    assert device.info.workloads == tuple(workload.name for workload in demo_workloads())


def test_a_spec_without_a_gpu_lists_what_there_is() -> None:
    with pytest.raises(UsageError, match="device sim needs a GPU, for example sim:rtx3080ti"):
        build(None, {})


def test_a_spec_with_an_unknown_gpu_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean rtx3080ti\?"):
        build("rtx3080", {})


def test_a_spec_with_noise_out_of_range_says_where() -> None:
    with pytest.raises(ConfigError, match=r"device sim:rtx3080ti: noise = 0\.5"):
        build("rtx3080ti", {"noise": 0.5})
