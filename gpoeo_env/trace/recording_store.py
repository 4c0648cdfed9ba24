"""The native recording file: one Parquet file for one recording.

A row is a sample: the column ``t_s`` and one column for each signal, NaN where missing. Names, units and behaviours of
the signals, the GPU and the provenance are JSON in the Parquet schema metadata (see `gpoeo_env.trace.parquet`).

    write_recording(Path("gpt2.recording.parquet"), recording)
    read_recording_file(Path("gpt2.recording.parquet")).window(20.0, 30.0)
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from pydantic import BaseModel

from gpoeo_env.errors import TraceError
from gpoeo_env.signals import Signal
from gpoeo_env.trace.parquet import RECORDING, Columns, metadata_of, read_table, write
from gpoeo_env.trace.recording import Recording
from gpoeo_env.trace.sweep import Provenance

__all__ = ["RecordingMetadata", "read_recording_file", "write_recording"]

TIME = "t_s"


class RecordingMetadata(BaseModel, strict=True, frozen=True):
    """What the samples of a recording cannot say themselves."""

    format: str = RECORDING.format
    schema_version: int = RECORDING.version
    name: str
    gpu_name: str | None
    time_unit: str = "s"
    signals: tuple[Signal, ...]
    provenance: Provenance


def write_recording(path: Path, recording: Recording, *, overwrite: bool = False) -> None:
    """Write a recording; an error or a kill leaves no half-written file at ``path``.

    Args:
        path: the file to make; its folder must exist.
        recording: what to write; `read_recording_file` returns it unchanged.
        overwrite: replace a file that is there.

    Raises:
        UsageError: ``path`` exists and ``overwrite`` is False.
        TraceError: a signal has the name of the time column, a name is not Unicode text, or the file cannot be written.
    """
    if TIME in recording.names:
        raise TraceError(f"signal {TIME!r} has the name of the time column of a recording; rename it or leave it out")
    columns = {TIME: pa.array(recording.t_s, pa.float64())}
    columns |= {name: pa.array(recording.values[:, index], pa.float64()) for index, name in enumerate(recording.names)}
    metadata = RecordingMetadata(
        name=recording.name,
        gpu_name=recording.gpu_name,
        signals=recording.signals,
        provenance=recording.provenance,
    )
    write(path, RECORDING, columns, metadata, overwrite=overwrite)


def read_recording_file(path: Path) -> Recording:
    """Read a native recording.

    Raises:
        TraceError: the file is missing, is damaged, is of another kind or of a newer version, or holds values that a
            recording cannot have; the message names the file and what to do.
    """
    table = read_table(path, RECORDING)
    metadata = metadata_of(table, path, RECORDING, RecordingMetadata)
    columns = Columns(table, path)
    values = [columns.floats(signal.name) for signal in metadata.signals]
    try:
        return Recording(
            name=metadata.name,
            gpu_name=metadata.gpu_name,
            t_s=columns.floats(TIME),
            values=np.column_stack([np.empty((len(table), 0)), *values]),
            signals=metadata.signals,
            provenance=metadata.provenance,
        )
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from error
