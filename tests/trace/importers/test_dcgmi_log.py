"""The text of ``dcgmi dmon``, in the dialects that its versions print."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpoeo_env.errors import TraceError, UsageError
from gpoeo_env.trace.importers.dcgmi_log import import_dcgmi_log
from gpoeo_env.trace.recording import Recording

CsvFile = Callable[..., Path]

NAN = float("nan")
OLD = ("#Entity   POWER    TOTEC      SMACT  DRAMA", "ID        W        mJ")
NEW = ("# Entity  POWER    TOTEC      SMACT  DRAMA", "      Id  W        mJ")
ROWS = ("GPU 0     100.5    2000       0.500  0.250", "GPU 0     101.5    2500       0.600  0.350")


def column(recording: Recording, name: str) -> list[float]:
    values = recording.column(name)
    assert values is not None
    return [float(value) for value in values]


@pytest.mark.parametrize("header", [OLD, NEW], ids=["old", "new"])
def test_both_generations_of_the_header_are_read(csv_file: CsvFile, header: tuple[str, ...]) -> None:
    recording = import_dcgmi_log(csv_file(*header, *ROWS), interval_s=0.1)

    assert recording.names == ("power_w", "energy_j", "sm_active", "dram_active")
    np.testing.assert_allclose(recording.values, [[100.5, 2.0, 0.5, 0.25], [101.5, 2.5, 0.6, 0.35]])


def test_rows_are_one_interval_apart(csv_file: CsvFile) -> None:
    recording = import_dcgmi_log(csv_file(*OLD, *ROWS, *ROWS), interval_s=0.02)

    np.testing.assert_allclose(recording.t_s, [0.0, 0.02, 0.04, 0.06])


def test_a_header_that_comes_again_counts_from_there(csv_file: CsvFile) -> None:
    again = ("", "# Entity SMACT POWER", "Id            W", "GPU 0 0.700 102.0")

    recording = import_dcgmi_log(csv_file(*OLD, *ROWS, *again), interval_s=0.1)

    assert column(recording, "power_w") == [100.5, 101.5, 102.0]
    assert column(recording, "sm_active") == [0.5, 0.6, 0.7]
    np.testing.assert_array_equal(column(recording, "dram_active"), [0.25, 0.35, NAN])


@pytest.mark.parametrize("cell", ["N/A", "-", "[N/A]", "9223372036854775794", "140737488355328.0", "nan"])
def test_a_cell_without_a_value_is_missing_and_counted(csv_file: CsvFile, cell: str) -> None:
    told: list[str] = []

    recording = import_dcgmi_log(csv_file(*OLD, *ROWS, f"GPU 0 {cell} 3000 0.5 0.5"), interval_s=0.1, tell=told.append)

    np.testing.assert_array_equal(column(recording, "power_w"), [100.5, 101.5, NAN])
    assert [line.split(": ")[-1] for line in told] == ["POWER 1"]


@pytest.mark.parametrize(
    ("name", "cell"), [("TMPTR", "82505"), ("GPUTL", "4294967295"), ("SMACT", "1.7"), ("POWER", "-3")]
)
def test_what_no_sensor_can_read_is_missing(csv_file: CsvFile, name: str, cell: str) -> None:
    recording = import_dcgmi_log(csv_file(f"# Entity {name}", f"GPU 0 {cell}", "GPU 0 1"), interval_s=0.1)

    assert np.isnan(recording.values[:, 0]).tolist() == [True, False]


def test_other_lines_and_columns_are_left_out_and_told(csv_file: CsvFile) -> None:
    told: list[str] = []
    file = csv_file("Warning: slow", "# Entity PSTAT POWER", "GPU 0 0 90", "GPU 0 0 91", "Error setting watches")

    recording = import_dcgmi_log(file, interval_s=0.1, tell=told.append)

    assert recording.names == ("power_w",)
    assert [line.removeprefix(f"{file}: ") for line in told] == [
        "left out PSTAT: no known reading of a GPU",
        "left out 1 line(s) that are no readings: 'Warning: slow'",
        "left out 1 line(s) that are no readings: 'Error setting watches'",
    ]


def test_instances_of_a_gpu_are_not_rows_of_the_gpu(csv_file: CsvFile) -> None:
    file = csv_file(*OLD, ROWS[0], "GPU-I 21 N/A N/A 0.1 0.1", ROWS[1])

    assert column(import_dcgmi_log(file, interval_s=0.1), "sm_active") == [0.5, 0.6]


def test_of_several_gpus_one_is_asked_for(csv_file: CsvFile) -> None:
    file = csv_file(*OLD, *ROWS, "GPU 1 80 1000 0 0", "GPU 1 81 1010 0 0")

    assert column(import_dcgmi_log(file, interval_s=0.1, entity="GPU 1"), "power_w") == [80.0, 81.0]
    with pytest.raises(TraceError, match="rows of GPU 0, GPU 1; say which"):
        import_dcgmi_log(file, interval_s=0.1)
    with pytest.raises(TraceError, match="no rows of GPU 7"):
        import_dcgmi_log(file, interval_s=0.1, entity="GPU 7")


def test_a_gzip_file_is_read_as_it_is(csv_file: CsvFile) -> None:
    text = "\n".join((*OLD, *ROWS)).encode()

    recording = import_dcgmi_log(csv_file(name="a.txt.gz", content=gzip.compress(text)), interval_s=0.1)

    assert (recording.name, len(recording.t_s)) == ("a.txt", 2)


def test_a_damaged_gzip_file_is_refused(csv_file: CsvFile) -> None:
    text = gzip.compress("\n".join((*OLD, *ROWS)).encode())

    with pytest.raises(TraceError, match="damaged gzip"):
        import_dcgmi_log(csv_file(content=text[: len(text) // 2]), interval_s=0.1)


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ((*OLD, *ROWS, "GPU 0 100 3000"), "line 5: 2 cells under a header of 4"),
        ((*OLD, *ROWS, "GPU 0 100 3000 busy 0.1"), "line 5: could not convert string to float: 'busy'"),
        (("time,power", "0,1"), "is no log of `dcgmi dmon`"),
        (("# Entity PSTAT", "GPU 0 0", "GPU 0 0"), "is no log of `dcgmi dmon`"),
        ((*OLD, ROWS[0]), "has 1 rows"),
    ],
)
def test_what_is_no_log_is_refused_by_line(csv_file: CsvFile, lines: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(TraceError, match=complaint):
        import_dcgmi_log(csv_file(*lines), interval_s=0.1)


def test_a_file_that_is_not_there_or_is_binary_is_refused(csv_file: CsvFile, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="there is no file"):
        import_dcgmi_log(tmp_path / "absent", interval_s=0.1)
    with pytest.raises(TraceError, match="not UTF-8"):
        import_dcgmi_log(csv_file(content=b"\xff\xfe\x00"), interval_s=0.1)


@pytest.mark.parametrize("interval_s", [0.0, -1.0, NAN])
def test_the_interval_is_positive(csv_file: CsvFile, interval_s: float) -> None:
    with pytest.raises(UsageError, match="positive number of seconds"):
        import_dcgmi_log(csv_file(*OLD, *ROWS), interval_s=interval_s)


def test_the_first_sample_of_the_dialects_is_read_whole(shared_data: Path) -> None:
    told: list[str] = []
    log = shared_data / "log_dialects" / "10_dcgmi_dmon.txt"

    recording = import_dcgmi_log(log, interval_s=1.0, entity="GPU 0", tell=told.append)

    assert recording.values.shape == (2, 8)
    assert np.isfinite(recording.values).all()
    assert len(told) == 1
    assert "Error setting watches" in told[0]
