"""Wide tables of performance and power by SM clock, at one memory clock.

Both files look alike, a column for each clock and a row for each workload:

    frequency(MHz),757,825,885
    resnet50,0.62,0.71,1.00

Performance is relative (1 at the reference clock), power is mean board power in W.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.errors import TraceError, UsageError, nearest_names
from gpoeo_env.trace.importers.csv_table import CsvTable, read_csv
from gpoeo_env.trace.importers.origin import checked_gpu_name, imported_from
from gpoeo_env.trace.sweep import Sweep, SweepSet

__all__ = ["import_curves"]

Array = NDArray[np.float64]


def import_curves(
    performance: Path, power: Path, *, gpu_name: str, mem_mhz: int, reference: ClockPair | None = None
) -> SweepSet:
    """Read performance and power curves as sweeps without counters.

    One unit of work is what the reference pair does in one second: ``seconds`` is the performance at the reference
    over the performance at the pair, ``joules`` is power times ``seconds``.

    Args:
        performance: relative performance by SM clock.
        power: mean board power in W by SM clock, for the same clocks and workloads in any order.
        gpu_name: the GPU that was measured.
        mem_mhz: the memory clock at which all was measured.
        reference: the pair that stands for the driver's default; None = the highest SM clock.

    Raises:
        UsageError: the GPU name is blank or ``mem_mhz`` is not positive.
        TraceError: a file cannot be read, a cell is bad, the tables do not hold the same clocks and workloads, there
            is only one clock, or the reference is not among the clocks.
    """
    gpu_name = checked_gpu_name(gpu_name)
    if mem_mhz <= 0:
        raise UsageError(f"the memory clock is {mem_mhz} MHz; it must be positive")
    performances, powers = _read_curves(performance), _read_curves(power)
    for one, other in ((performances, powers), (powers, performances)):
        _check_all_in("clock", one, other, lambda curves: curves.column_of_mhz)
        _check_all_in("workload", one, other, lambda curves: curves.values)
    clocks = ClockTable.from_product(performances.column_of_mhz, (mem_mhz,))
    reference = clocks.top if reference is None else reference
    if reference not in clocks:
        raise TraceError(
            f"{performance} has no column for the reference {reference} MHz; the nearest pair is "
            f"{clocks.nearest(reference)}; name a pair that was measured"
        )
    sweeps = tuple(
        _sweep(workload, clocks, reference, performances.curve(workload), powers.curve(workload))
        for workload in performances.values
    )
    origin = imported_from("curves", (performances.table, powers.table), is_relative=True)
    return SweepSet(gpu_name, sweeps, origin)


@dataclass(frozen=True, slots=True)
class _Curves:
    """One wide table: the column of each clock, and the values of each workload in the order of the columns."""

    table: CsvTable
    column_of_mhz: dict[int, int]
    values: dict[str, tuple[float, ...]]

    def curve(self, workload: str) -> Array:
        """Return one workload's values by ascending clock, float64, shape (n_clocks,)."""
        values = self.values[workload]
        return np.array([values[self.column_of_mhz[mhz] - 1] for mhz in sorted(self.column_of_mhz)])


def _read_curves(file: Path) -> _Curves:
    table = read_csv(file)
    column_of_mhz = _clock_columns(table)
    line_of_workload: dict[str, int] = {}
    values: dict[str, tuple[float, ...]] = {}
    for row in table.rows:
        name, *cells = row.cells
        if not name.text:
            raise name.error("the row names no workload; its first cell is the workload")
        if name.text in line_of_workload:
            first = line_of_workload[name.text]
            raise name.error(f"workload {name.text!r} is listed twice, first in line {first}; give each its own name")
        line_of_workload[name.text] = row.line
        values[name.text] = tuple(cell.positive() for cell in cells)
    return _Curves(table, column_of_mhz, values)


def _clock_columns(table: CsvTable) -> dict[int, int]:
    column_of_mhz: dict[int, int] = {}
    for index in range(1, len(table.header)):
        cell = table.header_cell(index)
        mhz = cell.whole_mhz()
        if mhz in column_of_mhz:
            raise cell.error(f"clock {mhz} MHz is listed twice, first in column {column_of_mhz[mhz] + 1}")
        column_of_mhz[mhz] = index
    if len(column_of_mhz) == 1:
        raise TraceError(
            f"{table.file} has one clock, {next(iter(column_of_mhz))} MHz: there is nothing to choose; "
            "record at least two"
        )
    return column_of_mhz


def _check_all_in(what: str, one: _Curves, other: _Curves, names_of: Callable[[_Curves], Iterable[object]]) -> None:
    there = [str(name) for name in names_of(other)]
    for name in map(str, names_of(one)):
        if name not in there:
            raise TraceError(
                f"{what} {name} is in {one.table.file} but not in {other.table.file} ({nearest_names(name, there)}); "
                f"both tables need the same {what}s"
            )


def _sweep(workload: str, clocks: ClockTable, reference: ClockPair, performance: Array, watts: Array) -> Sweep:
    seconds = performance[clocks.action_of(reference) - 1] / performance
    return Sweep(
        workload=workload,
        clocks=clocks,
        reference=reference,
        seconds=seconds,
        joules=watts * seconds,
        counter_names=(),
        counters=np.empty((len(clocks), 0)),
    )
