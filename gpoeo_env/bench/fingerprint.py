"""What a result depends on beside its settings: the code that made it and the files that it read.

A row of a benchmark stays good as long as this digest stays the same. The code is that of the modules that take part,
with all that they import from their own package: a change of one policy makes its own rows stale, and no others.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec, resolve_name
from pathlib import Path

from gpoeo_env.bench.case import Case
from gpoeo_env.config import Spec
from gpoeo_env.registry import DEVICES, POLICIES, plugins

__all__ = ["digest_of"]

CORE = "gpoeo_env.bench.batch"
"""Runs an episode and scores it; imports whatever takes part in that."""


def digest_of(case: Case, folder: Path) -> str:
    """Return the digest of the code and files that a case depends on, as hexadecimal SHA-256.

    Args:
        case: what is run.
        folder: where the data are.
    """
    source, device = case.place.source, case.place.device
    modules = [CORE, _module_of(POLICIES, case.policy)]
    modules += ["gpoeo_env.device.replay", "gpoeo_env.bench.sources"] if device is None else []
    modules += [_module_of(DEVICES, device)] if device else []
    named = [folder / file for file in source.files] if source else []
    named += [file for spec in (case.policy, device or "") for file in _files_named_in(spec)]
    return _digest(tuple(modules), tuple(named))


@cache
def _digest(modules: tuple[str, ...], files: tuple[Path, ...]) -> str:
    digest = hashlib.sha256()
    for file in sorted({*_code(modules), *(each for named in files for each in _all_in(named))}):
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


@cache
def _module_of(group: str, spec: str) -> str:
    """Return the module that builds a policy or a device."""
    wanted = Spec.parse(spec)
    values = [plugin.value for plugin in plugins(group) if plugin.name == wanted.name]
    return values[0].partition(":")[0] if values else wanted.name


def _files_named_in(spec: str) -> list[Path]:
    """Return files and folders that a spec names, such as a saved model or a recording."""
    if not spec:
        return []
    wanted = Spec.parse(spec)
    texts = [text for text in (wanted.argument, *wanted.settings.values()) if isinstance(text, str)]
    return [Path(text) for text in texts if Path(text).exists()]


def _all_in(path: Path) -> Iterator[Path]:
    return (file for file in path.rglob("*") if file.is_file()) if path.is_dir() else iter((path,))


@cache
def _code(modules: tuple[str, ...]) -> frozenset[Path]:
    """Return the files of some modules, of all that they import from their own packages, and the data beside them."""
    found: dict[str, Path] = {}
    left = list(modules)
    while left:
        name = left.pop()
        file = None if name in found else _file_of(name)
        if file is not None:
            found[name] = file
            left += _imports(name, file)
    data = (each for file in found.values() if file.name == "__init__.py" for each in _data_beside(file.parent))
    return frozenset((*found.values(), *data))


def _file_of(module: str) -> Path | None:
    """Return the source of a module; None where it has none: a built-in, or an attribute that looked like a module."""
    try:
        spec = find_spec(module)
    except (ImportError, AttributeError, ValueError):
        return None
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def _imports(module: str, file: Path) -> Iterator[str]:
    """Yield what a module names in import statements out of its own top-level package, its parents included."""
    top = module.partition(".")[0]
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    names = [name for node in ast.walk(ast.parse(file.read_bytes())) for name in _named(node, package)]
    for name in (*names, package):
        if name.partition(".")[0] == top and top not in sys.stdlib_module_names:
            yield name


def _named(node: ast.AST, package: str) -> Iterable[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    base = resolve_name("." * node.level + (node.module or ""), package) if node.level else str(node.module)
    return [base, *(f"{base}.{alias.name}" for alias in node.names)]


def _data_beside(folder: Path) -> Iterator[Path]:
    """Yield the data files of a package: catalogues, fitted models."""
    kept = (file for file in folder.rglob("*") if file.is_file() and file.suffix in {".toml", ".json", ".txt", ".zip"})
    return iter(kept)
