"""The native sweep file: one Parquet file for all workloads measured on one GPU.

The table is long: a row for each workload and clock pair, with the columns ``workload``, ``sm_mhz``, ``mem_mhz``,
``seconds``, ``joules`` and one column for each counter. What a table cannot say (GPU, reference pairs, units,
provenance) is JSON in the Parquet schema metadata, under `METADATA_KEY`.

    write_sweeps(Path("a100.sweep.parquet"), sweeps)
    read_sweeps(Path("a100.sweep.parquet")).named("resnet50")
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.errors import TraceError, UsageError
from gpoeo_env.trace.sweep import Provenance, Sweep, SweepSet

__all__ = ["METADATA_KEY", "SCHEMA_VERSION", "read_sweeps", "write_sweeps"]

METADATA_KEY = b"gpoeo_sweep"
FORMAT = "gpoeo-sweep"
SCHEMA_VERSION = 1
UNITS = {"sm_mhz": "MHz", "mem_mhz": "MHz", "seconds": "s per unit of work", "joules": "J per unit of work"}
COLUMNS = ("workload", *UNITS)

Array = NDArray[np.float64]


class _Workload(BaseModel, strict=True, frozen=True):
    name: str
    reference_sm_mhz: int
    reference_mem_mhz: int


class _Metadata(BaseModel, strict=True, frozen=True):
    format: str = FORMAT
    schema_version: int = SCHEMA_VERSION
    gpu_name: str
    workloads: tuple[_Workload, ...]
    counters: tuple[str, ...]
    counter_units: tuple[str, ...]
    units: dict[str, str] = UNITS
    provenance: Provenance


def write_sweeps(path: Path, sweeps: SweepSet, *, overwrite: bool = False) -> None:
    """Write a sweep file; an error or a kill leaves no half-written file at ``path``.

    Args:
        path: the file to make; its folder must exist.
        sweeps: what to write; `read_sweeps` returns it unchanged.
        overwrite: replace a file that is there.

    Raises:
        UsageError: ``path`` exists and ``overwrite`` is False.
        TraceError: a counter cannot be a column, a name is not Unicode text, a clock does not fit 64 bits, or the file
            cannot be written.
    """
    if path.exists() and not overwrite:
        raise UsageError(f"{path} exists already; name another file, or overwrite it on purpose (--force)")
    _check_counter_names(sweeps.sweeps[0].counter_names)
    try:
        table = _table_of(sweeps)
    except (UnicodeEncodeError, OverflowError, pa.ArrowException) as error:
        raise TraceError(
            f"cannot write {path}: a name is not Unicode text, or a clock is too large: {error}"
        ) from error
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        pq.write_table(table, part, write_page_checksum=True)
        part.replace(path)
    except OSError as error:
        raise TraceError(f"cannot write {path}: {error.strerror or error}; name a file in a writable folder") from error
    finally:
        part.unlink(missing_ok=True)


def read_sweeps(path: Path) -> SweepSet:
    """Read a sweep file.

    Raises:
        TraceError: the file is missing, is damaged, is of another kind or of a newer version, or holds values
            that a sweep cannot have; the message names the file and what to do.
    """
    table = _read_table(path)
    metadata = _metadata_of(table, path)
    columns = _Columns(table, path)
    workload_of_row = columns.texts("workload")
    clocks_mhz = np.column_stack([columns.integers("sm_mhz"), columns.integers("mem_mhz")])
    seconds, joules = columns.floats("seconds"), columns.floats("joules")
    counters = np.column_stack([np.empty((len(table), 0)), *(columns.floats(name) for name in metadata.counters)])
    _check_workloads(metadata, workload_of_row, path)

    def sweep_of(workload: _Workload) -> Sweep:
        rows = np.flatnonzero(workload_of_row == workload.name)
        rows = rows[np.lexsort((clocks_mhz[rows, 0], clocks_mhz[rows, 1]))]
        return Sweep(
            workload=workload.name,
            clocks=ClockTable(ClockPair(int(sm), int(mem)) for sm, mem in clocks_mhz[rows]),
            reference=ClockPair(workload.reference_sm_mhz, workload.reference_mem_mhz),
            seconds=seconds[rows],
            joules=joules[rows],
            counter_names=metadata.counters,
            counters=counters[rows],
        )

    try:
        sweeps = tuple(sweep_of(workload) for workload in metadata.workloads)
        return SweepSet(metadata.gpu_name, sweeps, metadata.provenance, metadata.counter_units)
    except (TraceError, UsageError) as error:
        raise TraceError(f"{path}: {error}") from error


def _check_counter_names(names: tuple[str, ...]) -> None:
    taken = [name for index, name in enumerate(names) if name in COLUMNS or name in names[:index]]
    if taken:
        raise TraceError(
            f"counter {taken[0]!r} has the name of another column of a sweep file; rename it or leave it out "
            f"(taken: {', '.join(COLUMNS)})"
        )


def _table_of(sweeps: SweepSet) -> pa.Table:
    counter_names = sweeps.sweeps[0].counter_names
    pairs = [pair for sweep in sweeps.sweeps for pair in sweep.clocks]
    counters = np.concatenate([sweep.counters for sweep in sweeps.sweeps])
    columns = {
        "workload": pa.array([sweep.workload for sweep in sweeps.sweeps for _ in sweep.clocks], pa.string()),
        "sm_mhz": pa.array([pair.sm_mhz for pair in pairs], pa.int64()),
        "mem_mhz": pa.array([pair.mem_mhz for pair in pairs], pa.int64()),
        "seconds": pa.array(np.concatenate([sweep.seconds for sweep in sweeps.sweeps]), pa.float64()),
        "joules": pa.array(np.concatenate([sweep.joules for sweep in sweeps.sweeps]), pa.float64()),
    }
    columns |= {name: pa.array(counters[:, index], pa.float64()) for index, name in enumerate(counter_names)}
    metadata = _Metadata(
        gpu_name=sweeps.gpu_name,
        workloads=tuple(
            _Workload(
                name=sweep.workload,
                reference_sm_mhz=sweep.reference.sm_mhz,
                reference_mem_mhz=sweep.reference.mem_mhz,
            )
            for sweep in sweeps.sweeps
        ),
        counters=counter_names,
        counter_units=sweeps.counter_units,
        provenance=sweeps.provenance,
    )
    text = json.dumps(metadata.model_dump(mode="json"), ensure_ascii=False)
    return pa.table(columns).replace_schema_metadata({METADATA_KEY: text.encode()})


def _read_table(path: Path) -> pa.Table:
    if not path.exists():
        raise TraceError(f"there is no sweep file {path}; make one with `gpoeo trace import`")
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            return file.read(use_threads=False)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TraceError(
            f"{path} is not a readable Parquet file ({reason}); import it again, or import a CSV table with "
            "`gpoeo trace import`"
        ) from error


def _metadata_of(table: pa.Table, path: Path) -> _Metadata:
    text = (table.schema.metadata or {}).get(METADATA_KEY)
    if text is None:
        raise TraceError(
            f"{path} is a Parquet file, but no sweep file of gpoeo-env; make one with `gpoeo trace import`"
        )
    again = "the file is damaged: import it again"
    try:
        content = json.loads(text)
    except ValueError as error:
        raise TraceError(f"{path}: the metadata is not JSON ({error}); {again}") from error
    version = content.get("schema_version") if isinstance(content, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise TraceError(
            f"{path} has sweep format {version}; this version reads up to {SCHEMA_VERSION}: upgrade gpoeo-env"
        )
    try:
        metadata = _Metadata.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the document"
        raise TraceError(f"{path}: metadata: {where}: {first['msg'].lower()}; {again}") from error
    if metadata.format != FORMAT or metadata.schema_version != SCHEMA_VERSION:
        raise TraceError(
            f"{path} has format {metadata.format!r}, version {metadata.schema_version}; this version reads "
            f"{FORMAT!r}, version {SCHEMA_VERSION}; import it again"
        )
    return metadata


class _Columns:
    """The columns of a file's table, checked for presence, type and empty cells."""

    def __init__(self, table: pa.Table, path: Path) -> None:
        self._table = table
        self._path = path

    def texts(self, name: str) -> NDArray[np.object_]:
        """Return a text column, object, shape (n_rows,)."""
        column = self._typed(name, lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind), "text")
        return np.array([*column.to_pylist(), None], dtype=object)[:-1]

    def integers(self, name: str) -> NDArray[np.int64]:
        """Return a column of whole numbers, int64, shape (n_rows,)."""
        column = self._typed(name, pa.types.is_integer, "whole numbers")
        return np.asarray(column.to_numpy(), dtype=np.int64)

    def floats(self, name: str) -> Array:
        """Return a column of floating-point numbers, float64, shape (n_rows,)."""
        column = self._typed(name, pa.types.is_floating, "floating-point numbers")
        return np.asarray(column.to_numpy(), dtype=np.float64)

    def _typed(self, name: str, is_right: Callable[[pa.DataType], bool], wanted: str) -> pa.ChunkedArray:
        found = self._table.schema.get_all_field_indices(name)
        if len(found) != 1:
            raise TraceError(f"{self._path} has {len(found)} columns {name!r}, not one; import it again")
        column = self._table.column(found[0])
        if not is_right(column.type):
            raise TraceError(f"{self._path}: column {name!r} holds {column.type}, not {wanted}; import it again")
        if column.null_count:
            raise TraceError(f"{self._path}: column {name!r} has {column.null_count} empty cells; import it again")
        return column


def _check_workloads(metadata: _Metadata, workload_of_row: NDArray[np.object_], path: Path) -> None:
    declared, stored = {workload.name for workload in metadata.workloads}, set(workload_of_row.tolist())
    for name in sorted(declared ^ stored):
        where = "metadata but has no row" if name in declared else "rows but not in the metadata"
        raise TraceError(f"{path}: workload {name!r} is in the {where}; the file is damaged: import it again")
