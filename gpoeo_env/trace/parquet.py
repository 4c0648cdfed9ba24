"""What the native files share: written whole or not at all, JSON metadata of a versioned format, checked columns.

Each kind of file keeps what a table cannot say (GPU, units, provenance) as JSON in the Parquet schema metadata, under
its own key; the key also tells the kinds apart.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from gpoeo_env.errors import TraceError, UsageError

__all__ = [
    "RECORDING",
    "RECORDING_SET",
    "SWEEP",
    "Columns",
    "FileKind",
    "is_parquet",
    "kind_of",
    "metadata_of",
    "read_table",
    "write",
]

Array = NDArray[np.float64]
Metadata = TypeVar("Metadata", bound=BaseModel)

MAGIC = b"PAR1"


@dataclass(frozen=True, slots=True)
class FileKind:
    """A native kind of file.

    Attributes:
        noun: what a message calls it.
        key: of its JSON in the schema metadata.
        format: its name inside the JSON.
        version: the newest that is understood; the version that is written.
        made_with: the command that makes such a file.
    """

    noun: str
    key: bytes
    format: str
    version: int
    made_with: str


SWEEP = FileKind("sweep file", b"gpoeo_sweep", "gpoeo-sweep", 1, "`gpoeo trace import`")
RECORDING = FileKind("recording", b"gpoeo_recording", "gpoeo-recording", 1, "`gpoeo record`, `gpoeo trace import log`")
RECORDING_SET = FileKind(
    "recording set", b"gpoeo_recording_set", "gpoeo-recording-set", 1, "`gpoeo trace import dcgmi`"
)
KINDS = (SWEEP, RECORDING, RECORDING_SET)


def is_parquet(path: Path) -> bool:
    """Tell whether a file begins like Parquet, damaged or not; False where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def kind_of(path: Path) -> FileKind | None:
    """Return the kind of a native file; None where it is another file, cannot be read or is not there."""
    try:
        keys = pq.read_schema(path).metadata or {}
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return None
    return next((kind for kind in KINDS if kind.key in keys), None)


def write(path: Path, kind: FileKind, columns: Mapping[str, pa.Array], metadata: BaseModel, *, overwrite: bool) -> None:
    """Write a file of one kind; an error or a kill leaves no half-written file at ``path``.

    Raises:
        UsageError: ``path`` exists and ``overwrite`` is False.
        TraceError: a name is not Unicode text, or the file cannot be written.
    """
    if path.exists() and not overwrite:
        raise UsageError(f"{path} exists already; name another file, or overwrite it on purpose (--force)")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        text = json.dumps(metadata.model_dump(mode="json"), ensure_ascii=False).encode()
        table = pa.table(dict(columns)).replace_schema_metadata({kind.key: text})
        pq.write_table(table, part, write_page_checksum=True)
        with part.open("rb") as written:
            os.fsync(written.fileno())  # else a crash of the machine could leave the name without the content
        part.replace(path)
    except (UnicodeEncodeError, pa.ArrowException) as error:
        raise TraceError(f"cannot write {path}: a name is not Unicode text: {error}") from error
    except OSError as error:
        raise TraceError(f"cannot write {path}: {error.strerror or error}; name a file in a writable folder") from error
    finally:
        part.unlink(missing_ok=True)


def read_table(path: Path, kind: FileKind) -> pa.Table:
    """Read all rows and columns of a Parquet file, its page checksums verified.

    Raises:
        TraceError: the file is missing or damaged, or is not Parquet.
    """
    if not path.exists():
        raise TraceError(f"there is no {kind.noun} {path}; make one with {kind.made_with}")
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            return file.read(use_threads=False)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TraceError(
            f"{path} is not a readable Parquet file ({reason}); import it again, or import a CSV table with "
            f"{kind.made_with}"
        ) from error


def metadata_of(table: pa.Table, path: Path, kind: FileKind, model: type[Metadata]) -> Metadata:
    """Return the metadata of a table.

    Args:
        table: as `read_table` returned it.
        path: for messages.
        kind: what the file must be.
        model: its metadata; has the fields ``format`` and ``schema_version``.

    Raises:
        TraceError: the file is of another kind or of a newer version, or its metadata is damaged.
    """
    keys = table.schema.metadata or {}
    if kind.key not in keys:
        other = next((f"a {other.noun}" for other in KINDS if other.key in keys), "a Parquet file")
        raise TraceError(f"{path} is {other}, but no {kind.noun} of gpoeo-env; make one with {kind.made_with}")
    text = keys[kind.key]
    again = "the file is damaged: import it again"
    try:
        content = json.loads(text)
    except ValueError as error:
        raise TraceError(f"{path}: the metadata is not JSON ({error}); {again}") from error
    fields = content if isinstance(content, dict) else {}
    version, name = fields.get("schema_version", kind.version), fields.get("format", kind.format)
    if isinstance(version, int) and version > kind.version:
        raise TraceError(
            f"{path} has {kind.noun} format {version}; this version reads up to {kind.version}: upgrade gpoeo-env"
        )
    if name != kind.format or version != kind.version:
        raise TraceError(
            f"{path} has format {name!r}, version {version!r}; this version reads {kind.format!r}, version "
            f"{kind.version}; import it again"
        )
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the document"
        raise TraceError(f"{path}: metadata: {where}: {first['msg'].lower()}; {again}") from error


class Columns:
    """The columns of a file's table, checked for presence, type and empty cells.

    Every method raises `TraceError` where the column is missing, is there twice, is of another type or has empty cells.
    """

    def __init__(self, table: pa.Table, path: Path) -> None:
        """Remember the table, and the file that it was read from for messages."""
        self._table = table
        self._path = path

    def texts(self, name: str) -> list[str]:
        """Return a text column, one text a row."""
        column = self._typed(name, lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind), "text")
        texts: list[str] = column.to_pylist()
        return texts

    def integers(self, name: str) -> NDArray[np.int64]:
        """Return a column of whole numbers, int64, shape (n_rows,)."""
        column = self._typed(name, pa.types.is_integer, "whole numbers")
        return np.asarray(column.to_numpy(), dtype=np.int64)

    def floats(self, name: str) -> Array:
        """Return a column of floating-point numbers, float64, shape (n_rows,)."""
        column = self._typed(name, pa.types.is_floating, "floating-point numbers")
        return np.asarray(column.to_numpy(), dtype=np.float64)

    def _typed(self, name: str, is_right: Callable[[pa.DataType], bool], wanted: str) -> pa.ChunkedArray:
        found = self._table.schema.get_all_field_indices(name)
        if len(found) != 1:
            raise TraceError(f"{self._path} has {len(found)} columns {name!r}, not one; import it again")
        column = self._table.column(found[0])
        if not is_right(column.type):
            raise TraceError(f"{self._path}: column {name!r} holds {column.type}, not {wanted}; import it again")
        if column.null_count:
            raise TraceError(f"{self._path}: column {name!r} has {column.null_count} empty cells; import it again")
        return column
