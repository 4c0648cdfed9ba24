"""The text that ``dcgmi dmon`` prints, as it is, as a recording.

    #Entity   POWER     TOTEC          SMACT   DRAMA           # Entity  POWER  TOTEC  SMACT  DRAMA
    ID        W         mJ                                           Id
    GPU 0     185.300   257858316      0.571   0.212               GPU 0  185.300  257858316  0.571  0.212

Both generations of the header are read, by the names in it and wherever it is repeated; other lines (warnings, what
another tool printed between) are left out and told. There are no timestamps: rows are one interval apart, that of
``dcgmi dmon --delay``. A cell without a value ("N/A", DCGM's blanks, what no sensor can read) is missing and counted.
"""

from __future__ import annotations

import gzip
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gpoeo_env.errors import TraceError, UsageError
from gpoeo_env.trace.importers.dcgmi_columns import DCGMI_COLUMNS, reading
from gpoeo_env.trace.importers.origin import checked_gpu_name, origin_of
from gpoeo_env.trace.recording import Recording

__all__ = ["import_dcgmi_log"]

GZIP_MAGIC = b"\x1f\x8b"
HEADER = "Entity"
UNIT_ROW = "id"
ENTITIES = ("GPU", "GPU-I", "GPU-CI")
"""A whole GPU, an instance of one, and a compute instance: the first word of a row."""
WHOLE_GPU = "GPU"


