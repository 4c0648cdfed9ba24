"""Iterations as the program itself told them, and the work rate that follows."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.errors import GpoeoError, TraceError
from gpoeo_env.progress.marks_file import MAGIC, decode
from gpoeo_env.records import Progress, Window

__all__ = ["Marks", "MarksMeter", "read_marks"]

COLUMNS = ("start_s", "end_s", "kind")
LEAST_REL_SD = 0.001
"""The host marks when it has queued the work of an iteration, some milliseconds before or after the GPU did it."""
LEAST_COVERAGE = 0.5
"""Share of a window that the marks must cover."""
LATE_ITERATIONS = 3.0
"""An iteration that takes this many times the longest one known is no longer waited for."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Marks:
    """Consecutive iterations.

    Attributes:
        start_s: begin of each mark on the clock of the windows, float64, shape (n,), increasing.
        end_s: its end, at or before the next begin. Time between marks belongs to no iteration.
        iterations: how many iterations a mark holds, shape (n,): 1, or more where they are very short.
        kinds: what each mark was, as the program named it; empty strings where it did not.
    """

    start_s: Floats
    end_s: Floats
    iterations: NDArray[np.int64]
    kinds: tuple[str, ...]

    def completed(self, t_s: float) -> float:
        """Return how many iterations were done at a time, counted from the first mark; fractions run with time."""
        edges = np.stack((self.start_s, self.end_s), axis=1).ravel()
        total = np.cumsum(self.iterations)
        counts = np.stack((total - self.iterations, total), axis=1).ravel()
        return float(np.interp(t_s, edges, counts))


def read_marks(path: str | Path, *, offset_s: float = 0.0) -> Marks:
    """Read marks from the shared file of a running program, or from a CSV with columns start_s, end_s, kind.

    Args:
        path: the file.
        offset_s: what to add to its times to get the clock of the windows. A shared file holds `time.monotonic()`
            (CLOCK_MONOTONIC, one clock for all processes of a boot), so a device on that clock needs no offset.

    Raises:
        TraceError: the file is missing, or neither of both.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            is_shared = file.read(len(MAGIC)) == MAGIC
        return _from_shared(path, offset_s) if is_shared else _from_csv(path, offset_s)
    except OSError as error:
        raise TraceError(f"marks wanted from {path}, which cannot be read ({error.strerror})") from error


class MarksMeter:
    """Counts the iterations in a window, fractions included.

    The first and the last iteration of a window count in proportion to the time that lies inside. A window that ends
    in a running iteration is judged up to the last mark.
    """

    def __init__(self, marks: Marks | Callable[[], Marks]) -> None:
        """Take marks, or how to read them: ``MarksMeter(lambda: read_marks(path))`` asks anew for every window."""
        self._marks = marks
        self._period_s = math.nan

    @property
    def period_s(self) -> float:
        """Mean length of an iteration in the last window, in seconds; NaN = unknown."""
        return self._period_s

    def measure(self, window: Window) -> Progress:
        """Return iterations per second; refuse where the marks do not cover the window or cannot be read."""
        progress = self._count(window)
        self._period_s = 1.0 / progress.work_rate
        return progress

    def _count(self, window: Window) -> Progress:
        try:
            marks = self._marks if isinstance(self._marks, Marks) else self._marks()
        except GpoeoError as error:
            return _refusal(str(error))
        if len(marks.start_s) == 0:
            return _refusal("the program has not marked an iteration yet")
        begin_s, end_s = float(window.t_s[0]), float(window.t_s[-1])
        from_s, to_s = max(begin_s, float(marks.start_s[0])), min(end_s, float(marks.end_s[-1]))
        if to_s - from_s < LEAST_COVERAGE * (end_s - begin_s) or _is_overdue(marks, from_s, end_s):
            return _refusal(
                f"marks reach from {marks.start_s[0]:.1f} to {marks.end_s[-1]:.1f} s and leave too much out"
            )
        iterations = marks.completed(to_s) - marks.completed(from_s)
        if iterations < 1:
            return _refusal("no iteration fits into the window; make it longer")
        rel_sd = _rel_sd(marks, from_s, to_s, iterations)
        return Progress(work_rate=iterations / (to_s - from_s), rel_sd=rel_sd, kind="marks")


def _is_overdue(marks: Marks, from_s: float, end_s: float) -> bool:
    """Tell whether the program seems to have stopped before the end of a window."""
    lately = marks.end_s >= from_s
    longest_s = float((marks.end_s - marks.start_s)[lately].max(initial=0.0))
    return end_s - float(marks.end_s[-1]) > LATE_ITERATIONS * longest_s


def _rel_sd(marks: Marks, from_s: float, to_s: float, iterations: float) -> float:
    """Return the standard error of the count: how far the marks scatter around an even pace, at both ends.

    For independent iterations this is 0.8 of their relative scatter over the root of their number; a cycle (every
    fifth iteration longer) counts with what it can displace and no more.
    """
    inside_s = marks.end_s[(marks.end_s > from_s) & (marks.end_s <= to_s)]
    counts = np.array([marks.completed(t_s) - marks.completed(from_s) for t_s in inside_s.tolist()])
    even = iterations * (inside_s - from_s) / (to_s - from_s)
    scatter = float(np.sqrt(np.mean((counts - even) ** 2))) if len(counts) else 0.0
    return max(2.0 * scatter / iterations, LEAST_REL_SD)


def _refusal(reason: str) -> Progress:
    return Progress(work_rate=math.nan, rel_sd=math.nan, kind="none", reason=reason)


def _from_shared(path: Path, offset_s: float) -> Marks:
    record = decode(path)
    start_s, end_s = (edges_ns.astype(np.float64) * 1e-9 + offset_s for edges_ns in (record.begin_ns, record.end_ns))
    return Marks(start_s, end_s, record.iterations, ("",) * len(start_s))


def _from_csv(path: Path, offset_s: float) -> Marks:
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        try:
            marks = [(float(row["start_s"]), float(row["end_s"]), row.get("kind") or "") for row in rows]
        except (KeyError, TypeError, ValueError, csv.Error) as error:
            wanted = f"marks wanted from {path}: a shared marks file, or a CSV with columns {', '.join(COLUMNS)}"
            raise TraceError(f"{wanted}; line {rows.line_num} has none ({error})") from error
    edges = np.array([(start_s, end_s) for start_s, end_s, _ in marks], dtype=np.float64).reshape(-1, 2)
    if not np.isfinite(edges).all() or bool(np.any(np.diff(edges.ravel()) < 0)):
        raise TraceError(f"the marks of {path} overlap or run backwards; sort them by start_s")
    start_s, end_s = edges.T + offset_s
    return Marks(start_s, end_s, np.ones(len(marks), dtype=np.int64), tuple(kind for _, _, kind in marks))
