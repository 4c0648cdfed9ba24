"""Workloads fitted to sweeps: found again where the simulator made them, and good at clocks that were not looked at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpoeo_env.errors import UsageError
from gpoeo_env.sim.calibration import Calibration, calibrate, fitted_gpu, spread_rows
from gpoeo_env.sim.catalogue import Gpu, load_gpu
from gpoeo_env.sim.closed_form import sweep_of
from gpoeo_env.sim.phases import Mix, Phase
from gpoeo_env.sim.workloads import Workload
from gpoeo_env.trace.importers.curves import import_curves
from gpoeo_env.trace.importers.table import import_table
from gpoeo_env.trace.sweep import Sweep, SweepSet


@pytest.fixture(scope="module")
def v100() -> Gpu:
    """Without a power limit in its way."""
    return load_gpu("v100").model_copy(update={"power_limit_w": 2000.0})


@pytest.fixture(scope="module")
def made(v100: Gpu) -> list[Sweep]:
    """What the simulator itself would have measured of workloads of a single phase."""
    mix = Mix(fp32=0.4, integer=0.0, onchip=0.0, fill=0.8)
    shares = [(0.9, 0.2, 0.02), (0.5, 0.8, 0.02), (0.4, 0.4, 0.3), (0.2, 0.1, 0.8)]
    phases = [Phase(name="all", compute_s=c, memory_s=m, host_s=h, host_overlap=0.3, mix=mix) for c, m, h in shares]
    return [sweep_of(v100, Workload(name=f"work{i}", family="made", phases=(p,))) for i, p in enumerate(phases)]


def held_out(fits: list[Calibration]) -> tuple[float, float]:
    """Return the mean absolute errors of time and power over all pairs that were not fitted to."""
    time, power = (
        float(np.mean([np.abs(error[fit.held_out]).mean() for fit, error in zip(fits, errors, strict=True)]))
        for errors in ([fit.time_error for fit in fits], [fit.power_error for fit in fits])
    )
    return time, power


def test_rows_are_spread_over_the_clocks_with_both_ends_and_the_reference(made: list[Sweep]) -> None:
    rows = spread_rows(made[0], 5)
    assert (rows[0], rows[-1], len(rows)) == (0, len(made[0].clocks) - 1, 5)
    assert made[0].reference_row in rows
    assert np.ptp(np.diff(rows)) <= 1


@pytest.mark.parametrize("n", [2, 1000])
def test_too_few_and_too_many_clocks_are_refused(made: list[Sweep], n: int) -> None:
    with pytest.raises(UsageError, match=f"got {n}"):
        spread_rows(made[0], n)


def test_what_the_simulator_made_is_predicted_from_a_few_clocks(v100: Gpu, made: list[Sweep]) -> None:
    time, power = held_out([calibrate(v100, sweep, spread_rows(sweep, 7)) for sweep in made])
    assert time < 0.01
    assert power < 0.01


def test_a_fitted_workload_runs_on_the_simulator_and_shows_its_errors(v100: Gpu, made: list[Sweep]) -> None:
    fit = calibrate(v100, made[2], spread_rows(made[2], 7))
    again = sweep_of(v100, fit.workload)
    assert again.time_ratio / made[2].time_ratio - 1 == pytest.approx(fit.time_error, abs=1e-9)


def test_a_fit_looks_at_nothing_but_its_rows(v100: Gpu, made: list[Sweep]) -> None:
    sweep, rows = made[0], spread_rows(made[0], 5)
    spoilt_s = sweep.seconds.copy()
    spoilt_s[np.setdiff1d(np.arange(len(spoilt_s)), rows)] *= 3.0
    spoilt = Sweep("spoilt", sweep.clocks, sweep.reference, spoilt_s, sweep.joules, sweep.counter_names, sweep.counters)
    assert calibrate(v100, spoilt, rows).workload.phases == calibrate(v100, sweep, rows).workload.phases


def fitted(sweeps: SweepSet, name: str, n_clocks: int) -> tuple[float, float]:
    """Fit what is shared and each workload to n clocks of each, and return the errors at the others."""
    gpu = fitted_gpu(load_gpu(name), sweeps.sweeps, n_clocks)
    return held_out([calibrate(gpu, sweep, spread_rows(sweep, n_clocks)) for sweep in sweeps.sweeps])


def test_8_clocks_of_measured_v100_curves_follow_from_5_others(shared_data: Path) -> None:
    folder = shared_data / "v100_curves"
    sweeps = import_curves(folder / "performance.csv", folder / "power.csv", gpu_name="V100", mem_mhz=877)
    time, power = fitted(sweeps, "v100", 5)
    assert time <= 0.02
    assert power <= 0.03


def test_53_clocks_of_a_measured_a100_grid_follow_from_8_others(shared_data: Path) -> None:
    mapping = {key: key for key in ("workload", "sm_mhz", "mem_mhz", "time_s", "energy_j")}
    grid = shared_data / "a100_spec" / "grid.csv"
    sweeps = import_table(grid, gpu_name="A100", mapping=mapping, tell=lambda _: None)
    time, power = fitted(sweeps, "a100", 8)
    assert time <= 0.02
    assert power <= 0.03
