"""Sweep files that cannot be used: one line that names the file and says what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpoeo_env.errors import TraceError
from gpoeo_env.trace.parquet import SWEEP
from gpoeo_env.trace.store import read_sweeps, write_sweeps
from gpoeo_env.trace.sweep import SweepSet

Metadata = dict[str, Any]  # as JSON has it


@pytest.fixture
def path(sweeps: SweepSet, tmp_path: Path) -> Path:
    path = tmp_path / "a.sweep.parquet"
    write_sweeps(path, sweeps)
    return path


def complaint(path: Path) -> str:
    with pytest.raises(TraceError) as caught:
        read_sweeps(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


def rewrite(
    path: Path,
    *,
    table: Callable[[pa.Table], pa.Table] = lambda table: table,
    metadata: Callable[[Metadata], object] = lambda content: content,
) -> None:
    """Change the table or, in place, the metadata of a good file."""
    original = pq.read_table(path)
    content = json.loads(original.schema.metadata[SWEEP.key])
    metadata(content)
    changed = table(original).replace_schema_metadata({SWEEP.key: json.dumps(content).encode()})
    pq.write_table(changed, path)


def with_column(name: str, values: object) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        return table.set_column(table.schema.get_field_index(name), name, pa.array(values))

    return change


def test_an_untouched_rewrite_is_readable(path: Path, sweeps: SweepSet) -> None:
    rewrite(path)

    assert read_sweeps(path).workloads == sweeps.workloads


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    assert "gpoeo trace import" in complaint(tmp_path / "nope.parquet")


@pytest.mark.parametrize("content", [b"", b"workload,sm_mhz\na,1\n", bytes(1000)])
def test_a_file_of_another_kind_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_bytes(content)

    assert "not a readable Parquet file" in complaint(path)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    assert "not a readable Parquet file" in complaint(tmp_path)


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused(kept: float, path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content))])

    assert "not a readable Parquet file" in complaint(path)


def test_a_damaged_page_is_found_by_its_checksum(path: Path) -> None:
    joules = pq.read_metadata(path).row_group(0).column(4)
    content = bytearray(path.read_bytes())
    content[joules.dictionary_page_offset + joules.total_compressed_size - 1] ^= 1
    path.write_bytes(content)

    assert "checksum" in complaint(path)


def test_flipped_bytes_raise_no_other_error(path: Path) -> None:
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    n_refused = 0
    for _ in range(300):
        damaged = bytearray(content)
        damaged[rng.integers(len(content))] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        try:
            read_sweeps(path)
        except TraceError:
            n_refused += 1
    assert n_refused > 150


def test_parquet_without_our_metadata_is_refused(path: Path) -> None:
    pq.write_table(pq.read_table(path).replace_schema_metadata(None), path)

    assert "no sweep file" in complaint(path)


def test_metadata_that_is_not_json_is_refused(path: Path) -> None:
    pq.write_table(pq.read_table(path).replace_schema_metadata({SWEEP.key: b"{"}), path)

    assert "not JSON" in complaint(path)


@pytest.mark.parametrize("document", [[], 3, {}])
def test_metadata_of_another_shape_is_refused(document: object, path: Path) -> None:
    text = json.dumps(document).encode()
    pq.write_table(pq.read_table(path).replace_schema_metadata({SWEEP.key: text}), path)

    assert "metadata" in complaint(path)


def test_a_newer_version_asks_for_an_upgrade(path: Path) -> None:
    rewrite(path, metadata=lambda content: content.update(schema_version=2, workloads="something new"))

    assert "upgrade" in complaint(path)


def test_another_format_is_refused(path: Path) -> None:
    rewrite(path, metadata=lambda content: content.update(format="gpoeo-trace"))

    assert "gpoeo-trace" in complaint(path)


@pytest.mark.parametrize("key", ["gpu_name", "workloads", "counters", "counter_units", "provenance"])
def test_a_missing_entry_is_named(key: str, path: Path) -> None:
    rewrite(path, metadata=lambda content: content.pop(key))

    assert f"metadata: {key}: field required" in complaint(path)


def test_an_entry_of_the_wrong_type_is_named(path: Path) -> None:
    rewrite(path, metadata=lambda content: content["provenance"].update(is_simulated="no"))

    assert "provenance.is_simulated" in complaint(path)


@pytest.mark.parametrize("name", ["workload", "sm_mhz", "mem_mhz", "seconds", "joules", "sm_active"])
def test_a_missing_column_is_named(name: str, path: Path) -> None:
    rewrite(path, table=lambda table: table.drop_columns([name]))

    assert f"0 columns '{name}'" in complaint(path)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("workload", range(8)),
        ("sm_mhz", np.linspace(1000.0, 2000.0, 8)),
        ("seconds", ["1.0"] * 8),
        ("joules", range(1, 9)),
        ("sm_active", ["much"] * 8),
    ],
)
def test_a_column_of_the_wrong_type_is_named(name: str, values: object, path: Path) -> None:
    rewrite(path, table=with_column(name, values))

    assert f"column '{name}' holds" in complaint(path)


def test_an_empty_cell_is_refused(path: Path) -> None:
    rewrite(path, table=with_column("joules", [None, *[1.0] * 7]))

    assert "column 'joules' has 1 empty cells" in complaint(path)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.0, -1.0])
@pytest.mark.parametrize("name", ["seconds", "joules"])
def test_a_cost_that_is_not_positive_is_refused(name: str, value: float, path: Path) -> None:
    rewrite(path, table=with_column(name, [*[1.0] * 7, value]))

    message = complaint(path)
    assert f"'älpha': {name}" in message
    assert "must be positive" in message


def test_a_clock_that_is_not_positive_is_refused(path: Path) -> None:
    rewrite(path, table=with_column("sm_mhz", [0, 1500, 2000, 1000, 1500, 2000, 1000, 1500]))

    assert "positive MHz" in complaint(path)


def test_a_pair_listed_twice_is_refused(path: Path) -> None:
    rewrite(path, table=with_column("sm_mhz", [1500, 1500, 2000, 1000, 1500, 2000, 1000, 1500]))

    assert "1500/4000" in complaint(path)


def test_a_reference_that_is_not_recorded_is_refused(path: Path) -> None:
    rewrite(path, metadata=lambda content: content["workloads"][1].update(reference_sm_mhz=1600))

    assert "reference pair 1600/5000" in complaint(path)


def test_a_sweep_with_one_clock_is_refused_with_the_reason(path: Path) -> None:
    rewrite(path, table=lambda table: table.slice(0, 7))

    assert "nothing to choose" in complaint(path)


def test_a_workload_without_rows_is_named(path: Path) -> None:
    rewrite(path, table=lambda table: table.slice(0, 6))

    assert "'älpha' is in the metadata but has no row" in complaint(path)


def test_rows_of_an_undeclared_workload_are_named(path: Path) -> None:
    rewrite(path, metadata=lambda content: content["workloads"].pop())

    assert "'älpha' is in the rows but not in the metadata" in complaint(path)


def test_a_file_without_workloads_is_refused(path: Path) -> None:
    rewrite(path, table=lambda table: table.slice(0, 0), metadata=lambda content: content.update(workloads=[]))

    assert "at least one workload" in complaint(path)


def test_a_workload_declared_twice_is_refused(path: Path) -> None:
    rewrite(path, metadata=lambda content: content["workloads"].append(content["workloads"][0]))

    assert "listed twice: zeta" in complaint(path)


def test_rows_may_stand_in_any_order(path: Path, sweeps: SweepSet) -> None:
    rewrite(path, table=lambda table: table.take([7, 3, 0, 5, 6, 2, 1, 4]))

    back = read_sweeps(path)
    assert back.workloads == sweeps.workloads
    for one, other in zip(back.sweeps, sweeps.sweeps, strict=True):
        np.testing.assert_array_equal(one.joules, other.joules)
