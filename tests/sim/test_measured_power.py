"""The power model against measured boards, from utilisations alone: an H200 under training, a Titan X over pairs."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import nnls

from gpoeo_env.sim.catalogue import Gpu, load_gpu
from gpoeo_env.sim.physics.power import PIPES, Activity, power_parts, voltage
from gpoeo_env.sim.physics.thermal import steady_state

Array = NDArray[np.float64]

LOOPS = ("gpt2_accum", "gpt2_eval", "gcn", "resnet50_stall", "stream", "dcgan", "shift")
COUNTERS = {
    "sm": "gpm_sm_util",
    "tensor": "gpm_any_tensor_util",
    "fp32": "gpm_fp32_util",
    "fp16": "gpm_fp16_util",
    "fp64": "gpm_fp64_util",
    "integer": "gpm_integer_util",
    "dram": "gpm_dram_bw_util",
}
WINDOW_S = 5.0


def windows(file: Path) -> dict[str, Array]:
    """Return means over windows: power from the energy counter, clock, and counters without dropped reads."""
    with file.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    column = {key: np.array([float(row[key] or "nan") for row in rows]) for key in rows[0]}
    # Two samples inside one refresh read 0 with success: no SM and no DRAM at work is a read that was dropped.
    dropped = (column["gpm_sm_util"] == 0) & ~(column["gpm_dram_bw_util"] > 0)
    found: dict[str, list[float]] = {name: [] for name in ("watts", "sm_mhz", *COUNTERS)}
    for begin in np.arange(2.0, column["time_s"][-1] - WINDOW_S, WINDOW_S):
        inside = (column["time_s"] >= begin) & (column["time_s"] < begin + WINDOW_S)
        energy, time = column["energy_j"][inside], column["time_s"][inside]
        found["watts"].append((energy[-1] - energy[0]) / (time[-1] - time[0]))
        found["sm_mhz"].append(column["sm_clock_mhz"][inside].mean())
        for name, key in COUNTERS.items():
            found[name].append(np.nanmean(column[key][inside & ~dropped]) / 100.0)
    return {name: np.array(values) for name, values in found.items()}


@pytest.fixture(scope="module")
def loops(shared_data: Path) -> dict[str, dict[str, Array]]:
    return {name: windows(shared_data / "h200_training" / f"{name}.csv") for name in LOOPS}


def simulated_w(gpu: Gpu, seen: dict[str, Array]) -> Array:
    pipes = np.array([seen[pipe] for pipe in PIPES])
    activity = Activity(sm=seen["sm"], pipes=pipes, onchip=np.zeros_like(seen["sm"]), dram=seen["dram"])
    parts = power_parts(gpu, activity, seen["sm_mhz"], np.full_like(seen["sm"], gpu.clocks.top.mem_mhz))
    return steady_state(gpu, parts).watts


@pytest.mark.parametrize("name", LOOPS)
def test_the_simulated_h200_draws_what_a_real_one_drew_with_the_same_counters(
    loops: dict[str, dict[str, Array]], name: str
) -> None:
    assert simulated_w(load_gpu("h200"), loops[name]).mean() == pytest.approx(loops[name]["watts"].mean(), rel=0.10)


@pytest.mark.parametrize("name", LOOPS)
def test_constants_fitted_to_the_other_loops_predict_each_loop(loops: dict[str, dict[str, Array]], name: str) -> None:
    """Leave one out: the pipes' watts from the other loops alone, above what an idle board draws."""
    gpu = load_gpu("h200")
    idle_w, columns = 122.0, ("sm", "tensor", "integer", "dram")

    def switched(seen: dict[str, Array]) -> Array:
        charge = (voltage(gpu, seen["sm_mhz"]) / gpu.voltage.top_v) ** 2 * seen["sm_mhz"] / gpu.clocks.top.sm_mhz
        return np.column_stack([seen[key] * (1.0 if key == "dram" else charge) for key in columns])

    others = [loops[other] for other in LOOPS if other != name]
    inputs = np.concatenate([switched(seen) for seen in others])
    watts = np.concatenate([seen["watts"] for seen in others])
    fitted_w, _ = nnls(inputs / watts[:, None], (watts - idle_w) / watts)
    predicted = idle_w + switched(loops[name]) @ fitted_w
    assert predicted.mean() == pytest.approx(loops[name]["watts"].mean(), rel=0.10)


TITAN_X_TOP = (1164.0, 4005.0)


def titan_x(file: Path) -> tuple[Array, Array]:
    """Return watts, SM and memory clock, shape (n, 3), and twelve utilisations at the default, shape (n, 12)."""
    table = np.loadtxt(file, delimiter=",", skiprows=4)
    return table[:, :3], table[:, 3:]


def titan_columns(clocks: Array, used: Array, curve: tuple[float, float, float]) -> Array:
    """Return what the model is linear in: board, leakage, clock tree, pipes and on-chip memory, DRAM."""
    floor, until, curvature = curve
    speed, mem_speed = (clocks / TITAN_X_TOP).T
    squared = (floor + (1.0 - floor) * np.maximum((speed - until) / (1.0 - until), 0.0) ** curvature) ** 2
    charge = squared * speed
    core = charge[:, None] * used[:, :11]
    return np.column_stack((np.ones_like(speed), squared, charge, core, mem_speed, mem_speed * used[:, 11]))


def test_half_of_a_titan_xs_microbenchmarks_predict_the_power_of_the_others_at_every_pair(shared_data: Path) -> None:
    measured, used = titan_x(shared_data / "power_titanx_sm_mem" / "micro_gtxtitanx.csv")
    watts, clocks = measured[:, 0], measured[:, 1:]
    _, kernel = np.unique(used, axis=0, return_inverse=True)
    seen = kernel.ravel() % 2 == 0

    def fit(curve: tuple[float, float, float]) -> tuple[float, Array]:
        columns = titan_columns(clocks[seen], used[seen], curve)
        solution, residual = nnls(columns / watts[seen][:, None], np.ones(int(seen.sum())))
        return float(residual), solution

    curves = [
        (floor, until, rise) for floor in (0.6, 0.7, 0.8, 0.9) for until in (0.5, 0.6, 0.7, 0.8) for rise in (1, 1.5)
    ]
    best = min(curves, key=lambda curve: fit(curve)[0])
    predicted = titan_columns(clocks[~seen], used[~seen], best) @ fit(best)[1]
    error = float(np.mean(np.abs(predicted / watts[~seen] - 1.0)))
    assert error <= 0.08
