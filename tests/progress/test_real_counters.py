"""Counter work against measured truth: iterations of real training loops, and real programs at ten clocks."""

from __future__ import annotations

import csv
import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gpoeo_env.progress.counter_work import CounterWorkMeter
from gpoeo_env.records import Window
from gpoeo_env.signals import Behaviour, Signal, signal_named

Floats = NDArray[np.float64]

H200_COLUMNS = {
    "power_w": "power_w",
    "power_instant_w": "power_instant_w",
    "gpu_util_pct": "gpu_util",
    "sm_clock_mhz": "sm_clock_mhz",
    "mem_clock_mhz": "mem_clock_mhz",
    "gpm_sm_util": "sm_active",
    "gpm_any_tensor_util": "tensor_active",
    "gpm_dram_bw_util": "dram_active",
    "gpm_fp64_util": "fp64_active",
    "gpm_fp32_util": "fp32_active",
    "gpm_fp16_util": "fp16_active",
    "gpm_integer_util": "integer_active",
}
V100_COLUMNS = {
    "DRAMA": "dram_active",
    "FP16A": "fp16_active",
    "FP32A": "fp32_active",
    "FP64A": "fp64_active",
    "SMACT": "sm_active",
    "TENSO": "tensor_active",
    "core_frequency": "sm_clock_mhz",
    "memory_frequency": "mem_clock_mhz",
}
H200_MEM_MHZ = 3201.0


class Recorded:
    """A recording with its true iterations."""

    def __init__(self, csv_path: Path) -> None:
        with csv_path.open() as file:
            names = file.readline().strip().split(",")
            table = np.genfromtxt(file, delimiter=",")
        kept = [index for index, name in enumerate(names) if name in H200_COLUMNS]
        scale = [0.01 if names[index].endswith(("_pct", "_util")) else 1.0 for index in kept]
        self.t_s: Floats = table[:, 0]
        self.values: Floats = table[:, kept] * scale
        self.signals = tuple(_signal(H200_COLUMNS[names[index]]) for index in kept)
        if "mem_clock_mhz" not in names:
            self.values = np.column_stack([self.values, np.full(len(table), H200_MEM_MHZ)])
            self.signals = (*self.signals, signal_named("mem_clock_mhz"))
        with csv_path.with_suffix(".marks.csv").open() as file:
            marks = list(csv.DictReader(file))
        self.edges_s = np.array([float(row["start_s"]) for row in marks] + [float(marks[-1]["end_s"])])

    def window(self, start_s: float, end_s: float) -> Window:
        is_in = (self.t_s >= start_s) & (self.t_s <= end_s)
        return Window(self.t_s[is_in], self.values[is_in], self.signals, None, None)

    def iterations(self, start_s: float, end_s: float) -> float:
        return float(np.diff(np.interp([start_s, end_s], self.edges_s, np.arange(len(self.edges_s))))[0])

    def starts(self, window_s: float, step_s: float) -> Iterator[float]:
        yield from np.arange(self.edges_s[0], self.edges_s[-1] - window_s, step_s).tolist()


def _signal(name: str) -> Signal:
    return Signal(name, "W", Behaviour.GAUGE) if name == "power_instant_w" else signal_named(name)


def work_per_iteration(recorded: Recorded, window_s: float, meter: CounterWorkMeter) -> Floats:
    return np.array(
        [
            meter.measure(recorded.window(start_s, start_s + window_s)).work_rate
            / (recorded.iterations(start_s, start_s + window_s) / window_s)
            for start_s in recorded.starts(window_s, 0.61)
        ]
    )


@pytest.mark.parametrize(
    ("name", "window_s"),
    [
        ("gpt2_accum", 10.0),
        ("gpt2_eval", 3 * 3.793),
        ("gcn", 10.0),
        ("dcgan", 10.0),
        ("stream", 10.0),
        ("resnet50_stall", 10.0),
    ],
)
def test_work_per_true_iteration_is_constant(shared_data: Path, name: str, window_s: float) -> None:
    recorded = Recorded(shared_data / "h200_training" / f"{name}.csv")
    work = work_per_iteration(recorded, window_s, CounterWorkMeter())
    deviation = np.abs(work / np.median(work) - 1)
    assert np.median(deviation) <= 0.01
    assert np.percentile(deviation, 95) <= 0.03


