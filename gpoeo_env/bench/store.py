"""A folder of results that can be gone on with, added to, checked and reported.

    DIR/manifest.json   what was wanted, by which versions on which machine, and the keys of all that belongs to it
    DIR/rows.jsonl      a line an episode: how to run it again, what it depended on, and what it came to

A row is good for whatever asks the same question of the same code and data, so a benchmark that was killed goes on, and
one that was changed runs only what is new. Rows that nothing asks for any more stay where they are.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from pydantic import TypeAdapter, ValidationError

from gpoeo_env.bench.case import Case
from gpoeo_env.bench.result import EpisodeResult
from gpoeo_env.errors import ArtefactError
from gpoeo_env.runner.jsonl import plain
from gpoeo_env.version import __version__

__all__ = ["Block", "Manifest", "Row", "Store", "key_of", "load_manifest", "read_rows"]

SCHEMA_VERSION = 1
MANIFEST, ROWS = "manifest.json", "rows.jsonl"
LIBRARIES = ("gpoeo-env", "numpy", "lightgbm", "gymnasium", "stable-baselines3", "sb3-contrib", "torch")
_RESULT = TypeAdapter(EpisodeResult)
_MAY_BE_NAN = {part.name for part in fields(EpisodeResult) if part.type in {"float", float}}


def key_of(case: Case, code: str) -> str:
    """Return what a row is found by: a digest of the question and of the code and data that answer it."""
    return hashlib.sha256(f"{case.model_dump_json()}\n{code}".encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Row:
    """One episode with all that is needed to run it again.

    Attributes:
        key: see `key_of`.
        case: what was run.
        code: digest of the code and files that it depended on.
        result: what it came to.
    """

    key: str
    case: Case
    code: str
    result: EpisodeResult

    @property
    def is_key_right(self) -> bool:
        """Tell whether the question is still the one that the key was made from."""
        return self.key == key_of(self.case, self.code)

    def to_line(self) -> str:
        """Return the row as a line of JSON."""
        case = self.case.model_dump(mode="json")
        return json.dumps({"key": self.key, "case": case, "code": self.code, "result": plain(self.result)}) + "\n"

    @classmethod
    def from_line(cls, line: str) -> Row:
        """Read a row.

        Raises:
            ValueError: the line is no row of this version; what is wrong.
        """
        try:
            document = json.loads(line)
            result = {
                name: math.nan if value is None and name in _MAY_BE_NAN else value
                for name, value in document["result"].items()
            }
            case = Case.model_validate(document["case"])
            return cls(document["key"], case, document["code"], _RESULT.validate_json(json.dumps(result), strict=True))
        except (KeyError, TypeError, AttributeError, ValidationError) as error:
            raise ValueError(f"no row of this version: {error}") from error


@dataclass(frozen=True, slots=True)
class Block:
    """One set of episodes in a manifest.

    Attributes:
        name: as in the configuration.
        gpu_name: where it ran.
        is_simulated: no GPU was measured.
        beside: what to print beside the figures.
        keys: of its rows, in order.
    """

    name: str
    gpu_name: str
    is_simulated: bool
    beside: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a folder of results is about.

    Attributes:
        title: of the benchmark.
        started_utc: ISO 8601.
        folder: where the data were.
        config: the whole configuration, policies added on the command line included.
        versions: of this package and of libraries that can change a result.
        machine: what it ran on.
        blocks: what belongs to it.
    """

    title: str
    started_utc: str
    folder: str
    config: Mapping[str, Any]  # `Any`: TOML values, validated by `BenchConfig`
    versions: Mapping[str, str]
    machine: Mapping[str, str]
    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, title: str, config: Mapping[str, Any], folder: Path, blocks: Sequence[Block]) -> Manifest:
        """Return the manifest of a benchmark that starts here and now. `Any`: see ``config``."""
        started = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(title, started, str(folder.resolve()), config, _versions(), _machine(), tuple(blocks))


class Store:
    """The folder, open for adding rows."""

    def __init__(self, folder: Path) -> None:
        """Make the folder where it is not there, and read the rows that are.

        Raises:
            ArtefactError: it cannot be used, or its rows cannot be read.
        """
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / ROWS
            if file.exists():
                _cut_torn_end(file)
            file.touch()
            self._rows = read_rows(folder)
            self._file: TextIO = file.open("a", encoding="utf-8")
        except OSError as error:
            raise ArtefactError(f"cannot keep results in {folder}: {error.strerror}; name a writable folder") from error

    def __enter__(self) -> Self:
        """Return the store."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._file.close()

    def __contains__(self, key: object) -> bool:
        """Tell whether a row is there already."""
        return key in self._rows

    def __getitem__(self, key: str) -> Row:
        """Return a row."""
        return self._rows[key]

    def add(self, row: Row) -> None:
        """Keep a row, at once: what was run is never lost.

        Raises:
            ArtefactError: it cannot be written.
        """
        try:
            self._file.write(row.to_line())
            self._file.flush()
        except OSError as error:
            raise ArtefactError(
                f"cannot write to {self.folder / ROWS}: {error.strerror}; what is in it is good, and the same command "
                "goes on from there"
            ) from error
        self._rows[row.key] = row

    def describe(self, manifest: Manifest) -> None:
        """Say what the folder is about; replaces what was said before.

        Raises:
            ArtefactError: it cannot be written.
        """
        document = {"schema": SCHEMA_VERSION, **plain(manifest)}
        draft = self.folder / f".{MANIFEST}.{os.getpid()}"
        try:
            draft.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
            draft.replace(self.folder / MANIFEST)
        except OSError as error:
            raise ArtefactError(f"cannot write {self.folder / MANIFEST}: {error.strerror}") from error


def read_rows(folder: Path) -> dict[str, Row]:
    """Return the rows of a folder by key.

    Raises:
        ArtefactError: they cannot be read; the message names the line.
    """
    rows: dict[str, Row] = {}
    try:
        lines = (folder / ROWS).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ArtefactError(
            f"{folder} holds no results that can be read ({error}); `gpoeo bench -o` makes some"
        ) from error
    for number, line in enumerate(lines, start=1):
        try:
            row = Row.from_line(line)
        except ValueError as error:
            raise ArtefactError(f"{folder / ROWS}, line {number}: {error}; remove the line, or the folder") from error
        rows[row.key] = row
    return rows


def load_manifest(folder: Path) -> Manifest:
    """Read what a folder is about.

    Raises:
        ArtefactError: there is no manifest, or it cannot be used.
    """
    file = folder / MANIFEST
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        if document.pop("schema") != SCHEMA_VERSION:
            raise ArtefactError(f"{file} was written by another version of gpoeo; run the benchmark again")
        blocks = tuple(Block(**{**block, "keys": tuple(block["keys"])}) for block in document.pop("blocks"))
        return Manifest(**document, blocks=blocks)
    except OSError as error:
        raise ArtefactError(
            f"{folder} is no folder of results ({file.name}: {error.strerror}); `gpoeo bench -o` makes one"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, ArtefactError):
            raise
        raise ArtefactError(f"{file} is damaged: {error}; the same `gpoeo bench` command writes it anew") from error


def _cut_torn_end(file: Path) -> None:
    """Remove a last line without its end: a run that was killed in the middle of writing it."""
    content = file.read_bytes()
    end = content.rfind(b"\n") + 1
    if end < len(content):
        os.truncate(file, end)


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found | {"gpoeo-env": __version__}


def _machine() -> dict[str, str]:
    return {"system": platform.platform(), "processor": platform.machine(), "cores": str(os.cpu_count())}
