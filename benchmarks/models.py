"""How well GPOEO's models predict workloads that they did not see, and how fast, beside plain LightGBM and XGBoost.

pip install -c constraints.txt --group bench
python benchmarks/models.py --v100-kernels FOLDER --a100-grid FILE

Plain means untuned, on relative clocks, power and counters at the reference pair. Errors are mean absolute errors of
the energy and the time ratio over the clocks named; in brackets, relative to the true ratio. Ours are means over
several seeds, with their span.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import lightgbm
import numpy as np
import xgboost
from numpy.typing import NDArray

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.trace.importers.table import import_table
from gpoeo_env.trace.sweep import Sweep, SweepSet
from gpoeo_policies.gpoeo.boosting import BoostedPhysics, BoostingSettings
from gpoeo_policies.gpoeo.prior import log_relative_clocks
from gpoeo_policies.gpoeo.samples import Sample, chosen_features

Array = NDArray[np.float64]
Regressor = Callable[[Array], Array]
SEEDS = 5
DECISIONS = 500
TREES = 100
TABLE = ClockTable.from_product(range(210, 1996, 15), (405, 810, 5001, 9251, 9501))
"""The pairs of an RTX 3080 Ti."""
TABLE_REFERENCE = ClockPair(1800, 9501)


class Model(Protocol):
    """What is compared: time and energy ratios of a sweep's pairs from its reference row, shape (2, n)."""

    def predict(self, sweep: Sweep) -> Array:
        """Return the ratios."""


class Plain:
    """One regressor for each target, on relative clocks, power and counters."""

    def __init__(self, fit: Callable[[Array, Array], Regressor], sweeps: Sequence[Sweep]) -> None:
        """Fit."""
        rows = np.concatenate([plain_rows(sweep) for sweep in sweeps])
        ratios = np.concatenate([[sweep.time_ratio, sweep.energy_ratio] for sweep in sweeps], axis=1)
        self.models = [fit(rows, labels) for labels in ratios]

    def predict(self, sweep: Sweep) -> Array:
        """Return what the regressors say."""
        rows = plain_rows(sweep)
        return np.array([model(rows) for model in self.models])


class Ours:
    """The physical form with trees on it."""

    def __init__(self, sweeps: Sequence[Sweep], seed: int = 0) -> None:
        """Fit."""
        self.names = chosen_features(sweeps)
        samples = [Sample.of(sweep, self.names) for sweep in sweeps]
        self.physics = BoostedPhysics.fit(samples, self.names, BoostingSettings(seed=seed))

    def predict(self, sweep: Sweep) -> Array:
        """Return the ratios."""
        log_clocks = log_relative_clocks(sweep.clocks, sweep.reference)[1:]
        ratios: Array = np.exp(self.physics.log_ratios(log_clocks, Sample.of(sweep, self.names).features))
        return ratios


def plain_rows(sweep: Sweep) -> Array:
    """Return relative clocks, power and counters at the reference pair, shape (n, 3 + n_counters)."""
    row = sweep.reference_row
    features = np.concatenate(([sweep.watts[row]], sweep.counters[row]))
    relative = np.exp(log_relative_clocks(sweep.clocks, sweep.reference)[1:])
    return np.column_stack((relative, np.tile(features, (len(relative), 1))))


def lightgbm_fit(rows: Array, labels: Array) -> Regressor:
    """Fit LightGBM as it comes."""
    booster = lightgbm.train({"verbosity": -1, "num_threads": 1}, lightgbm.Dataset(rows, labels), TREES)
    return lambda table: np.asarray(booster.predict(table, num_threads=1), dtype=np.float64)


def xgboost_fit(
    rows: Array, labels: Array, parameters: Mapping[str, object] | None = None, n_trees: int = TREES
) -> Regressor:
    """Fit XGBoost, as it comes unless told otherwise."""
    booster = xgboost.train({"nthread": 1, **(parameters or {})}, xgboost.DMatrix(rows, labels), n_trees)
    return lambda table: np.asarray(booster.inplace_predict(table), dtype=np.float64)


def errors(model: Model, sweeps: Sequence[Sweep], least_mhz: int) -> Array:
    """Return mean absolute errors of time and energy, absolute and relative, shape (2, 2)."""
    found = []
    for sweep in sweeps:
        truth = np.array([sweep.time_ratio, sweep.energy_ratio])
        missed = np.abs(model.predict(sweep) - truth)[:, sweep.clocks.mhz[:, 0] >= least_mhz]
        found.append([missed.mean(axis=1), (missed / truth[:, sweep.clocks.mhz[:, 0] >= least_mhz]).mean(axis=1)])
    return np.mean(found, axis=0)


FITS: dict[str, Callable[[Sequence[Sweep], int], Model]] = {
    "plain LightGBM": lambda sweeps, _: Plain(lightgbm_fit, sweeps),
    "plain XGBoost": lambda sweeps, _: Plain(xgboost_fit, sweeps),
    "ours": Ours,
}


def compare(title: str, splits: Sequence[tuple[Sequence[Sweep], Sequence[Sweep]]], least_mhz: int) -> None:
    """Print a line for each model: errors over splits into training and tested sweeps."""
    print(f"{title}, clocks >= {least_mhz} MHz")
    for name, fit in FITS.items():
        seeds = range(SEEDS if name == "ours" else 1)
        by_seed = np.array(
            [np.mean([errors(fit(seen, seed), tested, least_mhz) for seen, tested in splits], axis=0) for seed in seeds]
        )
        print(f"  {name:<15} {shown(by_seed[:, :, 1], 'energy')}  {shown(by_seed[:, :, 0], 'time')}")


