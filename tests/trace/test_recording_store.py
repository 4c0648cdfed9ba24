"""The native recording file: what is written is what is read, and what cannot be read is complained about."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpoeo_env.errors import TraceError, UsageError
from gpoeo_env.signals import Behaviour, Signal
from gpoeo_env.trace.parquet import RECORDING, SWEEP, kind_of
from gpoeo_env.trace.recording import Recording
from gpoeo_env.trace.recording_store import read_recording_file, write_recording
from gpoeo_env.trace.store import read_sweeps, write_sweeps
from gpoeo_env.trace.sweep import Provenance, SweepSet

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)


def assert_same(one: Recording, other: Recording) -> None:
    assert (one.name, one.gpu_name, one.signals, one.provenance) == (
        other.name,
        other.gpu_name,
        other.signals,
        other.provenance,
    )
    np.testing.assert_array_equal(one.t_s, other.t_s, strict=True)
    np.testing.assert_array_equal(one.values, other.values, strict=True)


@st.composite
def recordings(draw: st.DrawFn) -> Recording:
    n, k = draw(st.integers(2, 6)), draw(st.integers(1, 3))
    cells = st.floats(allow_infinity=False)
    return Recording(
        name=draw(TEXT),
        gpu_name=draw(st.none() | TEXT),
        t_s=np.sort(draw(st.lists(st.floats(-1e9, 1e9), min_size=n, max_size=n, unique=True))),
        values=np.array(draw(st.lists(cells, min_size=n * k, max_size=n * k))).reshape(n, k),
        signals=tuple(Signal(f"{draw(TEXT)} {i}", draw(TEXT), draw(st.sampled_from(Behaviour))) for i in range(k)),
        provenance=Provenance(draw(TEXT), draw(TEXT), draw(TEXT), draw(st.booleans()), draw(st.booleans())),
    )


@settings(max_examples=60, deadline=None)
@given(recordings())
def test_any_recording_reads_back_exactly(recording: Recording) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "any.parquet"
        write_recording(path, recording)

        assert_same(read_recording_file(path), recording)


@pytest.fixture
def path(recording: Recording, tmp_path: Path) -> Path:
    path = tmp_path / "a.recording.parquet"
    write_recording(path, recording)
    return path


def complaint(path: Path) -> str:
    with pytest.raises(TraceError) as caught:
        read_recording_file(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


def rewrite(
    path: Path,
    *,
    table: Callable[[pa.Table], pa.Table] = lambda table: table,
    metadata: Callable[[dict[str, Any]], object] = lambda content: content,  # Any: as JSON has it
) -> None:
    """Change the table or, in place, the metadata of a good file."""
    original = pq.read_table(path)
    content = json.loads(original.schema.metadata[RECORDING.key])
    metadata(content)
    changed = table(original).replace_schema_metadata({RECORDING.key: json.dumps(content).encode()})
    pq.write_table(changed, path)


def test_an_untouched_rewrite_is_readable(path: Path, recording: Recording) -> None:
    rewrite(path)

    assert_same(read_recording_file(path), recording)


def test_an_existing_file_is_overwritten_on_purpose_alone(path: Path, recording: Recording) -> None:
    renamed = replace(recording, name="new")

    with pytest.raises(UsageError, match="--force"):
        write_recording(path, renamed)
    assert read_recording_file(path).name == recording.name
    write_recording(path, renamed, overwrite=True)
    assert read_recording_file(path).name == "new"


def test_nothing_is_left_of_a_file_that_cannot_be_written(recording: Recording, tmp_path: Path) -> None:
    surrogate = replace(recording, name="\ud800")

    with pytest.raises(TraceError, match="not Unicode"):
        write_recording(tmp_path / "a.parquet", surrogate)
    with pytest.raises(TraceError, match="writable folder"):
        write_recording(tmp_path / "nowhere" / "a.parquet", recording)
    assert list(tmp_path.iterdir()) == []


def test_a_signal_cannot_take_the_name_of_the_time(recording: Recording, tmp_path: Path) -> None:
    clash = replace(recording, signals=(replace(recording.signals[0], name="t_s"), *recording.signals[1:]))

    with pytest.raises(TraceError, match="name of the time column"):
        write_recording(tmp_path / "a.parquet", clash)


def test_a_sweep_file_is_no_recording(sweeps: SweepSet, tmp_path: Path) -> None:
    write_sweeps(tmp_path / "a.parquet", sweeps)

    assert "is a sweep file, but no recording" in complaint(tmp_path / "a.parquet")
    assert kind_of(tmp_path / "a.parquet") is SWEEP


def test_a_recording_is_no_sweep_file(path: Path) -> None:
    with pytest.raises(TraceError, match="is a recording, but no sweep file"):
        read_sweeps(path)
    assert kind_of(path) is RECORDING


def test_other_files_are_of_no_kind(path: Path) -> None:
    pq.write_table(pq.read_table(path).replace_schema_metadata(None), path)

    assert kind_of(path) is None
    assert kind_of(path.with_name("nope")) is None
    assert "a Parquet file, but no recording" in complaint(path)


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    assert "gpoeo trace import log" in complaint(tmp_path / "nope.parquet")


def test_a_truncated_file_is_refused(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])

    assert "not a readable Parquet file" in complaint(path)


def test_a_newer_version_asks_for_an_upgrade(path: Path) -> None:
    rewrite(path, metadata=lambda content: content.update(schema_version=2))

    assert "recording format 2" in complaint(path)


@pytest.mark.parametrize("key", ["name", "gpu_name", "signals", "provenance"])
def test_a_missing_entry_is_named(key: str, path: Path) -> None:
    rewrite(path, metadata=lambda content: content.pop(key))

    assert f"metadata: {key}: field required" in complaint(path)


def test_an_unknown_behaviour_is_refused(path: Path) -> None:
    rewrite(path, metadata=lambda content: content["signals"][0].update(behaviour="wave"))

    assert "signals.0.behaviour" in complaint(path)


@pytest.mark.parametrize("name", ["t_s", "power_w"])
def test_a_missing_column_is_named(name: str, path: Path) -> None:
    rewrite(path, table=lambda table: table.drop_columns([name]))

    assert f"0 columns '{name}'" in complaint(path)


def test_an_empty_cell_is_refused(path: Path) -> None:
    column = pa.array([0.0, 0.5, None, 1.5, 1.5])
    rewrite(path, table=lambda table: table.set_column(0, "t_s", column))

    assert "column 't_s' has 1 empty cells" in complaint(path)


def test_values_that_a_recording_cannot_have_are_refused(path: Path) -> None:
    rewrite(path, table=lambda table: table.take([1, 0, 2, 3, 4]))

    assert "row 2 is at 0 s" in complaint(path)