def import_dcgmi_log(
    file: Path,
    *,
    interval_s: float,
    entity: str | None = None,
    gpu_name: str | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Recording:
    """Read what ``dcgmi dmon`` printed; a file compressed with gzip is fine.

    Args:
        file: UTF-8 text.
        interval_s: time between two rows of one GPU in seconds: the log does not say.
        entity: whose rows to read, for example "GPU 0"; None = the only whole GPU in the log.
        gpu_name: the GPU that was recorded; None = unknown.
        tell: is called with a line about everything left out, and about how much of a column is missing.

    Raises:
        UsageError: the interval is not positive, or the GPU name is blank.
        TraceError: the file cannot be read or has no header with a known column, a row does not fit its header, a cell
            holds text, or the entity is not there or not the only GPU.
    """
    if not interval_s > 0:
        raise UsageError(f"the rows of a log are a positive number of seconds apart; got {interval_s:g}")
    gpu_name = None if gpu_name is None else checked_gpu_name(gpu_name)
    content = _content(file)
    rows = _Rows(file)
    for number, line in enumerate(_lines(file, content), start=1):
        rows.take(number, line.split())
    _tell_what_was_left_out(rows, tell)
    chosen = rows.of(entity)
    names = tuple(dict.fromkeys(name for row in chosen for name in row.cells))
    values = np.array([[row.cells.get(name, np.nan) for name in names] for row in chosen], dtype=np.float64)
    _tell_missing(file, names, values, tell)
    try:
        return Recording(
            name=file.name.removesuffix(".gz"),
            gpu_name=gpu_name,
            t_s=np.arange(len(chosen), dtype=np.float64) * interval_s,
            values=values,
            signals=tuple(DCGMI_COLUMNS[name].signal for name in names),
            provenance=origin_of("dcgmi", [(file.name, hashlib.sha256(content).hexdigest())], is_relative=False),
        )
    except TraceError as error:
        raise TraceError(f"{file}: {error}") from error


@dataclass(frozen=True, slots=True)
class _Row:
    entity: str
    cells: dict[str, float]


@dataclass(slots=True)
class _Rows:
    """Reads line after line under the header that was seen last."""

    file: Path
    header: tuple[str, ...] = ()
    rows: list[_Row] = field(default_factory=list)
    unknown: dict[str, None] = field(default_factory=dict)
    """Columns that are no known reading; a dict for its order."""
    other_lines: Counter[str] = field(default_factory=Counter)

    def take(self, number: int, words: Sequence[str]) -> None:
        """Take the words of one line."""
        header = _header_in(words)
        if header is not None:
            self.header = header
            self.unknown |= dict.fromkeys(name for name in header if name not in DCGMI_COLUMNS)
        elif len(words) > 1 and words[0] in ENTITIES and words[1].isdecimal() and self.header:
            self.rows.append(self._row(number, f"{words[0]} {words[1]}", words[2:]))
        elif words and words[0].lower() != UNIT_ROW:
            self.other_lines[" ".join(words)] += 1

    def of(self, entity: str | None) -> list[_Row]:
        """Return the rows of one entity, or of the only whole GPU."""
        found = tuple(dict.fromkeys(row.entity for row in self.rows))
        if not self.rows or all(name in self.unknown for name in self.header):
            raise TraceError(
                f"{self.file} is no log of `dcgmi dmon`: it needs a line '# Entity' with at least one of "
                f"{', '.join(DCGMI_COLUMNS)}, and rows such as 'GPU 0' below it"
            )
        whole = [name for name in found if name.split()[0] == WHOLE_GPU]
        if entity is None and len(whole) != 1:
            raise TraceError(f"{self.file} has rows of {', '.join(found)}; say which of them to read")
        wanted = entity or whole[0]
        if wanted not in found:
            raise TraceError(f"{self.file} has no rows of {wanted}; it has rows of {', '.join(found)}")
        return [row for row in self.rows if row.entity == wanted]

    def _row(self, number: int, entity: str, texts: Sequence[str]) -> _Row:
        if len(texts) != len(self.header):
            raise TraceError(
                f"{self.file}, line {number}: {len(texts)} cells under a header of {len(self.header)}; the log is cut "
                "or damaged there: remove the line"
            )
        known = [pair for pair in zip(self.header, texts, strict=True) if pair[0] in DCGMI_COLUMNS]
        try:
            return _Row(entity, {name: reading(text, DCGMI_COLUMNS[name]) for name, text in known})
        except ValueError as error:
            raise TraceError(f"{self.file}, line {number}: {error}; remove the line, or write N/A") from error


def _header_in(words: Sequence[str]) -> tuple[str, ...] | None:
    """Return the names of a header line, ``#Entity A B`` or ``# Entity A B``; None where it is another line."""
    joined = words[1:] if words and words[0] == "#" else [word.removeprefix("#") for word in words[:1]] + [*words[1:]]
    is_header = bool(words) and words[0].startswith("#") and bool(joined) and joined[0] == HEADER
    return tuple(joined[1:]) if is_header else None


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise TraceError(f"there is no file {file}; check the path") from None
    except OSError as error:
        raise TraceError(f"cannot read {file}: {error.strerror}") from error


def _lines(file: Path, content: bytes) -> Iterator[str]:
    try:
        text = gzip.decompress(content) if content.startswith(GZIP_MAGIC) else content
        return iter(text.decode("utf-8-sig").splitlines())
    except (OSError, EOFError) as error:
        raise TraceError(f"{file} is a damaged gzip file: {error}; copy it again") from error
    except UnicodeDecodeError as error:
        raise TraceError(f"{file} is not UTF-8 text ({error.reason}); is it a log of `dcgmi dmon`?") from error


def _tell_what_was_left_out(rows: _Rows, tell: Callable[[str], None]) -> None:
    if rows.unknown:
        tell(f"{rows.file}: left out {', '.join(rows.unknown)}: no known reading of a GPU")
    for line, times in rows.other_lines.items():
        tell(f"{rows.file}: left out {times} line(s) that are no readings: {line!r}")


def _tell_missing(file: Path, names: Sequence[str], values: np.ndarray, tell: Callable[[str], None]) -> None:
    missing = np.isnan(values).sum(axis=0)
    counts = [f"{name} {count}" for name, count in zip(names, missing.tolist(), strict=True) if count]
    if counts:
        tell(f"{file}: cells without a reading, of {len(values)}: {', '.join(counts)}")
