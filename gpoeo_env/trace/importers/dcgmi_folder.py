"""A folder of ``dcgmi dmon`` logs, one for each clock pair of each workload, as a recording set.

Which log is which stands in its name. A *pattern* says where:

    {workload}-{sm_mhz}-*.gz              bfs-1005-0.gz
    {workload}_{sm_mhz}_{mem_mhz}.txt     lstm_1410_1593.txt
    GA100-{workload}-{sm_mhz}-0.gz        text that is the same in every name

``*`` stands for any text.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpoeo_env.clocks import ClockPair
from gpoeo_env.errors import TraceError, UsageError
from gpoeo_env.signals import SM_CLOCK
from gpoeo_env.trace.importers.dcgmi_log import import_dcgmi_log
from gpoeo_env.trace.importers.origin import checked_gpu_name, origin_of
from gpoeo_env.trace.recording import Recording
from gpoeo_env.trace.recording_set import LockedRecording, RecordingSet

__all__ = ["NamePattern", "import_dcgmi_folder"]

FIELDS = {"workload": r"(?P<workload>.+?)", "sm_mhz": r"(?P<sm_mhz>\d+)", "mem_mhz": r"(?P<mem_mhz>\d+)"}
CLOCK_TOLERANCE_MHZ = 15
"""One clock step of NVIDIA's GPUs: a log whose clock is farther off its name was not honoured, or is misnamed."""


@dataclass(frozen=True, slots=True)
class NamePattern:
    """Reads workload and clocks off a file's name.

    Attributes:
        expression: matches a whole name, with the groups of `FIELDS`.
        mem_mhz: memory clock of every file; None = the name says it.
    """

    expression: re.Pattern[str]
    mem_mhz: int | None

    @classmethod
    def parse(cls, pattern: str, mem_mhz: int | None) -> NamePattern:
        """Read a pattern; see the module.

        Raises:
            UsageError: a field is unknown, missing or there twice, or the memory clock is given twice or not at all.
        """
        pieces = re.split(r"(\{[^{}]*\}|\*)", pattern)
        fields = [piece[1:-1] for piece in pieces if piece.startswith("{")]
        wanted = {"workload", "sm_mhz"} | ({"mem_mhz"} if mem_mhz is None else set())
        if set(fields) != wanted or len(fields) != len(wanted):
            needed = ", ".join(f"{{{name}}}" for name in FIELDS if name in wanted)
            raise UsageError(
                f"the pattern {pattern!r} needs {needed}, each once and nothing else in braces (the memory clock "
                "stands in the pattern or in --mem-mhz); for example {workload}-{sm_mhz}-*.gz"
            )
        if mem_mhz is not None and mem_mhz <= 0:
            raise UsageError(f"the memory clock is {mem_mhz} MHz; it must be positive")
        return cls(re.compile("".join(_expression(piece) for piece in pieces)), mem_mhz)

    def read(self, name: str) -> tuple[str, ClockPair] | None:
        """Return workload and pair; None where the name does not match."""
        match = self.expression.fullmatch(name)
        if match is None:
            return None
        mem_mhz = int(match["mem_mhz"]) if self.mem_mhz is None else self.mem_mhz
        return match["workload"], ClockPair(int(match["sm_mhz"]), mem_mhz)

    def count(self, folder: Path) -> int:
        """Return how many names in a folder match; 0 where it cannot be read."""
        return sum(self.read(path.name) is not None for path in folder.iterdir()) if folder.is_dir() else 0


def import_dcgmi_folder(
    folder: Path,
    names: NamePattern,
    *,
    gpu_name: str,
    interval_s: float,
    reference: ClockPair | None = None,
    tell: Callable[[str], None] = lambda _: None,
    advance: Callable[[], None] = lambda: None,
) -> RecordingSet:
    """Read every log in a folder whose name fits.

    Args:
        folder: is not searched deeper than its own files.
        names: which log is which.
        gpu_name: the GPU that was recorded.
        interval_s: time between two rows in seconds.
        reference: the pair that stands for the driver's default; None = the top pair of the first workload.
        tell: is called with a line about everything left out, each kind once for all files.
        advance: is called after each file.

    Raises:
        UsageError: the interval is not positive, or the GPU name is blank.
        TraceError: the folder is not there or no name fits, a log cannot be read, or the logs do not belong together.
    """
    gpu_name = checked_gpu_name(gpu_name)
    files = _files(folder)
    fitting = [(file, found) for file in files if (found := names.read(file.name)) is not None]
    if not fitting:
        raise TraceError(
            f"no name of the {len(files)} files in {folder} fits the pattern; the first is {files[0].name}"
        )
    if len(fitting) < len(files):
        tell(f"{folder}: left out {len(files) - len(fitting)} files whose names do not fit")
    with _Once(folder, tell) as once:
        runs: list[LockedRecording] = []
        for file, (workload, pair) in fitting:
            recording = import_dcgmi_log(file, interval_s=interval_s, gpu_name=gpu_name, tell=once.about(file))
            _check_clock(file, pair, recording)
            runs.append(LockedRecording(workload, pair, recording))
            advance()
    digest = hashlib.sha256("".join(run.recording.provenance.source for run in runs).encode()).hexdigest()
    return RecordingSet(
        gpu_name=gpu_name,
        reference=reference or max((run.pair for run in runs), key=lambda pair: (pair.mem_mhz, pair.sm_mhz)),
        runs=tuple(runs),
        provenance=origin_of("dcgmi", [(f"{len(runs)} logs in {folder.name}", digest)], is_relative=False),
    )


class _Once:
    """Gathers what is told about many files, and tells each thing once with the number of files."""

    def __init__(self, folder: Path, tell: Callable[[str], None]) -> None:
        self._folder = folder
        self._tell = tell
        self._seen: Counter[str] = Counter()

    def about(self, file: Path) -> Callable[[str], None]:
        """Return the ``tell`` of one file; counts differ from file to file and are left to a look at one of them."""

        def gather(line: str) -> None:
            complaint = line.removeprefix(f"{file}: ")
            self._seen[re.sub(r"\d+", "some", complaint) if "cells without" in complaint else complaint] += 1

        return gather

    def __enter__(self) -> _Once:
        return self

    def __exit__(self, *_: object) -> None:
        for line, files in self._seen.items():
            self._tell(f"{self._folder}, {files} file(s): {line}")


def _expression(piece: str) -> str:
    if piece.startswith("{"):
        return FIELDS[piece[1:-1]]
    return ".*" if piece == "*" else re.escape(piece)


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise TraceError(f"there is no folder {folder}; name the one that holds the logs")
    files = sorted(path for path in folder.iterdir() if path.is_file())
    if not files:
        raise TraceError(f"the folder {folder} holds no files; name the one that holds the logs")
    return files


def _check_clock(file: Path, pair: ClockPair, recording: Recording) -> None:
    """Refuse a log that ran at another clock than its name says; below the highest reading the GPU may have idled."""
    read_mhz = recording.column(SM_CLOCK.name)
    if read_mhz is None or not np.isfinite(read_mhz).any():
        return
    highest_mhz = float(np.nanmax(read_mhz))
    if abs(highest_mhz - pair.sm_mhz) > CLOCK_TOLERANCE_MHZ:
        raise TraceError(
            f"{file}: the SM clock reached {highest_mhz:g} MHz, and the name says {pair.sm_mhz}; the lock was not "
            "honoured, or the log is misnamed: move it away, or rename it"
        )
