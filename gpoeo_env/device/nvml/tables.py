"""The clock pairs that a GPU offers, as its driver lists them."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.device.nvml.library import Nvml
from gpoeo_env.errors import NotOfferedError

__all__ = ["STEPS_OF_A_RANGE", "offered_clocks"]

_LOG = logging.getLogger(__name__)
STEPS_OF_A_RANGE = 32
"""SM clocks that are offered where the driver names its range alone; it locks the step nearest to each."""


def offered_clocks(nvml: Nvml, handle: Any, *, can_lock_memory: bool) -> ClockTable:
    """Return the pairs that can be locked. `Any`: NVML's handle.

    Args:
        nvml: open.
        handle: of the GPU.
        can_lock_memory: where not, only the pairs of the highest memory clock are of use.

    Raises:
        NotOfferedError: the driver says neither which clocks there are nor between which bounds.
        GpoeoError: as `Nvml.call`.
    """
    pairs = _listed(nvml, handle) or _within_range(nvml, handle)
    if not can_lock_memory:
        top = max(pair.mem_mhz for pair in pairs)
        pairs = {pair for pair in pairs if pair.mem_mhz == top}
    return ClockTable(pairs)


def _listed(nvml: Nvml, handle: Any) -> set[ClockPair]:
    return {
        ClockPair(sm_mhz, mem_mhz)
        for mem_mhz in nvml.ask("nvmlDeviceGetSupportedMemoryClocks", handle) or ()
        for sm_mhz in nvml.ask("nvmlDeviceGetSupportedGraphicsClocks", handle, mem_mhz) or ()
    }


def _within_range(nvml: Nvml, handle: Any) -> set[ClockPair]:
    names = nvml.bindings
    bounds = nvml.ask("nvmlDeviceGetMinMaxClockOfPState", handle, names.NVML_CLOCK_SM, names.NVML_PSTATE_0)
    mem_mhz = nvml.ask("nvmlDeviceGetMaxClockInfo", handle, names.NVML_CLOCK_MEM)
    if bounds is None or not mem_mhz:
        raise NotOfferedError(
            "the driver lists no clocks for this GPU and names no bounds; it can be watched "
            "(gpoeo run --observe, actuator=observe), but "
            "nobody can say what could be locked"
        )
    low_mhz, high_mhz = (int(bound) for bound in bounds)
    _LOG.warning(
        "the driver lists no clocks; %d SM clocks from %d to %d MHz are used", STEPS_OF_A_RANGE, low_mhz, high_mhz
    )
    return {ClockPair(round(sm_mhz), mem_mhz) for sm_mhz in np.linspace(low_mhz, high_mhz, STEPS_OF_A_RANGE)}
