"""What bounds a workload, from shares of the peak at the driver's default: compute, memory or latency.

The counters are means over a window, 0..1 of what the GPU could do at most, as DCGM and GPM define them. Ratios of them
carry over from one program to another where the counters themselves do not: a program that keeps a tenth of the SMs
busy is bound by the same things as one that keeps all of them busy. (Williams, Waterman, Patterson, "Roofline", CACM
52(4), 2009.)
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["ROOFLINE_NAMES", "dram_share", "knows_roofline", "roofline"]

Array = NDArray[np.float64]

_ALIASES = {
    "sm_active": ("sm_active", "SMACT"),
    "sm_occupancy": ("sm_occupancy", "SMOCC"),
    "dram_active": ("dram_active", "DRAMA"),
    "tensor_active": ("tensor_active", "tensor_activity", "TENSO"),
    "fp64_active": ("fp64_active", "FP64A"),
    "fp32_active": ("fp32_active", "FP32A"),
    "fp16_active": ("fp16_active", "FP16A"),
    "integer_active": ("integer_active",),
}
"""Our names, those of DCGM's field list, and the short ones in the header of ``dcgmi dmon``."""
_PIPES = ("tensor_active", "fp64_active", "fp32_active", "fp16_active", "integer_active")
LEAST_ACTIVE = 0.01
"""Floor of divisors: a share this small is noise."""

ROOFLINE_NAMES = (
    "memory_balance",
    "dram_per_active",
    "pipe_per_active",
    "dram_concurrency",
    "latency_slack",
    "occupancy_per_active",
    "busiest",
    "busiest_pipe",
)
"""Names of what `roofline` returns: memory against compute; memory, compute and occupancy per active SM; memory traffic
times the warps that can hide it; active time that neither memory nor a pipe fills; the fuller of both; the pipe."""


def knows_roofline(names: Collection[str]) -> bool:
    """Tell whether counters say how busy SMs and memory are."""
    return all(any(alias in names for alias in _ALIASES[key]) for key in ("sm_active", "dram_active"))


def dram_share(names: Sequence[str], values: Array) -> float:
    """Return the share of the peak memory traffic; 0 where it is unknown."""
    share = _value("dram_active", names, values)
    return 0.0 if np.isnan(share) else share


def roofline(names: Sequence[str], values: Array) -> Array:
    """Return the ratios of `ROOFLINE_NAMES`, float64; NaN where a counter is missing; empty where SMs or memory are."""
    if not knows_roofline(names):
        return np.empty(0)
    active, occupancy, dram = (_value(key, names, values) for key in ("sm_active", "sm_occupancy", "dram_active"))
    pipe = float(np.fmax.reduce([_value(key, names, values) for key in _PIPES]))
    divisor = max(active, LEAST_ACTIVE)
    busiest = float(np.fmax(dram, pipe))
    return np.array(
        [
            dram / (dram + pipe + 0.1 * LEAST_ACTIVE),
            dram / divisor,
            pipe / divisor,
            dram * occupancy,
            active - busiest,
            occupancy / divisor,
            busiest,
            pipe,
        ]
    )


def _value(key: str, names: Sequence[str], values: Array) -> float:
    for alias in _ALIASES[key]:
        if alias in names:
            return float(values[names.index(alias)])
    return float("nan")