@pytest.mark.parametrize("name", ["gpt2_accum", "gcn", "dcgan", "stream", "resnet50_stall"])
def test_the_stated_error_at_fixed_clocks_is_honest(shared_data: Path, name: str) -> None:
    recorded = Recorded(shared_data / "h200_training" / f"{name}.csv")
    meter = CounterWorkMeter()
    work = work_per_iteration(recorded, 10.0, meter)
    stated = [meter.measure(recorded.window(s, s + 10.0)).rel_sd for s in recorded.starts(10.0, 0.61)]
    assert np.mean(np.abs(work / np.median(work) - 1) <= 2 * np.array(stated)) >= 0.9


def test_another_workload_is_not_measured_in_the_unit_of_the_first(shared_data: Path) -> None:
    recorded = Recorded(shared_data / "h200_training" / "shift.csv")
    meter = CounterWorkMeter()
    meter.measure(recorded.window(recorded.edges_s[0], recorded.edges_s[0] + 10.0))
    progress = meter.measure(recorded.window(recorded.edges_s[-1] - 10.0, recorded.edges_s[-1]))
    assert math.isnan(progress.work_rate)
    assert "disagree" in progress.reason


def test_polling_at_20_ms_and_at_random_intervals_gives_the_same_work(shared_data: Path) -> None:
    meter = CounterWorkMeter()
    per_iteration = [
        float(np.median(work_per_iteration(Recorded(shared_data / folder / f"{name}.csv"), 10.0, meter)))
        for folder, name in (
            ("h200_gpm_refresh", "gpt2_accum_20ms"),
            ("h200_gpm_refresh", "gpt2_accum_random_60_140ms"),
            ("h200_training", "gpt2_accum"),
        )
    ]
    assert np.ptp(per_iteration) / np.mean(per_iteration) <= 0.005


def v100_programs(path: Path) -> dict[tuple[str, str], dict[int, dict[str, float]]]:
    programs: dict[tuple[str, str], dict[int, dict[str, float]]] = defaultdict(dict)
    with path.open() as file:
        for row in csv.DictReader(file):
            clock = int(row["core_frequency"])
            numbers = {name: float(row[name] or "nan") for name in (*V100_COLUMNS, "time")}
            programs[row["benchmark"] + row["kernel"], row["argNo"]][clock] = numbers
    return programs


def v100_window(row: dict[str, float]) -> Window:
    values = [row[name] for name in V100_COLUMNS]
    signals = tuple(signal_named(name) for name in V100_COLUMNS.values())
    return Window(np.array([0.0, 10.0]), np.array([values, values]), signals, None, None)


def slowdown_errors(path: Path) -> tuple[Floats, Floats, int]:
    """Return relative errors of the time ratio against 1380 MHz, what was stated for them, and programs refused."""
    errors, stated, refused = [], [], 0
    for rows in v100_programs(path).values():
        meter = CounterWorkMeter()
        reference = meter.measure(v100_window(rows[1380]))
        if math.isnan(reference.work_rate):
            refused += 1
            continue
        for row in (rows[clock] for clock in sorted(rows) if 900 <= clock < 1380):
            progress = meter.measure(v100_window(row))
            true_ratio = row["time"] / rows[1380]["time"]
            errors.append(reference.work_rate / progress.work_rate / true_ratio - 1)
            stated.append(math.hypot(progress.rel_sd, reference.rel_sd))
    return np.abs(errors), np.array(stated), refused


def test_slowdown_across_clocks_is_right_without_touching_the_program(shared_data: Path) -> None:
    errors, stated, refused = slowdown_errors(shared_data / "kernels_v100_counters" / "v100-dvfs-real-profile.csv")
    assert np.median(errors) <= 0.015
    assert np.percentile(errors, 95) <= 0.04
    assert np.mean(errors <= 2 * stated) >= 0.9
    assert refused == 1


def test_slowdown_across_clocks_holds_on_programs_that_the_constants_were_not_taken_from(shared_data: Path) -> None:
    errors, stated, _ = slowdown_errors(shared_data / "kernels_v100_counters" / "v100-dvfs-microbenchmark-profile.csv")
    assert np.median(errors) <= 0.015
    assert np.percentile(errors, 95) <= 0.05
    assert np.mean(errors <= 2 * stated) >= 0.9


def test_any_clock_may_be_the_anchor(shared_data: Path) -> None:
    programs = v100_programs(shared_data / "kernels_v100_counters" / "v100-dvfs-real-profile.csv")
    rows = next(rows for (name, _), rows in programs.items() if name.startswith("matrixMul"))
    ratios = []
    for first, second in itertools.permutations((945, 1380)):
        meter = CounterWorkMeter()
        meter.measure(v100_window(rows[first]))
        ratios.append(meter.measure(v100_window(rows[second])).work_rate)
    assert ratios[0] * ratios[1] == pytest.approx(1.0, rel=2e-3)