def shown(by_seed: Array, target: str) -> str:
    """Return the mean over the seeds, the relative error in brackets, and the span over several seeds."""
    absolute, relative = 100 * by_seed.mean(axis=0)
    low, high = 100 * by_seed[:, 0].min(), 100 * by_seed[:, 0].max()
    span = f" [{low:.2f} to {high:.2f}]" if len(by_seed) > 1 else ""
    return f"{target} {absolute:5.2f} % ({relative:5.2f} %){span}"


def v100_kernels(folder: Path) -> tuple[SweepSet, SweepSet]:
    """Return microbenchmarks and programs."""
    mapping = {
        "workload": "benchmark+kernel+argNo",
        "sm_mhz": "core_frequency",
        "mem_mhz": "memory_frequency",
        "time_ms": "time",
        "power_w": "average_power",
    }
    micro, programs = (
        import_table(folder / f"v100-dvfs-{name}-profile.csv", gpu_name="V100", mapping=mapping, drop_incomplete=True)
        for name in ("microbenchmark", "real")
    )
    return micro, programs


def a100_programs(file: Path) -> SweepSet:
    """Return the programs of the smoothed grid."""
    mapping = {key: key for key in ("workload", "sm_mhz", "mem_mhz", "time_s", "energy_j")}
    return import_table(file, gpu_name="A100", mapping=mapping)


def made_sweeps(n_workloads: int) -> list[Sweep]:
    """Return made-up workloads on the large table, for what speed alone depends on: rows, inputs and trees."""
    rng = np.random.default_rng(0)
    relative = TABLE.mhz / np.array([TABLE_REFERENCE.sm_mhz, TABLE_REFERENCE.mem_mhz])
    names = ("sm_active", "sm_occupancy", "dram_active", "fp32_active", "fp64_active", "tensor_active", "gpu_util")
    sweeps = []
    for index in range(n_workloads):
        sm_share, mem_share = rng.uniform(0.1, 0.8), rng.uniform(0.02, 0.18)
        seconds = sm_share / relative[:, 0] + mem_share / relative[:, 1] + 1.0 - sm_share - mem_share
        watts = 60.0 + 40.0 * relative[:, 1] + 150.0 * (0.3 + 0.7 * sm_share) * relative[:, 0] ** 2.4
        at_reference = np.concatenate(([sm_share, rng.uniform(), mem_share], rng.uniform(size=len(names) - 3)))
        counters = np.tile(at_reference, (len(TABLE), 1))
        sweeps.append(Sweep(f"work{index}", TABLE, TABLE_REFERENCE, seconds, seconds * watts, names, counters))
    return sweeps


def ranked(ratios: Array) -> NDArray[np.intp]:
    """Return the pairs by energy, those that are at most 5 % slower first."""
    order: NDArray[np.intp] = np.lexsort((ratios[1], ratios[0] > 1.05))
    return order


def latency() -> None:
    """Print how long a decision takes, features to ranked pairs, beside XGBoost models of the same size."""
    sweeps = made_sweeps(40)
    start = time.perf_counter()
    ours = Ours(sweeps)
    fit_s = time.perf_counter() - start
    settings = BoostingSettings()
    shape = {"max_leaves": settings.leaves, "max_depth": 0, "grow_policy": "lossguide"}
    n_trees = settings.members * settings.rounds
    theirs = Plain(lambda rows, labels: xgboost_fit(rows, labels, shape, n_trees), sweeps)
    tested = sweeps[0]
    sample = Sample.of(tested, ours.names)
    rows = plain_rows(tested)
    found = {
        "ours": decision_ms(
            lambda: np.exp(ours.physics.log_ratios(log_relative_clocks(TABLE, TABLE_REFERENCE), sample.features))
        ),
        "XGBoost": decision_ms(lambda: np.array([model(rows) for model in theirs.models])),
    }
    print(f"a decision at {len(TABLE)} pairs, one core; fitting 40 workloads took us {fit_s:.1f} s")
    for name, (median_ms, p99_ms) in found.items():
        print(f"  {name:<15} median {median_ms:6.2f} ms, p99 {p99_ms:6.2f} ms")
    median, p99 = np.array(found["ours"]) / np.array(found["XGBoost"])
    print(f"  ours / XGBoost  median {median:6.2f}, p99 {p99:.2f}")


def decision_ms(predict: Callable[[], Array]) -> tuple[float, float]:
    """Return median and 99th percentile of processor milliseconds."""
    times = []
    for _ in range(DECISIONS):
        start = time.process_time()
        ranked(predict())
        times.append(time.process_time() - start)
    return 1e3 * float(np.median(times)), 1e3 * float(np.quantile(times, 0.99))


def main() -> None:
    """Print what the options allow, and the latency."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--v100-kernels", type=Path, metavar="FOLDER", help="the two profiles of NV-DVFS-Benchmark")
    parser.add_argument("--a100-grid", type=Path, metavar="FILE", help="SPEC ACCEL programs by clock, CSV")
    options = parser.parse_args()
    if options.v100_kernels:
        micro, programs = v100_kernels(options.v100_kernels)
        compare("V100: fitted to microbenchmarks, tested on programs", [(micro.sweeps, programs.sweeps)], 700)
    if options.a100_grid:
        grid = a100_programs(options.a100_grid)
        splits = [(grid.others(sweep.workload), [sweep]) for sweep in grid.sweeps]
        compare("A100: each program from the others", splits, 900)
    latency()


if __name__ == "__main__":
    main()
