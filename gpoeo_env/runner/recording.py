"""Record what a live GPU reports, row by row, in a way that a kill, a full disk or a lost GPU cannot undo.

recorder = Recorder(Path("train.recording.parquet"), overwrite=False)
with device, recorder.open(device, rate_hz=20.0):
    recorder.record(device)
recording = recorder.finish()
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from gpoeo_env.device.guard.watch import Heartbeat
from gpoeo_env.device.nvml.device import NvmlDevice
from gpoeo_env.device.nvml.sampling import Row
from gpoeo_env.errors import ArtefactError, TraceError, UsageError
from gpoeo_env.trace.logs import CUT_OFF
from gpoeo_env.trace.recording import Recording
from gpoeo_env.trace.recording_journal import (
    JournalMetadata,
    RecordingJournal,
    is_being_written,
    read_journal,
)
from gpoeo_env.trace.recording_store import write_recording
from gpoeo_env.trace.sweep import Provenance
from gpoeo_env.version import __version__

__all__ = ["Recorder", "journal_of"]

SYNC_S = 1.0
"""What the death of the machine can cost; that of the recorder costs nothing."""
LEAST_ROWS = 2


def journal_of(output: Path) -> Path:
    """Return where the rows of a recording are until it is finished: beside it."""
    return output.with_name(f"{output.name}.journal")


class Recorder:
    """Makes one file."""

    def __init__(self, output: Path, *, overwrite: bool = False) -> None:
        """Take the file to make; nothing is written yet.

        Args:
            output: a file in a folder that exists.
            overwrite: replace the file, and forget the journal of a dead recorder.

        Raises:
            UsageError: the file is there and must not be replaced, or it cannot be one.
        """
        if output.is_dir() or not output.parent.is_dir():
            what = "is a folder" if output.is_dir() else f"is in a folder that does not exist, {output.parent}"
            raise UsageError(f"{output} {what}; name a file in a folder that exists")
        if output.exists() and not overwrite:
            raise UsageError(f"{output} exists already; name another file, or overwrite it on purpose (--force)")
        self.output = output
        self._overwrite = overwrite
        self._journal: RecordingJournal | None = None

    @property
    def has_begun(self) -> bool:
        """Whether there is a journal to finish."""
        return self._journal is not None

    @property
    def rows(self) -> int:
        """Rows so far."""
        return 0 if self._journal is None else self._journal.rows

    def open(self, device: NvmlDevice, rate_hz: float) -> RecordingJournal:
        """Begin the journal.

        Raises:
            UsageError: the journal of another recorder is there.
            ArtefactError: it cannot be written.
        """
        provenance = Provenance(
            source=f"gpoeo record at {rate_hz:g} Hz; {device.info.provenance}",
            created_utc=datetime.now(UTC).isoformat("T", "seconds"),
            tool=f"gpoeo-env {__version__}",
            is_simulated=False,
            is_relative=False,
        )
        name = self.output.name.removesuffix(".parquet").removesuffix(".recording")
        metadata = JournalMetadata(
            name=name, gpu_name=device.info.gpu_name, signals=device.signals, provenance=provenance
        )
        self._journal = RecordingJournal.create(journal_of(self.output), metadata, overwrite=self._overwrite)
        return self._journal

    def record(
        self, device: NvmlDevice, seconds: float = math.inf, watch: Callable[[Row], None] = lambda _row: None
    ) -> None:
        """Write rows until the time is over, or the device says that what was watched is.

        Args:
            device: as for `open`.
            seconds: from the first row to the last.
            watch: hears of every row that was written.

        Raises:
            ArtefactError: the journal cannot be written, for example because the disk is full.
            DeviceError: the GPU is lost, or the driver failed for good.
        """
        assert self._journal is not None, "open() comes first"
        syncing = Heartbeat(self._journal.sync, SYNC_S)  # in a thread: a slow disk must not cost rows
        syncing.start()
        try:
            for row in device.stream(seconds):
                self._journal.append(row.t_s, row.values)
                watch(row)
        finally:
            syncing.stop()

    def finish(self, ending: str = "") -> Recording:
        """Make the file of the journal, which goes.

        Args:
            ending: how the recording ended, for its provenance; empty = as it was asked to.

        Raises:
            TraceError: the file cannot be written, and the journal stays; or there are fewer than two rows.
        """
        assert self._journal is not None, "open() comes first"
        self._journal.close()
        if self._journal.rows < LEAST_ROWS:
            self.discard()
            raise TraceError("the recording ended before its second row; there is nothing to keep")
        return self._made_of_journal(ending)

    def discard(self) -> None:
        """Forget the journal that was begun, if any."""
        if self._journal is not None:
            self._journal.close()
            self._journal.path.unlink(missing_ok=True)
            self._journal = None

    def recover(self) -> Recording:
        """Make the file of what a recorder has left that was killed.

        Raises:
            UsageError: it was not killed: it still records.
            TraceError: there is no journal, it cannot be used, or the file cannot be written; the journal stays.
        """
        journal = journal_of(self.output)
        if not journal.exists():
            raise TraceError(f"there is no {journal}: no recording of {self.output} was cut off")
        if is_being_written(journal):
            raise UsageError(f"{journal} is being written; end that recorder, and it will make {self.output}")
        return self._made_of_journal(CUT_OFF)

    def _made_of_journal(self, ending: str) -> Recording:
        journal = journal_of(self.output)
        recording = read_journal(journal, ending)
        try:
            write_recording(self.output, recording, overwrite=self._overwrite)
        except ArtefactError as error:
            raise TraceError(
                f"{error}; what was recorded is in {journal}: make room, then `gpoeo record --recover -o {self.output}`"
            ) from error
        journal.unlink()
        return recording
