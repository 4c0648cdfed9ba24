"""A scatter chart of plain characters: it reads the same in a log file, without colour and at 80 columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Point", "scatter"]

MARGIN = 8
"""Columns left of the plot, for the labels of the vertical axis."""


@dataclass(frozen=True, slots=True)
class Point:
    """One mark on the chart; coordinates are fractions."""

    x: float
    y: float
    mark: str


@dataclass(frozen=True, slots=True)
class _Axis:
    """A range of fractions over a number of character cells."""

    low: float
    high: float
    cells: int

    @classmethod
    def over(cls, values: Sequence[float], cells: int) -> _Axis:
        """Span the values and zero, with a little room at both ends."""
        low, high = min([0.0, *values]), max([0.01, *values])
        room = 0.05 * (high - low)
        return cls(low - (room if low < 0 else 0.0), high + room, cells)

    def cell(self, value: float) -> int:
        """Return the cell of a value within the range."""
        return round((value - self.low) / (self.high - self.low) * (self.cells - 1))

    def ticks(self, most: int) -> list[float]:
        """Return round values, at most ``most`` + 1 of them, in steps of 1, 2 or 5 times a power of ten."""
        rough = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
        first = math.ceil(self.low / step - 1e-9)
        return [index * step for index in range(first, math.floor(self.high / step + 1e-9) + 1)]


def scatter(points: Sequence[Point], limit: float, *, width: int = 78, height: int = 16) -> str:
    """Draw points, with a dotted vertical line at the limit.

    A mark whose cell is taken by another one moves to the nearest free cell of its row; where there is none, it is
    left out. Equal marks in one cell are drawn once.

    Args:
        points: finite coordinates, fractions.
        limit: horizontal position of the limit line, a fraction.
        width: columns in all.
        height: rows of the plot, axis not counted.

    Returns:
        Lines of ASCII without a final newline.
    """
    x_axis = _Axis.over([*(point.x for point in points), limit], width - MARGIN - 1)
    y_axis = _Axis.over([point.y for point in points], height)
    rows = [[" "] * x_axis.cells for _ in range(height)]
    for row in rows:
        row[x_axis.cell(limit)] = ":"
    for point in points:
        _place(rows[y_axis.cell(point.y)], x_axis.cell(point.x), point.mark)
    labels = {y_axis.cell(tick): f"{100 * tick:.4g} %" for tick in y_axis.ticks(4)}
    lines = [f"{labels.get(row, ''):>{MARGIN - 1}} |{''.join(rows[row])}".rstrip() for row in reversed(range(height))]
    return "\n".join([*lines, f"{'':>{MARGIN - 1}} +{'-' * x_axis.cells}", _x_labels(x_axis, limit)])


def _place(row: list[str], cell: int, mark: str) -> None:
    for other in sorted(range(len(row)), key=lambda index: abs(index - cell)):
        if row[other] in (" ", ":", mark):
            row[other] = mark
            return


def _x_labels(axis: _Axis, limit: float) -> str:
    """Return the line below the axis: the limit first, then every tick label that fits beside it."""
    line = [" "] * (MARGIN + 1 + axis.cells)
    texts = [(limit, f"limit {100 * limit:g} %"), *((tick, f"{100 * tick:.4g} %") for tick in axis.ticks(6))]
    for value, text in texts:
        centred = MARGIN + 1 + axis.cell(value) - len(text) // 2
        start = max(0, min(centred, MARGIN + 1 + axis.cells - len(text)))
        if not "".join(line[max(0, start - 2) : start + len(text) + 2]).strip():
            line[start : start + len(text)] = text
    return "".join(line).rstrip()
