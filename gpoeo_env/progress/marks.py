"""Let a training program tell its iterations: the surest measure of progress, for one changed line.

    from gpoeo_env.progress.marks import open_marks

    marks = open_marks()                        # the file that GPOEO_MARKS names; without it, marks cost nothing
    for batch in marks.iterate(loader):
        train(batch)

Whoever watches reads the file while the program runs (`read_marks`, `MarksMeter`). A file that cannot be written warns
once and never disturbs the training.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Generic, Self, TypeVar

from gpoeo_env.progress.marks_file import MarksFile
from gpoeo_env.progress.marks_reading import Marks, MarksMeter, read_marks

__all__ = [
    "PATH_VARIABLE",
    "IterationMarks",
    "MarkedBlock",
    "MarkedIterable",
    "Marks",
    "MarksMeter",
    "open_marks",
    "read_marks",
]

PATH_VARIABLE = "GPOEO_MARKS"
RANK_VARIABLES = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "RANK")
"""In the order of trust: which process of this host it is, and if nobody says that, which of all."""

Item = TypeVar("Item")


def open_marks(path: str | Path | None = None, environment: Mapping[str, str] | None = None) -> IterationMarks:
    """Begin to mark.

    Args:
        path: the file to write; an existing one is replaced. None = what ``GPOEO_MARKS`` names, in the first process
            on a host only, as those of a distributed program work in step; without the variable nothing is written.
        environment: where the variables are looked up; None = ``os.environ``.
    """
    if path is None:
        variables = os.environ if environment is None else environment
        is_first = next((variables[name] for name in RANK_VARIABLES if name in variables), "0") == "0"
        path = variables.get(PATH_VARIABLE) if is_first else None
    if not path:
        return IterationMarks(None)
    try:
        return IterationMarks(MarksFile.create(Path(path)))
    except OSError as error:
        warnings.warn(f"iterations are not marked: {path} cannot be written ({error.strerror})", stacklevel=2)
        return IterationMarks(None)


class IterationMarks:
    """Marks iterations, by a wrapped loop or by a ``with`` block. Also a context manager that closes itself."""

    def __init__(self, file: MarksFile | None) -> None:
        """Take the file to write; None = mark nothing."""
        self._file = file
        self._begin_ns = 0

    @property
    def is_on(self) -> bool:
        """Whether anything is written."""
        return self._file is not None

    def iterate(self, iterable: Iterable[Item]) -> MarkedIterable[Item]:
        """Wrap what a training loop runs over: every turn is an iteration, fetching its item included."""
        return MarkedIterable(self, iterable)

    def iteration(self) -> MarkedBlock:
        """Return a ``with`` block that is one iteration; a block that raises is none."""
        return MarkedBlock(self)

    def begin(self) -> None:
        """Say that an iteration begins."""
        self._begin_ns = time.monotonic_ns()

    def end(self) -> None:
        """Say that it ended; the next one begins here unless `begin` says otherwise."""
        now_ns = time.monotonic_ns()
        if self._file is not None and self._begin_ns:
            self._file.add(self._begin_ns, now_ns)
        self._begin_ns = now_ns

    def close(self) -> None:
        """Stop marking; the file stays, for its readers. May be called twice."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close."""
        self.close()


class MarkedIterable(Generic[Item]):
    """A wrapped loop; it can be looped over again, and has a length where the original has one."""

    def __init__(self, marks: IterationMarks, iterable: Iterable[Item]) -> None:
        """Take what to mark with, and what to loop over."""
        self._marks = marks
        self._iterable = iterable

    def __iter__(self) -> Iterator[Item]:
        """Yield the items; an iteration ends when the loop asks for the next item, or finds none."""
        self._marks.begin()
        for item in self._iterable:
            yield item
            self._marks.end()

    def __len__(self) -> int:
        """Return the length of the original; TypeError where it has none."""
        return len(self._iterable)  # type: ignore[arg-type]


class MarkedBlock:
    """One iteration as a ``with`` block."""

    def __init__(self, marks: IterationMarks) -> None:
        """Take what to mark with."""
        self._marks = marks

    def __enter__(self) -> None:
        """Begin the iteration."""
        self._marks.begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it, unless it raised."""
        if kind is None:
            self._marks.end()
