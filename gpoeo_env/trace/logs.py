"""Any file that holds a recording, as a recording: a native one, its journal, or the CSV log of a GPU as it is."""

from __future__ import annotations

import logging
from pathlib import Path

from gpoeo_env.trace.importers.gpu_log import import_gpu_log
from gpoeo_env.trace.parquet import RECORDING, is_parquet, kind_of
from gpoeo_env.trace.recording import Recording
from gpoeo_env.trace.recording_journal import is_being_written, is_journal, read_journal
from gpoeo_env.trace.recording_store import read_recording_file

__all__ = ["CUT_OFF", "is_recording", "read_recording"]

CUT_OFF = "cut off: what its recorder had written before it was killed"
UNFINISHED = "what its recorder, which still runs, has written so far"
_log = logging.getLogger(__name__)


def is_recording(path: Path) -> bool:
    """Tell whether a file is one for `read_recording`: a native recording, or a file that is no Parquet at all."""
    return kind_of(path) is RECORDING if is_parquet(path) else path.is_file()


def read_recording(path: Path) -> Recording:
    """Read a native recording, or a CSV with the columns of `gpoeo_env.trace.importers.gpu_log`.

    The journal of a recording is read as far as it goes, while it is being written, too. The content decides, not the
    name. What is left out of a CSV is logged.

    Raises:
        TraceError: the file is missing, is damaged, or is neither; the message says what is wrong with it.
    """
    if is_parquet(path):
        return read_recording_file(path)
    if is_journal(path):
        return read_journal(path, UNFINISHED if is_being_written(path) else CUT_OFF)
    return import_gpu_log(path, tell=_log.warning)
