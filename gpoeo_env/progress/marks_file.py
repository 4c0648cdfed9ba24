"""The shared file of marks: one fixed-size record, written by the training program and read by anybody.

Little-endian. The header says who writes and how far; a ring holds the latest marks:

    offset  type     content
    0       8 bytes  magic "gpoeo-mk"
    8       u32      version of the layout
    12      u32      process id of the writer
    16      u64      sequence number: odd while a write is going on
    24      u64      iterations completed
    32      u64      marks begun; mark i lies in slot i modulo `SLOTS`
    64      SLOTS x  (i64 begin, i64 end in nanoseconds of CLOCK_MONOTONIC, u64 iterations)

Iterations under a tenth of a second share a mark, so that the ring always reaches back 100 s.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.errors import TraceError

__all__ = ["MAGIC", "MarksFile", "MarksRecord", "decode"]

MAGIC = b"gpoeo-mk"
VERSION = 1
SLOTS = 1024
SHORTEST_MARK_NS = 100_000_000
READ_ATTEMPTS = 1000
LONGEST_NAP_S = 1e-3
"""A write takes microseconds, and a busy machine may hold a writer up for longer: whoever finds one going on for a
second found a writer that died in it."""

_HEADER = struct.Struct("<8sII")
_SEQUENCE = struct.Struct("<Q")
_COUNTS = struct.Struct("<QQ")
_MARK = struct.Struct("<qqQ")
_SEQUENCE_AT, _COUNTS_AT, _MARKS_AT = 16, 24, 64
_SIZE = _MARKS_AT + SLOTS * _MARK.size
_SLOT = np.dtype([("begin_ns", "<i8"), ("end_ns", "<i8"), ("iterations", "<u8")])


@dataclass(frozen=True, slots=True)
class MarksRecord:
    """What the file holds at one instant.

    Attributes:
        begin_ns: begin of each mark on CLOCK_MONOTONIC, int64, shape (n,), oldest first.
        end_ns: its end.
        iterations: how many iterations it holds.
        completed: iterations since the program began, more than the marks hold once the ring is full.
        pid: process id of the writer.
    """

    begin_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    iterations: NDArray[np.int64]
    completed: int
    pid: int


class MarksFile:
    """The writing side. One process writes; it alone holds the state, the file only shows it."""

    def __init__(self, memory: mmap.mmap) -> None:
        """Take a mapped, empty record; see `create`."""
        self._memory = memory
        self._sequence = 0
        self._completed = 0
        self._marks = 0
        self._begin_ns = 0
        self._in_mark = 0

    @classmethod
    def create(cls, path: Path) -> MarksFile:
        """Put a new file in the place of any older one; readers never see a half of it.

        Raises:
            OSError: the file cannot be made, or there is no room for it.
        """
        unfinished = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            with unfinished.open("x+b") as file:
                # Real zeros, no hole: a full disk must fail here and not kill the training at a later store.
                file.write(_HEADER.pack(MAGIC, VERSION, os.getpid()).ljust(_SIZE, b"\0"))
                file.flush()
                memory = mmap.mmap(file.fileno(), _SIZE)
            unfinished.replace(path)
        except OSError:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
            raise
        return cls(memory)

    def add(self, begin_ns: int, end_ns: int) -> None:
        """Add one completed iteration."""
        self._completed += 1
        if self._marks and end_ns - self._begin_ns < SHORTEST_MARK_NS:
            self._in_mark += 1
        else:
            self._begin_ns, self._in_mark = begin_ns, 1
            self._marks += 1
        slot = _MARKS_AT + (self._marks - 1) % SLOTS * _MARK.size
        _SEQUENCE.pack_into(self._memory, _SEQUENCE_AT, self._sequence + 1)
        _MARK.pack_into(self._memory, slot, self._begin_ns, end_ns, self._in_mark)
        _COUNTS.pack_into(self._memory, _COUNTS_AT, self._completed, self._marks)
        self._sequence += 2
        _SEQUENCE.pack_into(self._memory, _SEQUENCE_AT, self._sequence)

    def close(self) -> None:
        """Let go of the file; it stays for its readers."""
        self._memory.close()


def decode(path: Path) -> MarksRecord:
    """Read the record that a training program writes, between two of its writes.

    Raises:
        TraceError: this is no such file, or its writer died in the middle of a write.
        OSError: the file cannot be read.
    """
    for attempt in range(READ_ATTEMPTS):
        with path.open("rb", buffering=0) as file:
            before = file.read(_MARKS_AT)
            body = file.read(_SIZE - _MARKS_AT)
            file.seek(0)
            after = file.read(_MARKS_AT)
        if len(body) != _SIZE - _MARKS_AT or _HEADER.unpack_from(before)[:2] != (MAGIC, VERSION):
            raise TraceError(f"{path} is no marks file of version {VERSION}; let the training program write a new one")
        if before == after and _SEQUENCE.unpack_from(before, _SEQUENCE_AT)[0] % 2 == 0:
            return _record(before, body)
        time.sleep(min(1e-5 * attempt, LONGEST_NAP_S))
    raise TraceError(f"{path} stays in the middle of a write; its writer has died, start the training program again")


def _record(header: bytes, body: bytes) -> MarksRecord:
    completed, marks = _COUNTS.unpack_from(header, _COUNTS_AT)
    slots = np.frombuffer(body, dtype=_SLOT)
    # Oldest first: once the ring is full, the oldest mark lies in the slot that the next one will take.
    ordered = np.roll(slots, -(marks % SLOTS)) if marks > SLOTS else slots[:marks]
    return MarksRecord(
        begin_ns=ordered["begin_ns"].astype(np.int64),
        end_ns=ordered["end_ns"].astype(np.int64),
        iterations=ordered["iterations"].astype(np.int64),
        completed=completed,
        pid=_HEADER.unpack_from(header)[2],
    )
