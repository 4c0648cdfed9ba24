"""The native file of a recording set: one Parquet file for all workloads and clock pairs of one GPU.

A row is a sample: the columns ``workload``, ``sm_mhz``, ``mem_mhz`` and ``t_s``, and one for each signal, NaN where
missing. The rows of a recording stand together, in order of time. What a table cannot say is JSON in the Parquet
schema metadata (see `gpoeo_env.trace.parquet`).

    write_recording_set(Path("a100.recordings.parquet"), recordings)
    read_recording_set(Path("a100.recordings.parquet")).workloads
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from pydantic import BaseModel

from gpoeo_env.clocks import ClockPair
from gpoeo_env.errors import TraceError
from gpoeo_env.signals import Signal
from gpoeo_env.trace.parquet import RECORDING_SET, Columns, metadata_of, read_table, write
from gpoeo_env.trace.recording import Recording
from gpoeo_env.trace.recording_set import LockedRecording, RecordingSet
from gpoeo_env.trace.sweep import Provenance

__all__ = ["read_recording_set", "write_recording_set"]

TIME = "t_s"
KEYS = ("workload", "sm_mhz", "mem_mhz", TIME)


class _Metadata(BaseModel, strict=True, frozen=True):
    format: str = RECORDING_SET.format
    schema_version: int = RECORDING_SET.version
    gpu_name: str
    reference_sm_mhz: int
    reference_mem_mhz: int
    time_unit: str = "s"
    signals: tuple[Signal, ...]
    provenance: Provenance


def write_recording_set(path: Path, recordings: RecordingSet, *, overwrite: bool = False) -> None:
    """Write a recording set; an error or a kill leaves no half-written file at ``path``.

    Raises:
        UsageError: ``path`` exists and ``overwrite`` is False.
        TraceError: a signal has the name of another column, a name is not Unicode text, or the file cannot be written.
    """
    taken = [signal.name for signal in recordings.signals if signal.name in KEYS]
    if taken:
        raise TraceError(f"signal {taken[0]!r} has the name of another column of a recording set; rename it")
    runs = recordings.runs
    rows = [len(run.recording.t_s) for run in runs]
    values = np.concatenate([run.recording.values for run in runs])
    names = np.repeat(np.arange(len(runs)), rows)
    columns = {
        "workload": pa.array([runs[index].workload for index in names.tolist()], pa.string()),
        "sm_mhz": pa.array(np.repeat([run.pair.sm_mhz for run in runs], rows), pa.int64()),
        "mem_mhz": pa.array(np.repeat([run.pair.mem_mhz for run in runs], rows), pa.int64()),
        TIME: pa.array(np.concatenate([run.recording.t_s for run in runs]), pa.float64()),
    }
    columns |= {signal.name: pa.array(values[:, i], pa.float64()) for i, signal in enumerate(recordings.signals)}
    metadata = _Metadata(
        gpu_name=recordings.gpu_name,
        reference_sm_mhz=recordings.reference.sm_mhz,
        reference_mem_mhz=recordings.reference.mem_mhz,
        signals=recordings.signals,
        provenance=recordings.provenance,
    )
    write(path, RECORDING_SET, columns, metadata, overwrite=overwrite)


def read_recording_set(path: Path) -> RecordingSet:
    """Read a recording set.

    Raises:
        TraceError: the file is missing, is damaged, is of another kind or of a newer version, or holds values that a
            recording cannot have; the message names the file and what to do.
    """
    table = read_table(path, RECORDING_SET)
    metadata = metadata_of(table, path, RECORDING_SET, _Metadata)
    columns = Columns(table, path)
    try:
        return RecordingSet(
            gpu_name=metadata.gpu_name,
            reference=ClockPair(metadata.reference_sm_mhz, metadata.reference_mem_mhz),
            runs=tuple(_runs(columns, metadata)),
            provenance=metadata.provenance,
        )
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from error


def _runs(columns: Columns, metadata: _Metadata) -> Iterator[LockedRecording]:
    """Cut the table where workload or pair change."""
    workloads = columns.texts("workload")
    codes = np.unique(workloads, return_inverse=True)[1]
    sm_mhz, mem_mhz, t_s = columns.integers("sm_mhz"), columns.integers("mem_mhz"), columns.floats(TIME)
    values = np.column_stack([columns.floats(signal.name) for signal in metadata.signals])
    changes = np.flatnonzero(np.any(np.diff(np.column_stack([codes, sm_mhz, mem_mhz]), axis=0) != 0, axis=1)) + 1
    edges = [0, *changes.tolist(), len(t_s)] if len(t_s) else []
    for start, end in pairwise(edges):
        pair = ClockPair(int(sm_mhz[start]), int(mem_mhz[start]))
        name = f"{workloads[start]} at {pair} MHz"
        rows = slice(start, end)
        recording = Recording(name, metadata.gpu_name, t_s[rows], values[rows], metadata.signals, metadata.provenance)
        yield LockedRecording(workloads[start], pair, recording)
