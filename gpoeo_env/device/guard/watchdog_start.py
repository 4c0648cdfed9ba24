"""Starts a watchdog; run by its path, as ``python -I watchdog_start.py DESCRIPTOR``.

The package's own ``__init__`` registers environments, and loads Gymnasium and numpy for that. A watchdog needs neither,
so an empty package of that name takes its place: a third of the memory, a quarter of the start.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

__all__: list[str] = []

if __name__ == "__main__":
    package = ModuleType("gpoeo_env")
    package.__path__ = [str(Path(__file__).resolve().parents[2])]
    sys.modules["gpoeo_env"] = package
    sys.exit(import_module("gpoeo_env.device.guard.watchdog").main(int(sys.argv[1])))
