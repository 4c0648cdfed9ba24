from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpoeo_env.clocks import ClockPair
from gpoeo_env.signals import CANONICAL
from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.closed_form import operating_points
from gpoeo_env.sim.counters import CUPTI, GPM, CounterSet, counters_of
from gpoeo_env.sim.phases import Mix, Phase
from gpoeo_env.sim.physics.power import activity_of
from gpoeo_env.sim.physics.timing import phase_times
from gpoeo_env.sim.suites.drawn import drawn_workloads
from gpoeo_env.sim.workloads import Workload

STEP = Phase(
    name="step",
    compute_s=0.10,
    onchip_s=0.04,
    memory_s=0.06,
    host_s=0.0,
    overlap=0.0,
    pcie_bytes=4e6,
    mix=Mix(tensor=0.4, fp32=0.2, integer=0.1, onchip=0.5, bandwidth=0.9, occupancy=0.5, fill=0.8, l1_hit=0.7),
)


def _read(gpu: Gpu, phase: Phase, names: tuple[str, ...]) -> dict[str, float]:
    times = phase_times(gpu, phase, np.array([1995.0]), np.array([9501.0]))
    values = counters_of(phase, times, activity_of(phase, times), names)
    return dict(zip(names, values[0].tolist(), strict=True))


def test_gpm_counters_are_shares_of_the_time_that_everything_takes(gpu: Gpu) -> None:
    read = _read(gpu, STEP, GPM)
    assert read["sm_active"] == pytest.approx(0.8)
    assert read["sm_occupancy"] == pytest.approx(0.4)
    assert read["tensor_active"] == pytest.approx(0.4 * 0.10 / 0.20)
    assert read["dram_active"] == pytest.approx(0.9 * 0.06 / 0.20)
    assert read["mem_util"] == pytest.approx(0.06 / 0.20)
    assert read["gpu_util"] == 1.0
    assert read["pcie_rx_bytes"] == pytest.approx(4e6 / 0.20)


def test_cupti_features_count_relative_to_active_cycles_and_instructions(gpu: Gpu) -> None:
    read = _read(gpu, STEP, CUPTI)
    tensor, fma, alu = 0.2 / 0.8, 0.1 / 0.8, 0.05 / 0.8
    lsu = (0.5 * 0.04 / 0.20 + 0.5 * 0.9 * 0.06 / 0.20) / 0.8
    issue = 0.06 * tensor + 0.5 * fma + 0.5 * alu + 0.25 * lsu
    assert [read[name] for name in ("pipe_tensor", "pipe_fma", "pipe_alu", "pipe_lsu")] == pytest.approx(
        [tensor, fma, alu, lsu]
    )
    assert read["ipc_ratio"] == pytest.approx(1.2 * issue)
    assert read["l1_miss_ratio"] == pytest.approx(0.3)
    assert read["l1_miss_per_inst"] == pytest.approx(2.5 * 0.25 * lsu / issue * 0.3)
    assert read["l2_miss_per_inst"] == pytest.approx(read["l1_miss_per_inst"] * read["l2_miss_ratio"])


def test_the_paper_has_17_features_beside_the_clock() -> None:
    assert len(CUPTI) == len(set(CUPTI)) == 17


def test_ratios_stay_between_0_and_1_at_every_pair(gpu: Gpu) -> None:
    counters = CounterSet.named(GPM + CUPTI)
    is_ratio = np.array([unit == "1" for unit in counters.units])
    for workload in drawn_workloads(12, seed=5):
        ratios = operating_points(gpu, workload, counters.names).mean_counters[:, is_ratio]
        assert ratios.min() >= 0
        assert ratios.max() <= 1


def test_a_stall_shows_in_no_pipe(gpu: Gpu) -> None:
    read = _read(gpu, Phase(name="input", host_s=0.1), GPM + CUPTI)
    assert {name: value for name, value in read.items() if name != "l1_miss_ratio" and value} == {}


def test_memory_looks_busier_when_only_the_memory_clock_falls(gpu: Gpu, demo: dict[str, Workload]) -> None:
    counters = operating_points(gpu, demo["resnet50"]).mean_counters[:, GPM.index("dram_active")]
    slow, fast = (gpu.clocks.action_of(ClockPair(1995, mem)) for mem in (5001, 9501))
    assert counters[slow] > counters[fast]


def test_data_that_toggle_more_show_in_no_counter(gpu: Gpu) -> None:
    lively = replace(STEP, mix=replace(STEP.mix, toggling=1.5))
    assert _read(gpu, lively, GPM + CUPTI) == _read(gpu, STEP, GPM + CUPTI)


def test_gpm_counters_are_known_by_name_everywhere() -> None:
    assert set(GPM) <= {signal.name for signal in CANONICAL}
