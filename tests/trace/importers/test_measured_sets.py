"""Published measurements of three GPUs, read as a user would."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from gpoeo_env.clocks import ClockPair
from gpoeo_env.trace.facts import facts_of
from gpoeo_env.trace.importers.curves import import_curves
from gpoeo_env.trace.importers.table import import_table
from gpoeo_env.trace.store import read_sweeps, write_sweeps
from gpoeo_env.trace.sweep import SweepSet


@pytest.fixture(scope="module")
def v100(shared_data: Path) -> SweepSet:
    folder = shared_data / "v100_curves"
    return import_curves(folder / "performance.csv", folder / "power.csv", gpu_name="Tesla V100", mem_mhz=877)


@pytest.fixture(scope="module")
def a100(shared_data: Path) -> SweepSet:
    mapping = {key: key for key in ("workload", "sm_mhz", "mem_mhz", "time_s", "energy_j")}
    return import_table(
        shared_data / "a100_spec" / "grid.csv", gpu_name="A100", mapping=mapping, ignore=["time_s_raw", "energy_j_raw"]
    )


@pytest.fixture(scope="module")
def gtx1080ti(shared_data: Path) -> SweepSet:
    return import_table(
        shared_data / "kernels_1080ti_sm_mem" / "gtx1080ti-dvfs-real-Performance-Power.csv",
        gpu_name="GTX 1080 Ti",
        reference=ClockPair(1800, 5000),
        mapping={
            "workload": "appName+argNo+kernel",
            "sm_mhz": "coreF",
            "mem_mhz": "memF",
            "time_ms": "time/ms",
            "power_w": "power/W",
        },
    )


def shape(sweeps: SweepSet) -> tuple[int, set[int], int]:
    return len(sweeps.sweeps), {len(sweep.clocks) for sweep in sweeps.sweeps}, len(sweeps.sweeps[0].counter_names)


def test_the_v100_has_23_workloads_at_13_clocks(v100: SweepSet) -> None:
    assert shape(v100) == (23, {13}, 0)
    assert {sweep.reference for sweep in v100.sweeps} == {ClockPair(1530, 877)}
    assert all(sweep.seconds[-1] == 1.0 for sweep in v100.sweeps)


def test_the_a100_has_12_workloads_at_61_clocks(a100: SweepSet) -> None:
    assert shape(a100) == (12, {61}, 12)
    assert {sweep.reference for sweep in a100.sweeps} == {ClockPair(1410, 1593)}


def test_raw_time_and_energy_of_the_a100_are_recognised_unasked(shared_data: Path, a100: SweepSet) -> None:
    told: list[str] = []
    mapping = {key: key for key in ("workload", "sm_mhz", "mem_mhz", "time_s", "energy_j")}

    sweeps = import_table(shared_data / "a100_spec" / "grid.csv", gpu_name="A100", mapping=mapping, tell=told.append)

    assert sweeps.sweeps[0].counter_names == a100.sweeps[0].counter_names
    assert [line.split(":")[0] for line in told] == [f"left out column '{name}_raw'" for name in ("time_s", "energy_j")]


def test_the_1080_ti_has_30_workloads_at_20_pairs(gtx1080ti: SweepSet) -> None:
    assert shape(gtx1080ti) == (30, {20}, 46)
    assert {sweep.reference for sweep in gtx1080ti.sweeps} == {ClockPair(1800, 5000)}
    assert np.isfinite(gtx1080ti.sweeps[0].counters).all()


def test_the_1080_ti_agrees_with_its_source_row_by_row(shared_data: Path, gtx1080ti: SweepSet) -> None:
    source = shared_data / "kernels_1080ti_sm_mem" / "gtx1080ti-dvfs-real-Performance-Power.csv"
    with source.open(newline="") as file:
        for row in csv.DictReader(file):
            sweep = gtx1080ti.named(f"{row['appName']}/{row['argNo']}/{row['kernel']}")
            at = sweep.clocks.action_of(ClockPair(int(row["coreF"]), int(row["memF"]))) - 1
            assert sweep.seconds[at] == pytest.approx(float(row["time/ms"]) / 1000)
            assert sweep.watts[at] == pytest.approx(float(row["power/W"]))
            assert sweep.counters[at, -1] == float(row["executed_ipc"])


@pytest.mark.parametrize("name", ["v100", "a100", "gtx1080ti"])
def test_a_measured_set_survives_its_file(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    sweeps: SweepSet = request.getfixturevalue(name)
    write_sweeps(tmp_path / "a.parquet", sweeps)

    back = read_sweeps(tmp_path / "a.parquet")

    assert facts_of(back, 0.05) == facts_of(sweeps, 0.05)
