"""The journal of a recording: appended while it is made, so that whatever kills the recorder costs the last rows only.

A line of JSON says what is recorded; after it each row is its time and values as little-endian float64, and the CRC-32
of these bytes. Rows from the first one on that is not whole are left out: a machine that dies can leave anything there.

    with RecordingJournal.create(path, metadata) as journal:
        journal.append(t_s, values)
    read_journal(path)
"""

from __future__ import annotations

import fcntl
import os
import struct
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from gpoeo_env.errors import ArtefactError, TraceError, UsageError
from gpoeo_env.trace.recording import Recording
from gpoeo_env.trace.recording_store import RecordingMetadata

__all__ = ["JournalMetadata", "RecordingJournal", "is_being_written", "is_journal", "read_journal"]

FORMAT = "gpoeo-recording-journal"
BEGINNING = f'{{"format":"{FORMAT}"'.encode()
CHECK = struct.Struct("<I")


class JournalMetadata(RecordingMetadata, frozen=True):
    """The first line of a journal."""

    format: str = FORMAT
    schema_version: int = 1


class RecordingJournal:
    """A journal that is being written, by this process alone."""

    def __init__(self, path: Path, descriptor: int, n_signals: int) -> None:
        """Take an open file; see `create`."""
        self.path = path
        self.rows = 0
        """Rows so far."""
        self._descriptor = descriptor
        self._numbers = struct.Struct(f"<{1 + n_signals}d")
        self._failure: OSError | None = None

    @classmethod
    def create(cls, path: Path, metadata: JournalMetadata, *, overwrite: bool = False) -> Self:
        """Begin a journal.

        Args:
            path: the file to make; its folder must exist.
            metadata: what is recorded.
            overwrite: forget the journal of a recorder that is dead.

        Raises:
            UsageError: there is a journal, and ``overwrite`` is False or its recorder is alive.
            ArtefactError: the file cannot be written.
        """
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | (0 if overwrite else os.O_EXCL), 0o644)
        except FileExistsError:
            if is_being_written(path):
                raise _busy(path) from None
            raise UsageError(
                f"{path} holds a recording that was cut off; get it back (--recover), or --force"
            ) from None
        except OSError as error:
            raise _cannot_write(path, error) from error
        journal = cls(path, descriptor, len(metadata.signals))
        try:
            journal._begin(metadata)
        except BaseException:
            journal.close()
            raise
        return journal

    def append(self, t_s: float, values: Sequence[float]) -> None:
        """Add a row; a kill of this process does not lose it any more.

        Raises:
            ArtefactError: it cannot be written, or what was written earlier could not be brought to the disk.
        """
        if self._failure is not None:
            raise _cannot_write(self.path, self._failure)
        numbers = self._numbers.pack(t_s, *values)
        self._write(numbers + CHECK.pack(zlib.crc32(numbers)))
        self.rows += 1

    def sync(self) -> None:
        """Bring the rows to the disk; a thread may call it, because it can take long. A failure meets `append`."""
        try:
            os.fdatasync(self._descriptor)
        except OSError as error:
            self._failure = error

    def close(self) -> None:
        """Bring the rows to the disk and close the file; calling it twice is fine."""
        if self._descriptor < 0:
            return
        descriptor, self._descriptor = self._descriptor, -1
        with suppress(OSError):  # reading it will show what is there
            os.fsync(descriptor)
        os.close(descriptor)

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def _begin(self, metadata: JournalMetadata) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _busy(self.path) from None
        os.ftruncate(self._descriptor, 0)
        self._write(metadata.model_dump_json().encode() + b"\n")
        os.fsync(self._descriptor)
        _sync_folder(self.path.parent)

    def _write(self, content: bytes) -> None:
        try:
            if os.write(self._descriptor, content) < len(content):
                raise OSError(0, "there is no room left")
        except OSError as error:
            raise _cannot_write(self.path, error) from error


def is_journal(path: Path) -> bool:
    """Tell whether a file begins like a journal; False where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(len(BEGINNING)) == BEGINNING
    except OSError:
        return False


def is_being_written(path: Path) -> bool:
    """Tell whether the recorder of a journal is alive.

    Raises:
        TraceError: the journal cannot be read.
    """
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as error:
        raise _cannot_read(path, error) from error
    return False


def read_journal(path: Path, ending: str = "") -> Recording:
    """Read the rows that are whole.

    Args:
        path: of the journal.
        ending: how the recording ended, for its provenance; empty = as it was asked to.

    Raises:
        TraceError: the file cannot be read, is no journal, or has fewer than two rows.
    """
    try:
        header, _, body = path.read_bytes().partition(b"\n")
    except OSError as error:
        raise _cannot_read(path, error) from error
    try:
        metadata = JournalMetadata.model_validate_json(header)
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise TraceError(f"{path} is no journal of a recording, or was cut off in its first line ({reason})") from error
    if (metadata.format, metadata.schema_version) != (FORMAT, 1):
        raise TraceError(
            f"{path} has format {metadata.format!r}, version {metadata.schema_version}; this version reads {FORMAT!r}, "
            "version 1: upgrade gpoeo-env"
        )
    numbers = _whole_rows(body, 1 + len(metadata.signals))
    origin = metadata.provenance
    try:
        return Recording(
            name=metadata.name,
            gpu_name=metadata.gpu_name,
            t_s=numbers[:, 0],
            values=numbers[:, 1:],
            signals=metadata.signals,
            provenance=replace(origin, source=f"{origin.source}; {ending}") if ending else origin,
        )
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from error


def _whole_rows(body: bytes, n_numbers: int) -> NDArray[np.float64]:
    """Return the rows before the first one that is not whole, float64, shape (n, n_numbers)."""
    row = np.dtype([("numbers", "<f8", (n_numbers,)), ("check", "<u4")])
    rows = np.frombuffer(body, row, count=len(body) // row.itemsize)
    view, width = memoryview(body), row.itemsize
    checks = rows["check"].tolist()
    starts = range(0, len(rows) * width, width)
    whole = next(
        (
            number
            for number, (start, check) in enumerate(zip(starts, checks, strict=True))
            if zlib.crc32(view[start : start + width - CHECK.size]) != check
        ),
        len(rows),
    )
    return rows["numbers"][:whole].astype(np.float64)


def _sync_folder(folder: Path) -> None:
    """Bring the name of a new file to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _busy(path: Path) -> UsageError:
    return UsageError(f"{path} is being written by another recorder; end that one, or name another file")


def _cannot_write(path: Path, error: OSError) -> ArtefactError:
    return ArtefactError(f"cannot write the journal {path}: {error.strerror}; free the disk, or name another folder")


def _cannot_read(path: Path, error: OSError) -> TraceError:
    return TraceError(f"cannot read the journal {path}: {error.strerror}")
