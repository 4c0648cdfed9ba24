"""The driver's reasons for clocks below the request, in words."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["CAPS", "OVERHEATED", "reasons_in"]

GPU_IDLE = 0x1
OVERHEATED = 0x40
"""The hardware slows itself down by half or more, because software could not keep it cool."""
_WORDS: Mapping[int, str] = {
    GPU_IDLE: "GPU idle",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "thermal slowdown (software)",
    OVERHEATED: "thermal slowdown (hardware)",
    0x80: "power brake",
    0x200: "board limit",
    0x400: "reliability limit",
}
"""By NVML's bit. Left out: 0x2 and 0x100, which say that somebody has set clocks."""
CAPS = sum(_WORDS) - GPU_IDLE
"""Bits of what keeps a busy GPU below its request."""


def reasons_in(mask: int) -> tuple[str, ...]:
    """Return the words of a mask.

    Example:
        >>> reasons_in(0x4 | 0x40 | 0x2)
        ('power cap', 'thermal slowdown (hardware)')
    """
    return tuple(word for bit, word in _WORDS.items() if mask & bit)
