"""How well models predict measured workloads that they did not see, from counters at the reference clocks alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gpoeo_env.trace.importers.table import import_table
from gpoeo_env.trace.sweep import Sweep, SweepSet
from gpoeo_policies.gpoeo.boosting import BoostedPhysics, BoostingSettings
from gpoeo_policies.gpoeo.samples import Sample, chosen_features

Array = NDArray[np.float64]

KERNELS = {
    "workload": "benchmark+kernel+argNo",
    "sm_mhz": "core_frequency",
    "mem_mhz": "memory_frequency",
    "time_ms": "time",
    "power_w": "average_power",
}


def kernels(path: Path) -> SweepSet:
    return import_table(path, gpu_name="V100", mapping=KERNELS, drop_incomplete=True, tell=lambda _: None)


def mean_errors(training: Sequence[Sweep], tested: Sequence[Sweep], least_mhz: int) -> Array:
    """Return the mean errors of the time and the energy ratio, |predicted / measured - 1|, shape (2,)."""
    names = chosen_features(training)
    physics = BoostedPhysics.fit([Sample.of(sweep, names) for sweep in training], names, BoostingSettings())
    errors = []
    for sweep in tested:
        sample = Sample.of(sweep, names)
        missed = np.exp(physics.log_ratios(sample.log_clocks, sample.features) - sample.log_ratios) - 1.0
        errors.append(np.abs(missed[:, sweep.clocks.mhz[:, 0] >= least_mhz]).mean(axis=1))
    return np.mean(errors, axis=0)  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def v100_errors(shared_data: Path) -> Array:
    """Fitted to microbenchmarks, tested on programs."""
    folder = shared_data / "kernels_v100_counters"
    training = kernels(folder / "v100-dvfs-microbenchmark-profile.csv")
    return mean_errors(training.sweeps, kernels(folder / "v100-dvfs-real-profile.csv").sweeps, 700)


def test_microbenchmarks_of_a_v100_teach_the_energy_of_its_programs(v100_errors: Array) -> None:
    assert v100_errors[1] <= 0.03


def test_microbenchmarks_of_a_v100_teach_the_time_of_its_programs(v100_errors: Array) -> None:
    assert v100_errors[0] <= 0.045


def test_programs_of_an_a100_teach_each_other(shared_data: Path) -> None:
    mapping = {key: key for key in ("workload", "sm_mhz", "mem_mhz", "time_s", "energy_j")}
    programs = import_table(
        shared_data / "a100_spec" / "grid.csv", gpu_name="A100", mapping=mapping, tell=lambda _: None
    )

    errors = [mean_errors(programs.others(sweep.workload), [sweep], 900) for sweep in programs.sweeps]
    time_error, energy_error = np.mean(errors, axis=0)
    assert energy_error <= 0.035
    assert time_error <= 0.045
