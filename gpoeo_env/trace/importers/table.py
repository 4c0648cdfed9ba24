"""Long tables: a row for each workload and clock pair, with time, energy or power, and counters.

    import_table(Path("kernels.csv"), gpu_name="GTX 1080 Ti", reference=ClockPair(1800, 5000), mapping={
        "workload": "app+kernel", "sm_mhz": "coreF", "mem_mhz": "memF", "time_ms": "time/ms", "power_w": "power/W"})

The keys of the map say the units; `column_map` lists them.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.errors import TraceError
from gpoeo_env.signals import signal_named
from gpoeo_env.trace.importers.column_map import ColumnMap
from gpoeo_env.trace.importers.counter_columns import candidate_counters, copies_of
from gpoeo_env.trace.importers.csv_table import Cell, CsvTable, Row, read_csv
from gpoeo_env.trace.importers.origin import checked_gpu_name, imported_from
from gpoeo_env.trace.sweep import Sweep, SweepSet

__all__ = ["import_table"]

_logger = logging.getLogger(__name__)
_Group = TypeVar("_Group")
_Built = TypeVar("_Built")


@dataclass(frozen=True, slots=True)
class _Point:
    """One row, read."""

    line: int
    pair: ClockPair
    seconds: float
    joules: float
    counters: dict[str, float]


def import_table(
    file: Path,
    *,
    gpu_name: str,
    mapping: Mapping[str, str],
    reference: ClockPair | None = None,
    mem_mhz: int | None = None,
    counters: Sequence[str] | None = None,
    ignore: Collection[str] = (),
    drop_incomplete: bool = False,
    tell: Callable[[str], None] = _logger.warning,
) -> SweepSet:
    """Read a long CSV table as sweeps. The workloads need not have the same pairs.

    Args:
        file: comma-separated, UTF-8, with a header.
        gpu_name: the GPU that was measured.
        mapping: column by key: workload, sm_mhz, mem_mhz, time_s (or time_ms, time_us), and energy_j (or energy_mj)
            or power_w (or power_mw). Workload may name several columns, ``"app+input"``; their texts are joined.
        reference: the pair that stands for the driver's default; None = the top pair of the table.
        mem_mhz: the memory clock of all rows, where no column holds it.
        counters: columns to keep; None = every column of numbers that is not mapped, not ignored, and not time,
            energy or power once more. A missing counter is NaN.
        ignore: columns to leave out.
        drop_incomplete: leave out the workloads that have a bad row, lack the reference, or have one pair only;
            otherwise they are errors.
        tell: is called with a line about everything left out unasked.

    Raises:
        UnknownNameError: a key or a column does not exist; the message names the nearest.
        UsageError: the map is incomplete or contradicts itself or other arguments, or the GPU name is blank.
        TraceError: the table cannot be read, a cell is bad, a workload has a pair twice, or nothing is left.
    """
    gpu_name = checked_gpu_name(gpu_name)
    table = read_csv(file)
    columns = ColumnMap.parse(mapping, table, mem_mhz=mem_mhz)
    names = candidate_counters(table, used=columns.columns, counters=counters, ignore=ignore, tell=tell)
    tell_dropped = tell if drop_incomplete else None

    rows = _rows_by_workload(table, columns)
    points = _built(rows, lambda _, group: [_point(row, table, columns, names) for row in group], tell_dropped)
    _check_pairs_once(file, points)
    every_point = [point for group in points.values() for point in group]
    if counters is None:
        names = _without_copies(names, every_point, tell)
    shared_reference = reference or max((point.pair for point in every_point), key=_table_order)
    sweeps = _built(points, lambda name, group: _sweep(file, name, group, shared_reference, names), tell_dropped)
    units = tuple(signal_named(name).unit for name in names)
    return SweepSet(gpu_name, tuple(sweeps.values()), imported_from("table", (table,), is_relative=False), units)


def _rows_by_workload(table: CsvTable, columns: ColumnMap) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in table.rows:
        groups.setdefault(columns.workload_of(row, table), []).append(row)
    return groups


def _built(
    groups: Mapping[str, _Group], build: Callable[[str, _Group], _Built], tell_dropped: Callable[[str], None] | None
) -> dict[str, _Built]:
    """Build something of each workload; where it cannot be built, raise, or leave the workload out and tell."""
    built: dict[str, _Built] = {}
    reason = ""
    for workload, group in groups.items():
        try:
            built[workload] = build(workload, group)
        except TraceError as error:
            if tell_dropped is None:
                raise
            reason = str(error)
            tell_dropped(f"dropped workload {workload!r}: {reason}")
    if not built:
        raise TraceError(f"every workload was dropped and nothing is left to import; the last one: {reason}")
    return built


def _point(row: Row, table: CsvTable, columns: ColumnMap, names: Sequence[str]) -> _Point:
    seconds, joules = columns.cost_of(row, table)
    counters = {name: _counter(row.cells[table.index(name)]) for name in names}
    return _Point(row.line, columns.pair_of(row, table), seconds, joules, counters)


def _counter(cell: Cell) -> float:
    if cell.is_missing:
        return math.nan
    if not cell.is_number:
        raise cell.error(f"{cell.text!r} is not a finite number; correct it, or leave the column out (--ignore)")
    return cell.number()


def _check_pairs_once(file: Path, points: Mapping[str, Sequence[_Point]]) -> None:
    for workload, group in points.items():
        line_of_pair: dict[ClockPair, int] = {}
        for point in group:
            first = line_of_pair.setdefault(point.pair, point.line)
            if first != point.line:
                raise TraceError(
                    f"{file}, line {point.line}: workload {workload!r} at {point.pair} MHz is listed twice, first in "
                    f"line {first}; average repeated runs, or tell different work apart: --map workload=COLUMN+COLUMN"
                )


def _without_copies(names: tuple[str, ...], points: Sequence[_Point], tell: Callable[[str], None]) -> tuple[str, ...]:
    seconds, joules = (np.array([getattr(point, name) for point in points]) for name in ("seconds", "joules"))
    counters = {name: np.array([point.counters[name] for point in points]) for name in names}
    copies = copies_of({"time": seconds, "energy": joules, "power": joules / seconds}, counters)
    for name, target in copies.items():
        tell(f"left out column {name!r}: it is the {target} once more; list the counters to keep it (--counter)")
    return tuple(name for name in names if name not in copies)


def _table_order(pair: ClockPair) -> tuple[int, int]:
    return pair.mem_mhz, pair.sm_mhz


def _sweep(file: Path, workload: str, points: Sequence[_Point], reference: ClockPair, names: tuple[str, ...]) -> Sweep:
    points = sorted(points, key=lambda point: _table_order(point.pair))
    try:
        return Sweep(
            workload=workload,
            clocks=ClockTable(point.pair for point in points),
            reference=reference,
            seconds=np.array([point.seconds for point in points]),
            joules=np.array([point.joules for point in points]),
            counter_names=names,
            counters=np.array([[point.counters[name] for name in names] for point in points]),
        )
    except TraceError as error:
        raise TraceError(f"{file}: {error}") from error
