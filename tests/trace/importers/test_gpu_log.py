"""Logs of one GPU: names, units, empty cells, and times that cannot be."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpoeo_env.errors import TraceError, UsageError
from gpoeo_env.signals import CANONICAL, Behaviour
from gpoeo_env.trace.importers.gpu_log import COLUMNS, import_gpu_log

CsvFile = Callable[..., Path]


def test_columns_become_signals_with_their_units(csv_file: CsvFile) -> None:
    recording = import_gpu_log(csv_file("time_s,temp_c,gpu_util_pct,power_instant_w", "0,35,98,120.5", "0.02,36,0,400"))

    assert [(s.name, s.unit, s.behaviour) for s in recording.signals] == [
        ("temperature_c", "degC", Behaviour.GAUGE),
        ("gpu_util", "1", Behaviour.INTERVAL),
        ("power_instant_w", "W", Behaviour.GAUGE),
    ]
    assert recording.t_s.tolist() == [0.0, 0.02]
    np.testing.assert_allclose(recording.values, np.array([[35, 0.98, 120.5], [36, 0, 400]]))


def test_hardware_percentages_become_ratios_and_mebibytes_bytes(csv_file: CsvFile) -> None:
    recording = import_gpu_log(csv_file("time_s,gpm_sm_util,gpm_pcie_tx_per_sec", "0,50,0.5", "1,100,2"))

    assert recording.names == ("sm_active", "pcie_tx_bytes")
    np.testing.assert_allclose(recording.values, np.array([[0.5, 2**19], [1.0, 2**21]]))


def test_names_that_the_project_knows_keep_their_meaning() -> None:
    known = {signal.name: signal for signal in CANONICAL}

    same = [column.signal for column in COLUMNS.values() if column.signal.name in known]
    assert same == [known[signal.name] for signal in same]
    assert len(same) >= 15


def test_a_reading_that_a_poll_does_not_have_is_missing(csv_file: CsvFile) -> None:
    recording = import_gpu_log(csv_file("time_s,power_w,gpm_sm_util", "0,100,", "0.1,110,50", "0.2,nan,N/A"))

    np.testing.assert_array_equal(recording.values, [[100, np.nan], [110, 0.5], [np.nan, np.nan]])


def test_the_source_is_named_with_its_hash(csv_file: CsvFile) -> None:
    path = csv_file("time_s,power_w", "0,1", "1,2", name="gpt2.csv")

    recording = import_gpu_log(path, gpu_name=" H200 ")

    assert (recording.name, recording.gpu_name) == ("gpt2", "H200")
    assert hashlib.sha256(path.read_bytes()).hexdigest() in recording.provenance.source
    assert not recording.provenance.is_simulated


def test_the_gpu_may_be_unknown_but_not_blank(csv_file: CsvFile) -> None:
    path = csv_file("time_s,power_w", "0,1", "1,2")

    assert import_gpu_log(path).gpu_name is None
    with pytest.raises(UsageError, match="blank"):
        import_gpu_log(path, gpu_name=" ")


def test_an_unknown_column_is_left_out_and_told(csv_file: CsvFile) -> None:
    told: list[str] = []

    recording = import_gpu_log(csv_file("time_s,power_w,note", "0,1,a", "1,2,b"), tell=told.append)

    assert recording.names == ("power_w",)
    assert len(told) == 1
    assert "'note'" in told[0]


def test_rows_of_one_time_are_kept(csv_file: CsvFile) -> None:
    recording = import_gpu_log(csv_file("time_s,power_w", "0,1", "0.1,2", "0.1,3", "0.2,4"))

    assert recording.t_s.tolist() == [0.0, 0.1, 0.1, 0.2]


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        (["time_s,power_w", "0,1", "0.2,1", "0.1,1"], r"line 4, column 'time_s': 0\.1 s is earlier .* 0\.2 s"),
        (["time_s,power_w", "0,1", ",1", "0.1,1"], "line 3, column 'time_s': the row has no time"),
        (["time_s,power_w", "0,1", "later,1"], "line 3, column 'time_s': 'later' is not a finite number"),
        (["time_s,power_w", "0,1", "1,inf"], "line 3, column 'power_w': 'inf' is not a finite number"),
        (["time_s,power_w", "0,1", "0,2"], "every row is at 0 s"),
        (["time_s,power_w", "0,1"], "1 rows"),
        (["time,power_w", "0,1", "1,2"], r"no column 'time_s' \(did you mean time\?\)"),
        (["time_s,watts", "0,1", "1,2"], "no known reading of a GPU beside 'time_s'; known are power_w"),
        (["time_s,power_w"], "no rows"),
    ],
)
def test_what_is_no_log_is_refused_with_its_place(lines: list[str], complaint: str, csv_file: CsvFile) -> None:
    path = csv_file(*lines)

    with pytest.raises(TraceError, match=complaint) as caught:
        import_gpu_log(path)
    assert str(path) in str(caught.value)


def test_the_recordings_of_an_h200_are_read_as_they_are(shared_data: Path) -> None:
    recording = import_gpu_log(shared_data / "h200_training" / "dcgan.csv", tell=pytest.fail)

    assert len(recording.t_s) == 2493
    assert len(recording.signals) == 24
    sm_active = recording.column("sm_active")
    assert sm_active is not None
    assert np.isnan(sm_active).mean() == pytest.approx(0.82, abs=0.01)
    assert 0.5 < np.nanmax(sm_active) < 1.0


def test_a_smaller_set_of_columns_is_read_as_it_is(shared_data: Path) -> None:
    recording = import_gpu_log(shared_data / "h200_gpm_refresh" / "dcgan_20ms.csv", tell=pytest.fail)

    assert recording.names[:3] == ("sm_clock_mhz", "power_instant_w", "sm_active")
    assert recording.window(20.0, 30.0).observed is None
