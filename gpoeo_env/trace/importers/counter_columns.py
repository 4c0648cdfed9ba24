"""Which columns of a long table are counters.

Unless told, every column of numbers that the map does not use is one, but for those that are time, energy or power
under another name: a model could read the answer from them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.errors import UsageError
from gpoeo_env.trace.importers.csv_table import Cell, CsvTable

__all__ = ["candidate_counters", "copies_of"]

Array = NDArray[np.float64]

COPY_TOLERANCE = 0.15
"""A column within this of a constant multiple of a target, in every row, is that target once more: in another unit,
smoothed, or of another run. Tried on an A100 grid with raw time and energy beside the smoothed ones (they stay within
0.12) and a GTX 1080 Ti grid of 46 counters: the nearest real counter of both leaves by 0.44."""
LEAST_SPAN = 2.0
"""A target whose extremes lie closer together than this factor proves nothing: any steady column looks like it."""


def candidate_counters(
    table: CsvTable,
    *,
    used: Collection[str],
    counters: Sequence[str] | None,
    ignore: Collection[str],
    tell: Callable[[str], None],
) -> tuple[str, ...]:
    """Return the columns to read as counters, in the order of the header.

    Args:
        table: the table that is read.
        used: columns that the map uses.
        counters: the ones to take; None = every other column of numbers.
        ignore: columns to leave out.
        tell: is called with a line for each column left out unasked.

    Raises:
        UnknownNameError: a column does not exist; the message names the nearest.
        UsageError: a column is mapped and named as a counter, or named and ignored.
    """
    named = set(counters or ())
    for column in (*(counters or ()), *ignore):
        table.index(column)
        if column in used:
            raise UsageError(f"column {column!r} is mapped; it cannot be named as a counter or ignored as well")
        if column in named and column in ignore:
            raise UsageError(f"column {column!r} is named as a counter and ignored; choose one")
    if counters is not None:
        return tuple(column for column in table.header if column in named)
    if "" in table.header:
        tell(f"left out {table.header.count('')} column(s) without a name")
    rest = [column for column in table.header if column and column not in used and column not in ignore]
    return tuple(column for column in rest if _is_numeric(table.column(column), tell))


def copies_of(targets: Mapping[str, Array], counters: Mapping[str, Array]) -> dict[str, str]:
    """Return the counters that are a target under another name or in another unit, with the target's name.

    Args:
        targets: quantities by name, each float64, shape (n_rows,), positive.
        counters: candidates by name, likewise, but of any sign and NaN where missing.
    """
    return {
        name: target
        for name, values in counters.items()
        for target, wanted in targets.items()
        if _is_multiple(values, wanted)
    }


def _is_numeric(cells: Sequence[Cell], tell: Callable[[str], None]) -> bool:
    """Tell whether most of a column's filled cells are numbers: one bad cell does not make a column text."""
    column = cells[0].column
    filled = [cell for cell in cells if not cell.is_missing]
    if not filled:
        tell(f"left out column {column!r}: it is empty")
        return False
    if 2 * sum(cell.is_number for cell in filled) <= len(filled):
        tell(f"left out column {column!r}: it holds text")
        return False
    return True


def _is_multiple(values: Array, target: Array) -> bool:
    is_there = np.isfinite(values)
    values, target = values[is_there], target[is_there]
    if len(values) == 0 or values.min() <= 0 or target.max() < LEAST_SPAN * target.min():
        return False
    ratio = values / target
    return bool(np.all(np.abs(ratio / np.median(ratio) - 1.0) <= COPY_TOLERANCE))
