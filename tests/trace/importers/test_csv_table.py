"""Reading CSV: what is tolerated, and what is complained about, with its place."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpoeo_env.errors import TraceError, UnknownNameError
from gpoeo_env.trace.importers.csv_table import Cell, read_csv

CsvFile = Callable[..., Path]


def cell(text: str) -> Cell:
    return Cell(text, Path("grid.csv"), 7, "time")


def test_rows_know_their_lines(csv_file: CsvFile) -> None:
    table = read_csv(csv_file("a,b", "1,2", "", "3,4"))

    assert [row.line for row in table.rows] == [2, 4]
    assert [cell.text for cell in table.column("b")] == ["2", "4"]


def test_a_cell_over_two_lines_counts_as_its_first_line(csv_file: CsvFile) -> None:
    table = read_csv(csv_file("a,b", '"one', 'two",2', "x,4"))

    assert [row.line for row in table.rows] == [2, 4]


def test_byte_order_mark_crlf_and_blanks_are_fine(csv_file: CsvFile) -> None:
    table = read_csv(csv_file(content=b"\xef\xbb\xbfa , b\r\n x,2\r\n\r\n"))

    assert table.header == ("a", "b")
    assert [cell.text for cell in next(table.rows).cells] == ["x", "2"]


def test_the_hash_is_that_of_the_file(csv_file: CsvFile) -> None:
    path = csv_file("a,b", "1,2")

    assert read_csv(path).sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_column_of_numbers_has_nan_where_a_cell_says_that_there_is_none(csv_file: CsvFile) -> None:
    table = read_csv(csv_file("a,b", "1,x", "N/A,x", ",x", "-2.5e3,x"))

    np.testing.assert_array_equal(table.numbers("a"), [1.0, np.nan, np.nan, -2500.0])


@pytest.mark.parametrize("text", ["fast", "inf", "1_000"])
def test_a_column_of_numbers_complains_about_anything_else(text: str, csv_file: CsvFile) -> None:
    table = read_csv(csv_file("a,b", "1,x", f"{text},x"))

    with pytest.raises(TraceError, match=f"line 3, column 'a': '{text}' is not a finite number"):
        table.numbers("a")


def test_an_unknown_column_names_the_nearest(csv_file: CsvFile) -> None:
    table = read_csv(csv_file("energy,time", "1,2"))

    with pytest.raises(UnknownNameError, match=r"input\.csv 'tme'; did you mean time"):
        table.column("tme")


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ([], "is empty"),
        (["", ""], "is empty"),
        (["a,b"], "no rows"),
        (["a;b", "1;2"], "line 1: one column, 'a;b'; separate the columns with commas"),
        (["1,2.5", "3,4"], "line 1: numbers where the header should be"),
        (["a,b,a", "1,2,3"], "line 1: column 'a' is listed twice, as column 1 and 3"),
        (["a,b,c", "1,2,3", "1,2"], "line 3: 2 cells under a header of 3; the row ends before column 'c'"),
        (["a,b", "1,2,3"], "line 2: 3 cells under a header of 2; the row goes past the last column"),
        (["a,b", '1,"2'], "line 2: not a CSV table"),
    ],
)
def test_a_bad_layout_is_placed(lines: list[str], complaint: str, csv_file: CsvFile) -> None:
    path = csv_file(*lines)

    with pytest.raises(TraceError) as caught:
        read_csv(path)
    assert str(caught.value).startswith(str(path))
    assert complaint in str(caught.value)


def test_text_in_another_encoding_is_placed(csv_file: CsvFile) -> None:
    path = csv_file(content="a,b\n1,2\nGröße,2\n".encode("latin-1"))

    with pytest.raises(TraceError, match="line 3: not UTF-8"):
        read_csv(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"no file .*nope\.csv"):
        read_csv(tmp_path / "nope.csv")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot read"):
        read_csv(tmp_path)


@pytest.mark.parametrize("text", ["", "fast", "nan", "inf", "-inf", "1_000", "0", "0.0", "-1", "1,5", "0x10"])
def test_a_cell_that_is_no_positive_number_is_placed(text: str) -> None:
    with pytest.raises(TraceError, match=r"^grid\.csv, line 7, column 'time': "):
        cell(text).positive()


@pytest.mark.parametrize(("text", "value"), [("1", 1.0), ("6.5e7", 6.5e7), (".5", 0.5), ("+2", 2.0)])
def test_positive_numbers_are_read(text: str, value: float) -> None:
    assert cell(text).positive() == value


@pytest.mark.parametrize("text", ["757.5", "0", "-15", "", "fast", "1410000", "1.41e9"])
def test_a_clock_that_is_no_whole_mhz_is_placed(text: str) -> None:
    with pytest.raises(TraceError, match=r"^grid\.csv, line 7, column 'time': "):
        cell(text).whole_mhz()


@pytest.mark.parametrize("text", ["757", "757.0"])
def test_whole_mhz_are_read(text: str) -> None:
    assert cell(text).whole_mhz() == 757


@pytest.mark.parametrize(
    ("text", "is_missing"), [("", True), ("NaN", True), ("[N/A]", True), ("0", False), ("-", False)]
)
def test_a_missing_value_is_told_from_zero(text: str, is_missing: bool) -> None:
    assert cell(text).is_missing is is_missing
