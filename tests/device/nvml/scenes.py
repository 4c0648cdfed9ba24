"""What tests let happen in a process that has the stand-in loaded."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpoeo_env.clocks import ClockPair
from gpoeo_env.device.nvml.opening import build
from gpoeo_env.records import Window
from gpoeo_env.signals import Signal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpoeo_env.device.base import DeviceInfo
    from gpoeo_env.device.nvml.device import NvmlDevice

__all__ = [
    "OBSERVE",
    "SITE_COMMANDS",
    "Told",
    "observed",
    "opened",
    "told_by",
    "windows_at",
    "windows_while_somebody_resets",
]

_SITE = f"{sys.executable} {Path(__file__).with_name('site_clocks.py')}"
SITE_COMMANDS: Mapping[str, str] = {
    "lock_sm": f"{_SITE} lock-sm {{uuid}} {{low}} {{sm}}",
    "release_sm": f"{_SITE} release-sm {{uuid}}",
    "lock_memory": f"{_SITE} lock-memory {{uuid}} {{mem}}",
    "release_memory": f"{_SITE} release-memory {{uuid}}",
}
"""Templates of a site whose users may run one script."""
OBSERVE: Mapping[str, object] = {"actuator": "observe"}
SHORT_S = 0.2
"""Long enough for two rows of counters; users are refused windows as short as that."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a device says of itself, and what was logged while it was opened."""

    info: DeviceInfo
    pairs: tuple[ClockPair, ...]
    signals: tuple[Signal, ...]
    log: tuple[str, ...]


@contextmanager
def opened(argument: str | None, settings: Mapping[str, object]) -> Iterator[NvmlDevice]:
    """Open a device as a spec does, but for the length of its windows."""
    with build(argument, {"least_window_s": 0.1, **settings}) as device:
        yield device


def told_by(settings: Mapping[str, object] | None = None, argument: str | None = None) -> Told:
    """Open a device, and return what it says."""
    with _log() as lines, opened(argument, settings or {}) as device:
        return Told(device.info, device.clocks.pairs, device.signals, tuple(lines))


def observed(seconds: float = SHORT_S, settings: Mapping[str, object] | None = None) -> tuple[Window, dict[str, int]]:
    """Return one window of a device that only looks, and the values that it refused."""
    with opened(None, {**OBSERVE, **(settings or {})}) as device:
        device.begin(None)
        return device.observe(seconds), dict(device.refused_values)


def windows_at(
    pairs: Sequence[ClockPair | None], seconds: float = SHORT_S, settings: Mapping[str, object] | None = None
) -> tuple[list[Window], tuple[str, ...]]:
    """Return one window for each request, and what was logged meanwhile."""
    with _log() as lines, opened(None, settings or {}) as device:
        device.begin(None)
        windows = []
        for pair in pairs:
            device.set_clocks(pair)
            windows.append(device.observe(seconds))
        return windows, tuple(lines)


def windows_while_somebody_resets(settings: Mapping[str, object] | None = None) -> tuple[list[Window], tuple[str, ...]]:
    """Ask for the same pair three times; after the first window, another process resets the SM clock."""
    with _log() as lines, opened(None, settings or {}) as device:
        device.begin(None)
        windows = []
        for number in range(3):
            device.set_clocks(device.clocks.pairs[0])
            if number == 1:
                subprocess.run([*_SITE.split(), "release-sm", device.gpu.uuid], check=True)
            windows.append(device.observe(SHORT_S))
        return windows, tuple(lines)


@contextmanager
def _log() -> Iterator[list[str]]:
    """Collect warnings and worse."""
    lines: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    collector = Collector(logging.WARNING)
    logger = logging.getLogger("gpoeo_env")
    logger.addHandler(collector)
    try:
        yield lines
    finally:
        logger.removeHandler(collector)
