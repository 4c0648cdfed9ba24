from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpoeo_env.errors import TraceError, UsageError
from gpoeo_env.signals import POWER, SM_CLOCK
from gpoeo_env.trace.recording_journal import JournalMetadata, RecordingJournal, is_being_written, read_journal
from gpoeo_env.trace.sweep import Provenance

METADATA = JournalMetadata(
    name="a test",
    gpu_name="a gpu",
    signals=(POWER, SM_CLOCK),
    provenance=Provenance("a test", "2026-01-01T00:00:00Z", "test", is_simulated=True, is_relative=False),
)
ROW_BYTES = 8 * 3 + 4


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Ten rows."""
    path = tmp_path / "x.journal"
    with RecordingJournal.create(path, METADATA) as writer:
        for number in range(10):
            writer.append(0.1 * number, [100.0 + number, np.nan])
    return path


def test_rows_come_back_as_they_were_written(journal: Path) -> None:
    recording = read_journal(journal, "cut off")
    assert recording.t_s.tolist() == [0.1 * number for number in range(10)]
    assert recording.values[:, 0].tolist() == [100.0 + number for number in range(10)]
    assert np.isnan(recording.values[:, 1]).all()
    assert (recording.name, recording.gpu_name, recording.signals) == ("a test", "a gpu", METADATA.signals)
    assert recording.provenance.source == "a test; cut off"


@pytest.mark.parametrize("cut", range(1, 2 * ROW_BYTES + 1, 5))
def test_a_row_that_was_cut_off_is_left_out(journal: Path, cut: int) -> None:
    journal.write_bytes(journal.read_bytes()[:-cut])
    assert len(read_journal(journal).t_s) == 10 - -(-cut // ROW_BYTES)


def test_what_a_dead_machine_left_behind_the_last_good_row_is_left_out(journal: Path) -> None:
    content = bytearray(journal.read_bytes())
    content[-3 * ROW_BYTES : -2 * ROW_BYTES] = bytes(ROW_BYTES)  # a block that never came to the disk
    journal.write_bytes(content)
    assert len(read_journal(journal).t_s) == 7


@pytest.mark.parametrize("content", [b"", b'{"format":"gpoeo-rec', b"\x00" * 100, b'{"format":"other"}\n'])
def test_a_journal_without_a_whole_first_line_is_an_error_that_names_it(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "y.journal"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=r"y\.journal"):
        read_journal(path)


def test_a_newer_journal_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "y.journal"
    path.write_text(METADATA.model_copy(update={"schema_version": 2}).model_dump_json() + "\n")
    with pytest.raises(TraceError, match="upgrade"):
        read_journal(path)


def test_one_recorder_writes_a_journal_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "x.journal"
    with RecordingJournal.create(path, METADATA) as writer:
        writer.append(0.0, [1.0, 2.0])
        assert is_being_written(path)
        for overwrite in (False, True):
            with pytest.raises(UsageError, match="another recorder"):
                RecordingJournal.create(path, METADATA, overwrite=overwrite)
        writer.append(0.1, [1.0, 2.0])
    assert not is_being_written(path)
    assert len(read_journal(path).t_s) == 2
    with pytest.raises(UsageError, match="--recover"):
        RecordingJournal.create(path, METADATA)
