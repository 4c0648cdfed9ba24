"""Recordings that belong together, and the file that keeps them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from gpoeo_env.clocks import ClockPair
from gpoeo_env.errors import TraceError, UnknownNameError, UsageError
from gpoeo_env.trace.parquet import RECORDING_SET, kind_of
from gpoeo_env.trace.recording import Recording
from gpoeo_env.trace.recording_set import LockedRecording, RecordingSet, recording_set_facts
from gpoeo_env.trace.recording_set_store import read_recording_set, write_recording_set
from gpoeo_env.trace.store import read_sweeps

TOP, LOW = ClockPair(1600, 5000), ClockPair(1400, 5000)


@pytest.fixture
def recordings(recording: Recording) -> RecordingSet:
    """Two workloads at two pairs; recordings of different lengths, none in the order of the clocks."""
    short = recording.between(0.0, 1.0)
    runs = tuple(
        LockedRecording(workload, pair, one)
        for workload in ("zeta", "älpha")
        for pair, one in ((TOP, recording), (LOW, short))
    )
    return RecordingSet("GPU Größe 1", TOP, runs, recording.provenance)


def test_a_set_finds_recordings_by_workload_and_pair(recordings: RecordingSet, recording: Recording) -> None:
    assert recordings.workloads == ("zeta", "älpha")
    assert recordings.clocks("zeta").pairs == (LOW, TOP)
    assert recordings.recordings("älpha")[TOP] is recording


def test_an_unknown_workload_is_refused(recordings: RecordingSet) -> None:
    with pytest.raises(UnknownNameError, match="zeta"):
        recordings.clocks("zetta")


def test_a_summary_counts_pairs_and_time(recordings: RecordingSet) -> None:
    facts = recording_set_facts(recordings)

    assert facts.n_pairs == {"zeta": 2, "älpha": 2}
    assert facts.seconds == pytest.approx(2 * (1.5 + 1.0))


def test_an_empty_set_is_refused(recordings: RecordingSet) -> None:
    with pytest.raises(TraceError, match="there is none"):
        replace(recordings, runs=())


def test_a_pair_is_recorded_once(recordings: RecordingSet) -> None:
    with pytest.raises(TraceError, match="recorded twice: zeta at 1600/5000 MHz"):
        replace(recordings, runs=(*recordings.runs, recordings.runs[0]))


def test_every_workload_is_recorded_at_the_reference(recordings: RecordingSet) -> None:
    with pytest.raises(TraceError, match="'älpha' was not recorded at the reference pair 1600/5000 MHz"):
        replace(recordings, runs=(*recordings.runs[:2], recordings.runs[3]))


def test_one_pair_is_nothing_to_choose_from(recordings: RecordingSet) -> None:
    with pytest.raises(TraceError, match="recorded at one pair only"):
        replace(recordings, runs=recordings.runs[:3])


def test_all_recordings_have_the_same_signals(recordings: RecordingSet, recording: Recording) -> None:
    odd = replace(recording, values=recording.values[:, :3], signals=recording.signals[:3])

    with pytest.raises(TraceError, match=r"'älpha' at 1400/5000 MHz has other signals than the first \(dram µ\)"):
        replace(recordings, runs=(*recordings.runs[:3], LockedRecording("älpha", LOW, odd)))


def test_what_is_written_is_what_is_read(recordings: RecordingSet, tmp_path: Path) -> None:
    file = tmp_path / "set.parquet"
    write_recording_set(file, recordings)

    found = read_recording_set(file)

    assert kind_of(file) is RECORDING_SET
    assert (found.gpu_name, found.reference, found.signals) == (
        recordings.gpu_name,
        recordings.reference,
        recordings.signals,
    )
    assert [(run.workload, run.pair) for run in found.runs] == [(run.workload, run.pair) for run in recordings.runs]
    for one, other in zip(found.runs, recordings.runs, strict=True):
        np.testing.assert_array_equal(one.recording.t_s, other.recording.t_s, strict=True)
        np.testing.assert_array_equal(one.recording.values, other.recording.values, strict=True)


def test_a_file_is_overwritten_on_purpose_only(recordings: RecordingSet, tmp_path: Path) -> None:
    file = tmp_path / "set.parquet"
    write_recording_set(file, recordings)

    with pytest.raises(UsageError, match="exists already"):
        write_recording_set(file, recordings)
    write_recording_set(file, recordings, overwrite=True)


def test_a_signal_with_the_name_of_a_column_is_refused(recordings: RecordingSet, tmp_path: Path) -> None:
    signals = (replace(recordings.signals[0], name="workload"), *recordings.signals[1:])
    runs = tuple(replace(run, recording=replace(run.recording, signals=signals)) for run in recordings.runs)

    with pytest.raises(TraceError, match="'workload' has the name of another column"):
        write_recording_set(tmp_path / "set.parquet", replace(recordings, runs=runs))


def test_another_kind_of_file_is_refused_by_its_kind(recordings: RecordingSet, tmp_path: Path) -> None:
    file = tmp_path / "set.parquet"
    write_recording_set(file, recordings)

    with pytest.raises(TraceError, match="is a recording set, but no sweep file"):
        read_sweeps(file)
    with pytest.raises(TraceError, match="there is no recording set"):
        read_recording_set(tmp_path / "absent")


def test_rows_that_are_no_recording_are_refused(recordings: RecordingSet, tmp_path: Path) -> None:
    file = tmp_path / "set.parquet"
    write_recording_set(file, recordings)
    table = pq.read_table(file)

    pq.write_table(table.take([1, 0, *range(2, len(table))]), file)
    with pytest.raises(TraceError, match="times must not fall"):
        read_recording_set(file)
    pq.write_table(table.slice(0, 0), file)
    with pytest.raises(TraceError, match="there is none"):
        read_recording_set(file)


def test_a_clock_that_cannot_be_is_refused(recordings: RecordingSet, tmp_path: Path) -> None:
    file = tmp_path / "set.parquet"
    write_recording_set(file, recordings)
    table = pq.read_table(file)
    key = RECORDING_SET.key
    content = json.loads(table.schema.metadata[key]) | {"reference_sm_mhz": 900}

    pq.write_table(table.replace_schema_metadata({key: json.dumps(content).encode()}), file)
    with pytest.raises(TraceError, match="was not recorded at the reference pair 900/5000 MHz"):
        read_recording_set(file)
