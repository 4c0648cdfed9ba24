from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.phases import Phase
from gpoeo_env.sim.physics.timing import blend, phase_times
from gpoeo_env.sim.suites.drawn import drawn_workloads

TIMES = st.floats(1e-4, 10.0)


def test_activities_without_overlap_take_the_sum_of_their_times() -> None:
    assert blend((np.array(2.0), np.array(3.0), np.array(1.0)), 0.0) == pytest.approx(6.0)


def test_activities_that_overlap_fully_take_the_longest_time() -> None:
    assert blend((np.array(2.0), np.array(3.0), np.array(1.0)), 0.999) == pytest.approx(3.0)


def test_nothing_takes_no_time() -> None:
    assert blend((np.array(0.0), np.array(0.0)), 0.5) == pytest.approx(0.0, abs=1e-300)


@given(one=TIMES, other=TIMES, third=TIMES, overlap=st.floats(0.0, 0.99))
def test_partial_overlap_lies_between_the_longest_time_and_the_sum(
    one: float, other: float, third: float, overlap: float
) -> None:
    parts = (np.array(one), np.array(other), np.array(third))
    together = float(blend(parts, overlap))
    assert max(one, other, third) <= together * (1 + 1e-12)
    assert together <= (one + other + third) * (1 + 1e-12)


def _seconds(gpu: Gpu, phase: Phase, sm_mhz: float, mem_mhz: float) -> float:
    return float(phase_times(gpu, phase, np.array(sm_mhz), np.array(mem_mhz)).total_s)


def test_compute_time_is_inverse_to_the_sm_clock(gpu: Gpu) -> None:
    phase = Phase(name="dense", compute_s=0.2)
    assert _seconds(gpu, phase, 1995 / 2, 405.0) == pytest.approx(0.4)


def test_memory_time_is_inverse_to_the_memory_clock(gpu: Gpu) -> None:
    phase = Phase(name="copy", memory_s=0.2)
    assert _seconds(gpu, phase, 210.0, 9501 / 2) == pytest.approx(0.4)


def test_on_chip_time_follows_the_sm_clock_in_part(gpu: Gpu) -> None:
    phase, floor = Phase(name="cached", onchip_s=0.2), gpu.throughput.onchip_floor
    assert _seconds(gpu, phase, 1995 / 2, 9501.0) == pytest.approx(0.2 / (floor + (1 - floor) / 2))


def test_host_time_is_what_no_clock_changes(gpu: Gpu) -> None:
    phase = Phase(name="stall", host_s=0.3)
    assert _seconds(gpu, phase, 210.0, 405.0) == _seconds(gpu, phase, 1995.0, 9501.0) == pytest.approx(0.3)


def test_no_time_rises_with_a_clock(gpu: Gpu) -> None:
    sm_mhz = np.array(gpu.clocks.sm_clocks, dtype=np.float64)[None, :]
    mem_mhz = np.array(gpu.clocks.mem_clocks, dtype=np.float64)[:, None]
    for workload in drawn_workloads(12, seed=3):
        for phase in workload.phases:
            total_s = phase_times(gpu, phase, sm_mhz, mem_mhz).total_s
            assert np.all(np.diff(total_s, axis=0) <= 1e-15)
            assert np.all(np.diff(total_s, axis=1) <= 1e-15)


def test_a_kernel_runs_for_no_more_than_the_whole_phase(gpu: Gpu) -> None:
    phase = Phase(name="launches", compute_s=0.1, host_s=0.08, host_overlap=0.5)
    busy_frac = float(phase_times(gpu, phase, np.array(1995.0), np.array(9501.0)).busy_frac)
    assert busy_frac == pytest.approx(0.1 / np.hypot(0.1, 0.08))
