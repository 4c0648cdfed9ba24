from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.closed_form import operating_points
from gpoeo_env.sim.phases import Phase
from gpoeo_env.sim.timeline import Pace, Timeline, joined, timeline
from gpoeo_env.sim.workloads import Workload

STEP = Phase(name="step", compute_s=0.08)
WAIT = Phase(name="wait", host_s=0.02)
EVALUATION = Phase(name="evaluation", compute_s=0.3, every=4)
STEADY = Workload(name="steady", family="test", phases=(STEP, WAIT, EVALUATION))


def _line(
    gpu: Gpu, workload: Workload, *, work: float = 0.0, seconds: float = 10.0, pace: Pace | None = None
) -> Timeline:
    points = operating_points(gpu, workload)
    top = gpu.clocks.action_of(gpu.clocks.top)
    return timeline(points, workload, top, work=work, seconds=seconds, pace=pace or Pace(seed=1))


def test_every_fourth_iteration_ends_with_the_evaluation(gpu: Gpu) -> None:
    line = _line(gpu, STEADY)
    at_iterations = np.interp(np.arange(9.0), line.iterations, line.edge_s)
    assert np.diff(at_iterations) == pytest.approx([0.1, 0.1, 0.1, 0.4] * 2)


def test_energy_is_that_of_the_phases_passed(gpu: Gpu) -> None:
    points = operating_points(gpu, STEADY)
    step_w, wait_w, _ = points.phase_watts[:, gpu.clocks.action_of(gpu.clocks.top)]
    line = _line(gpu, STEADY)
    assert line.energy_j(np.array([0.04, 0.1]))[0] == pytest.approx(0.04 * step_w)
    assert line.energy_j(np.array([0.1]))[0] == pytest.approx(0.08 * step_w + 0.02 * wait_w)


def test_the_mean_over_many_iterations_is_the_closed_form(gpu: Gpu, demo: dict[str, Workload]) -> None:
    for workload in (STEADY, demo["lstm"], demo["unet3d"]):
        points, top = operating_points(gpu, workload), gpu.clocks.action_of(gpu.clocks.top)
        seconds = 3000 * float(points.seconds[top])
        line = _line(gpu, workload, seconds=seconds)
        done = line.work(np.array([seconds]))[0]
        assert done == pytest.approx(3000, rel=0.02)
        assert line.energy_j(np.array([seconds]))[0] / seconds == pytest.approx(points.watts[top], rel=0.01)


def test_a_timeline_goes_on_within_an_iteration_where_the_last_one_ended(gpu: Gpu, demo: dict[str, Workload]) -> None:
    whole = _line(gpu, demo["lstm"], seconds=20.0)
    done = float(whole.work(np.array([7.3]))[0])
    rest = _line(gpu, demo["lstm"], work=done, seconds=10.0)
    t_s = np.linspace(0.0, 10.0, 50)
    assert rest.work(t_s) == pytest.approx(whole.work(7.3 + t_s))
    assert rest.energy_j(t_s) == pytest.approx(whole.energy_j(7.3 + t_s) - whole.energy_j(np.array([7.3])))


def test_iterations_vary_alike_under_one_seed_and_not_under_another(gpu: Gpu, demo: dict[str, Workload]) -> None:
    one, same, other = (_line(gpu, demo["lstm"], pace=Pace(seed)).edge_s[:100] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.allclose(one, other)


def test_lengths_scatter_by_what_was_asked_around_a_mean_of_one(gpu: Gpu) -> None:
    varied = Workload(name="varied", family="test", phases=(STEP,), length_sd=0.2)
    line = _line(gpu, varied, seconds=0.08 * 8000)
    lengths = np.diff(line.edge_s[:8001]) / 0.08
    assert lengths.mean() == pytest.approx(1.0, abs=4 * 0.2 / np.sqrt(8000))
    assert lengths.std() == pytest.approx(0.2, rel=0.05)


def test_longer_batches_make_gpu_phases_longer_and_not_the_wait(gpu: Gpu) -> None:
    varied = replace(STEADY, phases=(STEP, WAIT), length_sd=0.3)
    durations = np.diff(_line(gpu, varied, seconds=50.0).edge_s)
    assert durations[0::2].std() > 0.01
    assert durations[1::2] == pytest.approx(0.02)


def test_slowness_and_power_scale_a_whole_window(gpu: Gpu) -> None:
    plain, paced = _line(gpu, STEADY), _line(gpu, STEADY, pace=Pace(1, slowness=1.1, power=0.9))
    assert paced.work(np.array([11.0])) == pytest.approx(plain.work(np.array([10.0])))
    assert paced.energy_j(np.array([8.8])) == pytest.approx(1.1 * 0.9 * plain.energy_j(np.array([8.0])))


def test_a_cut_timeline_ends_at_the_work_and_joins_another(gpu: Gpu, demo: dict[str, Workload]) -> None:
    first, then = _line(gpu, STEADY).until_work(10.0), _line(gpu, demo["gcn"], work=10.0)
    whole = joined((first, then))
    at_s = np.array([first.seconds, first.seconds + 1.0])
    assert whole.work(at_s) == pytest.approx([10.0, then.work(np.array([1.0]))[0]])
    assert np.diff(whole.energy_j(at_s))[0] == pytest.approx(then.energy_j(np.array([1.0]))[0])
    assert np.all(np.diff(whole.edge_s) >= 0)


def test_counters_integrate_to_their_mean(gpu: Gpu) -> None:
    points, top = operating_points(gpu, STEADY), gpu.clocks.action_of(gpu.clocks.top)
    line = _line(gpu, STEADY, seconds=70.0)
    cycles = np.array([0.0, 70.0])  # 100 cycles of four iterations
    means = np.diff(line.counter_seconds_at(cycles), axis=0)[0] / 70.0
    assert means == pytest.approx(points.mean_counters[top])
