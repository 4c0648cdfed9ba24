"""What an importer says about where its sweeps come from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from gpoeo_env.errors import UsageError
from gpoeo_env.trace.importers.csv_table import CsvTable
from gpoeo_env.trace.sweep import Provenance
from gpoeo_env.version import __version__

__all__ = ["checked_gpu_name", "imported_from", "origin_of"]


def imported_from(importer: str, tables: Sequence[CsvTable], *, is_relative: bool) -> Provenance:
    """Return the provenance of measured tables: the importer, and each file's name with its SHA-256."""
    return origin_of(importer, ((table.file.name, table.sha256) for table in tables), is_relative=is_relative)


def origin_of(importer: str, files: Iterable[tuple[str, str]], *, is_relative: bool) -> Provenance:
    """Return the provenance of measured files, given name and SHA-256 of each."""
    named = ", ".join(f"{name} (sha256 {digest})" for name, digest in files)
    return Provenance(
        source=f"importer {importer}: {named}",
        created_utc=datetime.now(UTC).isoformat(timespec="seconds"),
        tool=f"gpoeo-env {__version__}",
        is_simulated=False,
        is_relative=is_relative,
    )


def checked_gpu_name(gpu_name: str) -> str:
    """Return the name without surrounding blanks.

    Raises:
        UsageError: it is blank.
    """
    if not gpu_name.strip():
        raise UsageError("the GPU name is blank; name the GPU that was measured, for example 'Tesla V100-SXM2'")
    return gpu_name.strip()
