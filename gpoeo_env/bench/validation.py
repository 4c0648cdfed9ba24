"""Results as claims: rows are run again, and have to come out as they were written.

for verdict in validate(Path("results"), sample=20):
    print(verdict.row.case.policy, verdict.complaints)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from gpoeo_env.bench.case import batches
from gpoeo_env.bench.fingerprint import digest_of
from gpoeo_env.bench.result import EpisodeResult
from gpoeo_env.bench.store import Manifest, Row, load_manifest, read_rows
from gpoeo_env.errors import ConfigError

__all__ = ["Verdict", "sample_of", "validate"]

TOLERANCE = 1e-6
"""Relative; libraries of another version may round differently. A number that matters differs by far more."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What running a row again came to.

    Attributes:
        row: the claim.
        complaints: what is wrong with it; empty = it holds.
        is_stale: the code or the data are not those of the claim, so that a difference proves nothing.
    """

    row: Row
    complaints: tuple[str, ...]
    is_stale: bool


def sample_of(folder: Path, size: int, seed: int = 0) -> tuple[Manifest, list[Row], list[str]]:
    """Draw rows that belong to a folder of results.

    Args:
        folder: of results.
        size: how many; all where there are no more.
        seed: of the draw.

    Returns:
        The manifest, the rows in their order, and the keys that the manifest names and no row has.

    Raises:
        ArtefactError: the folder cannot be read.
        ConfigError: ``size`` is less than 1.
    """
    if size < 1:
        raise ConfigError(f"a sample has at least one row; got {size}")
    manifest, rows = load_manifest(folder), read_rows(folder)
    keys = [key for block in manifest.blocks for key in block.keys]
    there = [key for key in keys if key in rows]
    drawn = np.random.default_rng(seed).permutation(len(there))[:size]
    return manifest, [rows[there[index]] for index in sorted(drawn)], [key for key in keys if key not in rows]


def validate(manifest: Manifest, rows: list[Row], data: Path | None = None) -> Iterator[Verdict]:
    """Run rows again, one after the other, and compare.

    Args:
        manifest: of their folder.
        rows: the claims.
        data: where the data are; None = where they were.

    Raises:
        GpoeoError: whatever a policy or a device raises.
    """
    folder = Path(manifest.folder) if data is None else data
    for row in rows:
        is_stale = digest_of(row.case, folder) != row.code
        if not row.is_key_right:
            yield Verdict(row, ("its settings are not those that its key was made from",), is_stale)
            continue
        (batch,) = batches([row.case], folder)
        (again,) = batch.run()
        yield Verdict(row, tuple(_differences(row.result, again)), is_stale)


def _differences(claimed: EpisodeResult, again: EpisodeResult) -> Iterator[str]:
    for part in fields(EpisodeResult):
        was, now = getattr(claimed, part.name), getattr(again, part.name)
        if part.compare and not _is_same(was, now):
            yield f"{part.name} was {_shown(was)} and is {_shown(now)}"


def _is_same(was: object, now: object) -> bool:
    if isinstance(was, float) and isinstance(now, float):
        return math.isclose(was, now, rel_tol=TOLERANCE, abs_tol=TOLERANCE) or (math.isnan(was) and math.isnan(now))
    return was == now


def _shown(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
