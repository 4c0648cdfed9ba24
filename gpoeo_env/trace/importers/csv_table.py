"""A CSV file as text cells that know where they stand, so that every complaint names file, line and column."""

from __future__ import annotations

import csv
import hashlib
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.errors import TraceError, UnknownNameError

__all__ = ["Cell", "CsvTable", "Row", "read_csv"]

MISSING = frozenset({"", "nan", "na", "n/a", "[n/a]", "none", "null"})
"""How the tools whose tables are read write "no value", in lower case (pandas, nvidia-smi, R, JSON, SQL)."""

MOST_MHZ = 100_000
"""Above this a clock is in another unit: GPU memory runs at some 10 000 MHz, and 210 MHz in kHz is 210 000."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its text without surrounding blanks, and its place."""

    text: str
    file: Path
    line: int
    column: str

    def error(self, complaint: str) -> TraceError:
        """Return (not raise) an error about this cell."""
        return TraceError(f"{self.file}, line {self.line}, column {self.column!r}: {complaint}")

    @property
    def is_missing(self) -> bool:
        """True where the cell is empty or says that there is no value."""
        return self.text.lower() in MISSING

    @property
    def is_number(self) -> bool:
        """True where the text is a finite number."""
        return math.isfinite(_float_or_nan(self.text))

    def number(self) -> float:
        """Return a finite number.

        Raises:
            TraceError: the cell is empty or holds something else.
        """
        if not self.text:
            raise self.error("the cell is empty; fill in a number")
        if not self.is_number:
            raise self.error(f"{self.text!r} is not a finite number")
        return float(self.text)

    def positive(self) -> float:
        """Return a finite number above zero.

        Raises:
            TraceError: the cell is empty or holds something else.
        """
        value = self.number()
        if value <= 0:
            raise self.error(f"{self.text} is not positive")
        return value

    def whole_mhz(self) -> int:
        """Return a clock in MHz; ``1380.0`` is whole, too.

        Raises:
            TraceError: the cell is empty or holds something else.
        """
        value = self.positive()
        if not value.is_integer():
            raise self.error(f"{self.text} is not a whole number of MHz")
        if value > MOST_MHZ:
            raise self.error(f"{self.text} MHz is no clock of a GPU; give clocks in MHz, not in kHz or Hz")
        return int(value)


@dataclass(frozen=True, slots=True)
class Row:
    """One record of a table; ``cells`` are in the order of its header."""

    line: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class CsvTable:
    """A rectangular table below a header.

    Attributes:
        file: where it was read from.
        sha256: of the file's bytes, in hexadecimal.
        header: column names; unique but for empty ones.
        header_line: 1-based.
        lines: the line of each record below the header; at least one.
        texts: the stripped cells of each record, as many as the header has.
    """

    file: Path
    sha256: str
    header: tuple[str, ...]
    header_line: int
    lines: tuple[int, ...]
    texts: tuple[tuple[str, ...], ...]

    @property
    def rows(self) -> Iterator[Row]:
        """The records as cells that know their place."""
        for line, texts in zip(self.lines, self.texts, strict=True):
            cells = (Cell(text, self.file, line, name) for text, name in zip(texts, self.header, strict=True))
            yield Row(line, tuple(cells))

    def index(self, name: str) -> int:
        """Return the position of a column.

        Raises:
            UnknownNameError: there is no such column; the message names the nearest.
        """
        if not name or name not in self.header:
            raise UnknownNameError(f"column of {self.file}", name, [known for known in self.header if known])
        return self.header.index(name)

    def column(self, name: str) -> tuple[Cell, ...]:
        """Return the cells of one column.

        Raises:
            UnknownNameError: as in `index`.
        """
        index = self.index(name)
        records = zip(self.lines, self.texts, strict=True)
        return tuple(Cell(texts[index], self.file, line, name) for line, texts in records)

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return a column of numbers, float64, shape (n_rows,); NaN where a cell says that there is no value.

        Raises:
            UnknownNameError: as in `index`.
            TraceError: a cell holds something else, infinity included.
        """
        index = self.index(name)
        texts = [record[index] for record in self.texts]
        numbers = np.array([_float_or_nan(text) for text in texts], dtype=np.float64)
        for row in np.flatnonzero(~np.isfinite(numbers)).tolist():
            if texts[row].lower() not in MISSING:
                raise self.column(name)[row].error(f"{texts[row]!r} is not a finite number")
        return numbers

    def header_cell(self, index: int) -> Cell:
        """Return a cell of the header itself; a column of the header is named by its number, from 1."""
        return Cell(self.header[index], self.file, self.header_line, str(index + 1))


def read_csv(file: Path) -> CsvTable:
    """Read a comma-separated table in UTF-8 with a header; a byte-order mark, CRLF and blank lines are fine.

    Raises:
        TraceError: the file is not there, cannot be read, is empty, has no header or no rows, names a column twice,
            or its rows are not all as long as the header.
    """
    content = _content(file)
    records = _records(file, content)
    header_line, header = next(records, (0, ()))
    if not header:
        raise TraceError(f"{file} is empty; a table has a header and rows")
    _check_header(file, header_line, header)
    lines, rows = [], []
    for line, texts in records:
        _check_length(file, line, texts, header)
        lines.append(line)
        rows.append(texts)
    if not rows:
        raise TraceError(f"{file} has a header and no rows; there is nothing to import")
    return CsvTable(file, hashlib.sha256(content).hexdigest(), header, header_line, tuple(lines), tuple(rows))


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise TraceError(f"there is no file {file}; check the path") from None
    except OSError as error:
        raise TraceError(f"cannot read {file}: {error.strerror}") from error


def _records(file: Path, content: bytes) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the line number and the stripped cells of each record that is not blank."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise TraceError(f"{file}, line {line}: not UTF-8 text; save the table as CSV in UTF-8") from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    try:
        for record in reader:
            texts = tuple(cell.strip() for cell in record)
            if any(texts):
                yield line, texts
            line = reader.line_num + 1
    except csv.Error as error:
        raise TraceError(f"{file}, line {line}: not a CSV table: {error}") from error


def _check_header(file: Path, line: int, header: tuple[str, ...]) -> None:
    if len(header) == 1:
        raise TraceError(f"{file}, line {line}: one column, {header[0]!r}; separate the columns with commas")
    if all(math.isfinite(_float_or_nan(name)) for name in header if name):
        raise TraceError(f"{file}, line {line}: numbers where the header should be; put column names above them")
    for index, name in enumerate(header):
        if name and name in header[:index]:
            raise TraceError(
                f"{file}, line {line}: column {name!r} is listed twice, as column {header.index(name) + 1} and "
                f"{index + 1}; give each its own name"
            )


def _check_length(file: Path, line: int, texts: tuple[str, ...], header: tuple[str, ...]) -> None:
    if len(texts) != len(header):
        where = (
            f"ends before column {header[len(texts)]!r}" if len(texts) < len(header) else "goes past the last column"
        )
        raise TraceError(f"{file}, line {line}: {len(texts)} cells under a header of {len(header)}; the row {where}")


def _float_or_nan(text: str) -> float:
    # float() would also read "1_000", which no table writer means as a number.
    if "_" in text:
        return math.nan
    try:
        return float(text)
    except ValueError:
        return math.nan
