"""A log of an episode: one JSON object a line, the first one saying what was run, then one for each window.

Every line is flushed, so that an interrupted or killed run leaves all windows up to its end. NaN is written as
null: JSON has no NaN.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from gpoeo_env.errors import ArtefactError, UsageError
from gpoeo_env.policy import PolicyContext, Step
from gpoeo_env.records import Features
from gpoeo_env.version import __version__

__all__ = ["SCHEMA_VERSION", "JsonlLog", "plain"]

SCHEMA_VERSION = 1


class JsonlLog:
    """An observer that writes every Step to a file."""

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        """Remember where to write; the file is opened when the episode begins.

        Args:
            path: a file that does not exist yet; missing folders are made.
            header: what was run, for the first line: device, policy, settings. `Any`: whatever `plain` understands.
        """
        self.path = path
        self._header = dict(header)
        self._file: TextIO | None = None

    def begin(self, context: PolicyContext, workload: str | None) -> None:
        """Open the file and write the header.

        Raises:
            UsageError: the file exists already.
            ArtefactError: the file cannot be written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("x", encoding="utf-8")
        except OSError as error:
            if self.path.exists():
                raise UsageError(
                    f"{self.path} exists already and a log is never overwritten; name another file"
                ) from None
            raise self._cannot_write(error) from error
        self._write(
            {
                "type": "episode",
                "schema_version": SCHEMA_VERSION,
                "gpoeo_env": __version__,
                "gpu_name": context.gpu_name,
                "workload": workload,
                "seed": context.seed,
                "objective": context.objective,
                "limit": context.limit,
                "default_pair": context.default_pair,
                "n_pairs": len(context.clocks),
                **self._header,
            }
        )

    def step(self, step: Step) -> None:
        """Write one window.

        Raises:
            ArtefactError: the file cannot be written, for example because the disk is full.
        """
        self._write({"type": "step", **plain(step)})

    def end(self) -> None:
        """Close the file."""
        if self._file is not None:
            with suppress(OSError):  # what could not be written was reported then; closing tries it once more
                self._file.close()
            self._file = None

    def _write(self, record: Mapping[str, Any]) -> None:
        assert self._file is not None, "the runner calls begin() first"
        try:
            self._file.write(json.dumps(plain(record), allow_nan=False) + "\n")
            self._file.flush()
        except OSError as error:
            raise self._cannot_write(error) from error

    def _cannot_write(self, error: OSError) -> ArtefactError:
        return ArtefactError(f"cannot write the log {self.path}: {error.strerror}; name another file")


def plain(value: Any) -> Any:  # noqa: PLR0911 - one return a kind of value
    """Return a record as JSON can hold it: mappings, lists, strings, finite numbers, booleans and None.

    Dataclasses become mappings by field, features mappings by name, enums their value, NaN and infinity None.
    """
    if isinstance(value, Features):
        return {name: plain(number) for name, number in zip(value.names, value.values, strict=True)}
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value
