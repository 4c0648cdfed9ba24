"""CSV files written on the spot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

CsvFile = Callable[..., Path]


@pytest.fixture
def csv_file(tmp_path: Path) -> CsvFile:
    """Return a function that writes lines (or bytes) to a file and returns its path."""

    def write(*lines: str, name: str = "input.csv", content: bytes | None = None) -> Path:
        path = tmp_path / name
        path.write_bytes("".join(f"{line}\n" for line in lines).encode() if content is None else content)
        return path

    return write
