"""Counters of the SMs that read 0 while a kernel runs: DCGM loses their reads together, on a third of busy rows.

The SMs' counters come in one read and those of memory and of the graphics engine in others, so that a lost read shows:
the engine is active, or a pipe is, and SM activity is 0. Where even the engine is idle, 0 is the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.progress.refresh import unrefreshed_as_missing
from gpoeo_env.records import Window

__all__ = ["believed", "without_dropped_reads"]

SM_ACTIVE = "sm_active"
GRAPHICS_ACTIVE = "graphics_active"
SM_PIPES = ("tensor_active", "fp64_active", "fp32_active", "fp16_active", "integer_active")
SM_COUNTERS = (SM_ACTIVE, "sm_occupancy", *SM_PIPES)
"""What is lost together."""

Floats = NDArray[np.float64]


def without_dropped_reads(values: Floats, names: Sequence[str]) -> Floats:
    """Return readings with NaN where a counter of the SMs reads 0 because its read was lost.

    Args:
        values: readings, float64, shape (n, k).
        names: the k signals. Without SM activity, or without a witness beside it, nothing can be told.

    Returns:
        Shape (n, k); ``values`` itself where no read was lost.
    """
    by_name = {name: values[:, index] for index, name in enumerate(names)}
    witnesses = [by_name[name] > 0 for name in (GRAPHICS_ACTIVE, *SM_PIPES) if name in by_name]
    if SM_ACTIVE not in by_name or not witnesses:
        return values
    is_dropped = (by_name[SM_ACTIVE] == 0) & np.any(witnesses, axis=0)
    if not is_dropped.any():
        return values
    is_sm = np.array([name in SM_COUNTERS for name in names])
    return np.where(is_dropped[:, None] & is_sm & (values == 0), np.nan, values)


def believed(window: Window) -> Window:
    """Return the window with NaN where a counter's 0 is no reading: not refreshed, or lost; all else is unchanged."""
    window = unrefreshed_as_missing(window)
    values = without_dropped_reads(window.values, [signal.name for signal in window.signals])
    return window if values is window.values else replace(window, values=values)
