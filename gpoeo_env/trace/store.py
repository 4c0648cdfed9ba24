"""The native sweep file: one Parquet file for all workloads measured on one GPU.

The table is long: a row for each workload and clock pair, with the columns ``workload``, ``sm_mhz``, ``mem_mhz``,
``seconds``, ``joules`` and one column for each counter. What a table cannot say (GPU, reference pairs, units,
provenance) is JSON in the Parquet schema metadata (see `gpoeo_env.trace.parquet`).

    write_sweeps(Path("a100.sweep.parquet"), sweeps)
    read_sweeps(Path("a100.sweep.parquet")).named("resnet50")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from pydantic import BaseModel

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.errors import TraceError, UsageError
from gpoeo_env.trace.parquet import SWEEP, Columns, metadata_of, read_table, write
from gpoeo_env.trace.sweep import Provenance, Sweep, SweepSet

__all__ = ["read_sweeps", "write_sweeps"]

UNITS = {"sm_mhz": "MHz", "mem_mhz": "MHz", "seconds": "s per unit of work", "joules": "J per unit of work"}
COLUMNS = ("workload", *UNITS)


class _Workload(BaseModel, strict=True, frozen=True):
    name: str
    reference_sm_mhz: int
    reference_mem_mhz: int


class _Metadata(BaseModel, strict=True, frozen=True):
    format: str = SWEEP.format
    schema_version: int = SWEEP.version
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
    _check_counter_names(sweeps.sweeps[0].counter_names)
    try:
        columns = _columns_of(sweeps)
    except (UnicodeEncodeError, OverflowError, pa.ArrowException) as error:
        raise TraceError(
            f"cannot write {path}: a name is not Unicode text, or a clock is too large: {error}"
        ) from error
    write(path, SWEEP, columns, _metadata_of(sweeps), overwrite=overwrite)


def read_sweeps(path: Path) -> SweepSet:
    """Read a sweep file.

    Raises:
        TraceError: the file is missing, is damaged, is of another kind or of a newer version, or holds values
            that a sweep cannot have; the message names the file and what to do.
    """
    table = read_table(path, SWEEP)
    metadata = metadata_of(table, path, SWEEP, _Metadata)
    columns = Columns(table, path)
    rows_of_workload = _rows_by_name(columns.texts("workload"))
    clocks_mhz = np.column_stack([columns.integers("sm_mhz"), columns.integers("mem_mhz")])
    seconds, joules = columns.floats("seconds"), columns.floats("joules")
    counters = np.column_stack([np.empty((len(table), 0)), *(columns.floats(name) for name in metadata.counters)])
    _check_workloads(metadata, rows_of_workload, path)

    def sweep_of(workload: _Workload) -> Sweep:
        rows = np.array(rows_of_workload[workload.name])
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


def _columns_of(sweeps: SweepSet) -> dict[str, pa.Array]:
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
    return columns | {name: pa.array(counters[:, index], pa.float64()) for index, name in enumerate(counter_names)}


def _metadata_of(sweeps: SweepSet) -> _Metadata:
    workloads = (
        _Workload(
            name=sweep.workload, reference_sm_mhz=sweep.reference.sm_mhz, reference_mem_mhz=sweep.reference.mem_mhz
        )
        for sweep in sweeps.sweeps
    )
    return _Metadata(
        gpu_name=sweeps.gpu_name,
        workloads=tuple(workloads),
        counters=sweeps.sweeps[0].counter_names,
        counter_units=sweeps.counter_units,
        provenance=sweeps.provenance,
    )


def _rows_by_name(names: Sequence[str]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        rows.setdefault(name, []).append(row)
    return rows


def _check_workloads(metadata: _Metadata, rows_of_workload: Mapping[str, Sequence[int]], path: Path) -> None:
    declared, stored = {workload.name for workload in metadata.workloads}, set(rows_of_workload)
    for name in sorted(declared ^ stored):
        where = "metadata but has no row" if name in declared else "rows but not in the metadata"
        raise TraceError(f"{path}: workload {name!r} is in the {where}; the file is damaged: import it again")
