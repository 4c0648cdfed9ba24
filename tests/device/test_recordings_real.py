"""Logs of six programs on an A100 at 16 of their 61 clocks: what the pipeline makes of real sensors' faults."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gpoeo_env.device.measured_sweep import measured_sweeps
from gpoeo_env.device.recorded_run import RecordedRun
from gpoeo_env.device.recordings import RecordingsDevice
from gpoeo_env.progress.counter_work import CounterWorkMeter
from gpoeo_env.progress.period_meter import PeriodMeter
from gpoeo_env.testing.devices import check_device
from gpoeo_env.trace.importers.dcgmi_folder import NamePattern, import_dcgmi_folder
from gpoeo_env.trace.importers.table import import_table
from gpoeo_env.trace.recording_set import RecordingSet

Array = NDArray[np.float64]

CLOCKS = range(510, 1411, 60)
WINDOW_S = 60.0
"""Five laps or more of every program; in 10 s, half a lap of one of them, work and pauses cannot be told apart."""


@pytest.fixture(scope="module")
def recordings(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> RecordingSet:
    folder = tmp_path_factory.mktemp("logs")
    for file in (shared_data / "a100_spec" / "traces").iterdir():
        if int(file.name.split("-")[2]) in CLOCKS:
            shutil.copy(file, folder)
    names = NamePattern.parse("GA100-{workload}-{sm_mhz}-0.gz", mem_mhz=1593)
    return import_dcgmi_folder(folder, names, gpu_name="A100", interval_s=0.02)


@pytest.fixture(scope="module")
def errors(recordings: RecordingSet) -> Array:
    """Errors of measured slowdowns and the standard errors stated with them, shape (n, 2)."""
    found = []
    with RecordingsDevice(recordings) as device:
        for workload in recordings.workloads:
            laps_s = {pair: RecordedRun.of(one).lap_s for pair, one in recordings.recordings(workload).items()}
            meter = CounterWorkMeter()
            device.begin(0, workload)
            first = meter.measure(device.observe(WINDOW_S))
            for pair, lap_s in laps_s.items():
                device.set_clocks(pair)
                here = meter.measure(device.observe(WINDOW_S))
                slowdown = first.work_rate / here.work_rate
                true = lap_s / laps_s[recordings.reference]
                found.append((slowdown / true - 1.0, np.hypot(first.rel_sd, here.rel_sd)))
    return np.array(found)


def test_the_device_keeps_its_contract_on_real_logs(recordings: RecordingSet) -> None:
    check_device(lambda: RecordingsDevice(recordings))


def test_every_window_of_every_program_can_be_measured(errors: Array) -> None:
    assert np.isfinite(errors).all()


def test_slowdowns_from_counters_are_those_of_the_laps(errors: Array) -> None:
    assert np.median(np.abs(errors[:, 0])) < 0.015
    assert np.percentile(np.abs(errors[:, 0]), 95) < 0.06


def test_the_stated_uncertainty_covers_the_errors(errors: Array) -> None:
    assert np.mean(np.abs(errors[:, 0]) < 2 * errors[:, 1]) > 0.9


def test_no_window_shows_a_period_that_is_no_lap(recordings: RecordingSet) -> None:
    with RecordingsDevice(recordings) as device:
        for workload in recordings.workloads:
            lap_s = RecordedRun.of(recordings.recordings(workload)[recordings.reference]).lap_s
            device.begin(0, workload)
            meter = PeriodMeter()
            meter.measure(device.observe(120.0))
            assert np.isnan(meter.period_s) or meter.period_s == pytest.approx(lap_s, rel=0.02)


def test_energy_of_measured_sweeps_is_that_of_the_published_grid(recordings: RecordingSet, shared_data: Path) -> None:
    """The grid's energies are means of three runs from the same counter; `bfs`, paced by its host, scatters by 10 %."""
    steady = [workload for workload in recordings.workloads if workload != "bfs"]
    mapping = {key: key for key in ("workload", "sm_mhz", "mem_mhz", "time_s", "energy_j")}
    grid = import_table(shared_data / "a100_spec" / "grid.csv", gpu_name="A100", mapping=mapping, tell=lambda _: None)

    swept = measured_sweeps(RecordingsDevice(recordings), steady, window_s=240.0)

    for sweep in swept.sweeps:
        truth = grid.named(sweep.workload)
        rows = [truth.clocks.action_of(pair) - 1 for pair in sweep.clocks]
        assert np.median(np.abs(sweep.energy_ratio - truth.energy_ratio[rows])) < 0.03
