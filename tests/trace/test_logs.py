"""One reader for every file that holds a recording: the content decides."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from gpoeo_env.errors import TraceError
from gpoeo_env.trace.logs import is_recording, read_recording
from gpoeo_env.trace.recording import Recording
from gpoeo_env.trace.recording_store import write_recording
from gpoeo_env.trace.store import write_sweeps
from gpoeo_env.trace.sweep import SweepSet


def test_a_native_recording_is_read_whatever_its_name(recording: Recording, tmp_path: Path) -> None:
    write_recording(tmp_path / "a.csv", recording)

    assert is_recording(tmp_path / "a.csv")
    assert read_recording(tmp_path / "a.csv").name == "Größe"


def test_a_csv_log_is_read_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("time_s,power_w\n0,1\n1,2\n")

    assert is_recording(tmp_path / "a.parquet")
    assert read_recording(tmp_path / "a.parquet").names == ("power_w",)


def test_a_column_that_is_left_out_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a.csv").write_text("time_s,power_w,colour\n0,1,red\n1,2,red\n")

    with caplog.at_level(logging.WARNING):
        read_recording(tmp_path / "a.csv")
    assert "'colour'" in caplog.text


def test_a_sweep_file_is_no_recording(sweeps: SweepSet, tmp_path: Path) -> None:
    write_sweeps(tmp_path / "a.parquet", sweeps)

    assert not is_recording(tmp_path / "a.parquet")
    with pytest.raises(TraceError, match="is a sweep file"):
        read_recording(tmp_path / "a.parquet")


def test_a_missing_file_is_a_trace_error(tmp_path: Path) -> None:
    assert not is_recording(tmp_path / "nope.csv")
    with pytest.raises(TraceError, match="there is no file"):
        read_recording(tmp_path / "nope.csv")
