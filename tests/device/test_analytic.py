from __future__ import annotations

from dataclasses import replace

import pytest

from gpoeo_env.clocks import ClockPair
from gpoeo_env.device.analytic import AnalyticDevice, build
from gpoeo_env.device.simulation import CounterChoice
from gpoeo_env.env.control import ControlLoop
from gpoeo_env.errors import ConfigError, UnknownNameError, UsageError
from gpoeo_env.policy import Decision
from gpoeo_env.progress.meter import WorkCounterMeter
from gpoeo_env.progress.summary import summarise
from gpoeo_env.signals import ENERGY, WORK
from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.closed_form import sweep_of
from gpoeo_env.sim.counters import CUPTI, GPM
from gpoeo_env.sim.physics.limits import POWER_CAP
from gpoeo_env.sim.suites.demo import demo_workloads
from gpoeo_env.sim.workloads import Shift


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
    sweep = sweep_of(gpu, workload)
    recorded = sweep.counters[sweep.reference_row].tolist()
    assert [features.get(name) for name in GPM] == pytest.approx(recorded)


def _weak(gpu: Gpu) -> Gpu:
    """The same card with a power limit that full load meets far below the top clock."""
    return gpu.model_copy(update={"power_limit_w": 250.0})


def test_a_power_limit_shows_in_the_clocks_and_in_the_reasons(gpu: Gpu) -> None:
    device = AnalyticDevice(_weak(gpu), demo_workloads())
    device.begin(seed=0, workload="bert-base")
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


def test_settling_takes_as_long_as_the_gpu_needs_for_the_target(gpu: Gpu) -> None:
    device = AnalyticDevice(gpu, demo_workloads())
    device.begin(seed=0)
    targets = (ClockPair(210, 9251), ClockPair(1995, 9251), ClockPair(1995, 405), None)
    settled = []
    for target in targets:
        device.set_clocks(target)
        settled.append(device.observe(10.0).settle.seconds)
    steps = zip((None, *targets[:-1]), targets, strict=True)
    assert settled == pytest.approx([gpu.switching_s(old, new) for old, new in steps])
    assert settled[0] < settled[1] < settled[2]


def test_settling_takes_what_was_asked_for(gpu: Gpu) -> None:
    device = AnalyticDevice(gpu, demo_workloads(), settle_s=0.0)
    device.begin(seed=0)
    device.set_clocks(gpu.clocks.pairs[0])
    assert device.observe(10.0).settle.seconds == 0.0


def test_a_workload_that_shifts_in_mid_window_shows_the_share_of_both(gpu: Gpu) -> None:
    demo = {workload.name: workload for workload in demo_workloads()}
    first, then = sweep_of(gpu, demo["gcn"]), sweep_of(gpu, demo["ppo"])
    row = first.reference_row
    shifting = replace(demo["gcn"], shift=Shift(after_work=6.0 / first.seconds[row], becomes=demo["ppo"]))
    device = AnalyticDevice(gpu, [shifting], noise=0.0)
    device.begin(seed=0)
    window = device.observe(10.0)
    assert window.rate(ENERGY.name) == pytest.approx(0.6 * first.watts[row] + 0.4 * then.watts[row])
    assert window.rate(WORK.name) == pytest.approx(0.6 / first.seconds[row] + 0.4 / then.seconds[row])
    active = window.column("sm_active")
    assert active is not None
    assert active[0] == pytest.approx(0.6 * first.counters[row, 0] + 0.4 * then.counters[row, 0])
    assert device.truth().time[1:] == pytest.approx(then.time_ratio)


def test_work_that_grows_takes_longer_as_time_goes_by(gpu: Gpu) -> None:
    device = AnalyticDevice(gpu, [replace(demo_workloads()[0], drift_per_hour=0.2)], noise=0.0)
    device.begin(seed=0)
    early = device.observe(1.0).rate(WORK.name)
    device.observe(3598.0)
    assert early / device.observe(1.0).rate(WORK.name) == pytest.approx(1.2, rel=1e-3)


def test_a_gpu_reports_the_counters_that_were_asked_for(gpu: Gpu) -> None:
    names = {
        choice: {signal.name for signal in AnalyticDevice(gpu, demo_workloads(), counters=choice).signals}
        for choice in CounterChoice
    }
    assert set(GPM) <= names[CounterChoice.GPM]
    assert set(CUPTI) <= names[CounterChoice.CUPTI]
    assert names[CounterChoice.BOTH] == names[CounterChoice.GPM] | names[CounterChoice.CUPTI]
    assert not set(GPM) & names[CounterChoice.CUPTI]


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
    assert device.simulation.gpu == gpu
    assert device.info.workloads == tuple(workload.name for workload in demo_workloads())


def test_a_spec_without_a_gpu_lists_what_there_is() -> None:
    with pytest.raises(UsageError, match="device sim needs a GPU, for example sim:rtx3080ti"):
        build(None, {})


def test_a_spec_with_an_unknown_gpu_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean rtx3080ti"):
        build("rtx3080", {})


def test_a_spec_with_noise_out_of_range_says_where() -> None:
    with pytest.raises(ConfigError, match=r"device sim:rtx3080ti: noise = 0\.5"):
        build("rtx3080ti", {"noise": 0.5})


def test_a_spec_chooses_the_suite_and_the_counters() -> None:
    device = build("rtx3080ti", {"suite": "paper", "counters": "cupti"})
    assert len(device.info.workloads) == 71
    assert "ipc_ratio" in {signal.name for signal in device.signals}


def test_a_spec_with_an_unknown_suite_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"suite 'papr'; did you mean paper\?"):
        build("rtx3080ti", {"suite": "papr"})
