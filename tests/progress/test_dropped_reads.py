"""A 0 that is no reading: the SMs' counters are lost together while the graphics engine or a pipe is busy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpoeo_env.progress.activity import activity_of
from gpoeo_env.progress.dropped_reads import believed, without_dropped_reads
from gpoeo_env.progress.meter import UNSTATED_REL_SD, WorkCounterMeter
from gpoeo_env.progress.summary import summarise
from gpoeo_env.records import Window
from gpoeo_env.signals import Behaviour, Signal, signal_named
from gpoeo_env.trace.importers.dcgmi_log import import_dcgmi_log

NAN = float("nan")
BUSY_S, PAUSE_S, ROW_S = 3.0, 1.0, 0.02


def window(columns: dict[str, list[float]]) -> Window:
    signals = tuple(
        Signal(name, "1", Behaviour.INTERVAL) if name.endswith("active") else signal_named(name) for name in columns
    )
    values = np.array(list(columns.values()), dtype=np.float64).T
    return Window(np.arange(len(values), dtype=np.float64) * ROW_S, values, signals, requested=None, observed=None)


def phased(*, losing: bool) -> Window:
    """Twenty laps of 3 s of kernels and a pause of 1 s; every third row of the kernels may lose the SMs' counters."""
    row = np.arange(round(20 * (BUSY_S + PAUSE_S) / ROW_S) + 1)
    is_busy = (row * ROW_S) % (BUSY_S + PAUSE_S) < BUSY_S
    is_read = is_busy & ~(losing & (row % 3 == 1))
    return window(
        {
            "graphics_active": np.where(is_busy, 0.99, 0.0).tolist(),
            "sm_active": np.where(is_read, 0.9, 0.0).tolist(),
            "fp32_active": np.where(is_read, 0.4, 0.0).tolist(),
            "power_w": np.where(is_busy, 300.0, 80.0).tolist(),
            "sm_clock_mhz": [1400.0] * len(row),
        }
    )


def test_a_lost_read_takes_all_counters_of_the_sms_and_no_other() -> None:
    names = ["graphics_active", "sm_active", "fp32_active", "dram_active"]
    values = np.array([[0.9, 0.8, 0.3, 0.2], [0.9, 0.0, 0.0, 0.0]])

    np.testing.assert_array_equal(without_dropped_reads(values, names), [[0.9, 0.8, 0.3, 0.2], [0.9, NAN, NAN, 0.0]])


def test_a_pipe_that_works_beside_idle_sms_keeps_its_reading() -> None:
    values = np.array([[0.0, 0.3, 0.0]])

    found = without_dropped_reads(values, ["sm_active", "fp32_active", "tensor_active"])

    np.testing.assert_array_equal(found, [[NAN, 0.3, NAN]])


def test_zeros_beside_an_idle_engine_are_the_truth() -> None:
    values = np.array([[0.0, 0.0, 0.0], [0.9, 0.8, 0.3]])

    assert without_dropped_reads(values, ["graphics_active", "sm_active", "fp32_active"]) is values


@pytest.mark.parametrize("names", [["sm_active", "dram_active"], ["graphics_active", "fp32_active"]])
def test_without_a_witness_nothing_is_told(names: list[str]) -> None:
    values = np.array([[0.0, 0.7]])

    assert without_dropped_reads(values, names) is values


def test_lost_reads_change_no_work() -> None:
    lossy, whole = activity_of(phased(losing=True)), activity_of(phased(losing=False))

    assert lossy.rates["fp32_active"] == pytest.approx(whole.rates["fp32_active"], rel=0.01)
    assert whole.rates["fp32_active"] == pytest.approx(0.4 * 1400 * BUSY_S / (BUSY_S + PAUSE_S), rel=0.01)


def test_lost_reads_are_no_scatter() -> None:
    lossy, whole = activity_of(phased(losing=True)), activity_of(phased(losing=False))

    assert lossy.sampling == pytest.approx(whole.sampling, rel=0.1)


def test_features_are_means_over_what_was_read() -> None:
    busy = window({"graphics_active": [0.9] * 6, "sm_active": [0.9, 0.0, 0.9, 0.9, 0.0, 0.9], "power_w": [300.0] * 6})

    measurement = summarise(busy, WorkCounterMeter())

    assert measurement.features.get("sm_active") == pytest.approx(0.9)
    assert measurement.spread.power == UNSTATED_REL_SD


def test_a_third_of_the_busy_rows_of_a_real_log_is_lost(shared_data: Path) -> None:
    log = shared_data / "a100_spec" / "traces" / "GA100-ge-1200-0.gz"
    recording = import_dcgmi_log(log, interval_s=0.02)
    engine, sm = recording.column("graphics_active"), recording.column("sm_active")
    assert engine is not None
    assert sm is not None
    lost = np.mean(sm[engine > 0.9] == 0)

    kept = believed(recording.window(0.0, recording.duration_s)).column("sm_active")

    assert kept is not None
    assert 0.25 < lost < 0.4
    assert np.nanmin(kept[engine > 0.9]) > 0.5
