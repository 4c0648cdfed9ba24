"""What performance counters read of a phase: the same activity that makes its time and power.

Two sets. `GPM`: what NVML's GPU performance monitoring (Hopper and later) and DCGM report. `CUPTI`: the features that
GPOEO derives from CUPTI's counters (paper, section IV), as fractions where the paper has percentages.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.sim.phases import Phase
from gpoeo_env.sim.physics.power import PIPES, Activity
from gpoeo_env.sim.physics.timing import PhaseTimes

__all__ = ["CUPTI", "GPM", "CounterSet", "counters_of"]

Array = NDArray[np.float64]

GPM = (
    "sm_active",
    "sm_occupancy",
    *(f"{pipe}_active" for pipe in PIPES),
    "dram_active",
    "gpu_util",
    "mem_util",
    "pcie_rx_bytes",
)
"""Counters as NVML, GPM and DCGM define them: fractions of the elapsed time or of the peak, and bytes per second."""
CUPTI = (
    "ipc_ratio",
    "l1_miss_per_inst",
    "l1_miss_ratio",
    "l2_miss_per_inst",
    "l2_miss_ratio",
    *(f"pipe_{name}" for name in ("tensor", "fma", "alu", "fp16", "fp64", "lsu", "xu", "tex", "cbu", "adu", "uniform")),
    "pipe_ipa",
)
"""GPOEO's 17 features beside the relative clock: issue rate, misses, and the utilisation of 12 pipes."""

_ISSUE_PER_PIPE = np.array([0.06, 0.5, 0.5, 0.25, 0.5])
"""Instructions issued for each unit of utilisation of `PIPES`, relative to the peak issue rate: an FP32 or integer
instruction keeps its half-wide pipe for two issue slots, a matrix instruction a tensor pipe for sixteen."""
_ISSUE_PER_LSU = 0.25
_MOST_PER_INST = 0.9999
"""The paper caps misses per instruction at 99.99 %."""


class CounterSet(NamedTuple):
    """Names and units of some counters."""

    names: tuple[str, ...]
    units: tuple[str, ...]

    @classmethod
    def named(cls, names: tuple[str, ...]) -> CounterSet:
        """Return the set of these counters."""
        return cls(names, tuple("B/s" if name.endswith("_bytes") else "1" for name in names))


def counters_of(phase: Phase, times: PhaseTimes, activity: Activity, names: tuple[str, ...]) -> Array:
    """Return counters averaged over a phase, float64, the shape of the clocks with a last axis for ``names``."""
    read = {**_gpm(phase, times, activity), **_cupti(phase, activity)}
    return np.stack([np.broadcast_to(read[name], times.total_s.shape) for name in names], axis=-1)


def _gpm(phase: Phase, times: PhaseTimes, activity: Activity) -> dict[str, Array]:
    return {
        "sm_active": activity.sm,
        "sm_occupancy": phase.mix.occupancy * activity.sm,
        **{f"{pipe}_active": busy for pipe, busy in zip(PIPES, activity.pipes, strict=True)},
        "dram_active": activity.dram,
        "gpu_util": times.busy_frac,
        "mem_util": np.minimum(1.0, times.memory_s / times.total_s),
        "pcie_rx_bytes": phase.pcie_bytes / times.total_s,
    }


def _cupti(phase: Phase, activity: Activity) -> dict[str, Array]:
    """Return the paper's features; they count relative to the cycles in which an SM is active."""
    per_active = 1.0 / np.maximum(activity.sm, 1e-9)
    pipes = dict(zip(PIPES, np.minimum(1.0, activity.pipes * per_active), strict=True))
    lsu = np.minimum(1.0, (activity.onchip + 0.5 * activity.dram) * per_active)
    issue = np.minimum(0.8, np.tensordot(_ISSUE_PER_PIPE, list(pipes.values()), axes=1) + _ISSUE_PER_LSU * lsu)
    accesses = _ISSUE_PER_LSU * lsu / np.maximum(issue, 1e-9)
    l1_miss = (1.0 - phase.mix.l1_hit) * np.ones_like(lsu)
    l2_miss = np.minimum(1.0, activity.dram / np.maximum(activity.dram + activity.onchip, 1e-9))
    integer = pipes["integer"]
    return {
        "ipc_ratio": np.minimum(_MOST_PER_INST, 1.2 * issue),
        "l1_miss_per_inst": np.minimum(_MOST_PER_INST, 2.5 * accesses * l1_miss),
        "l1_miss_ratio": l1_miss,
        "l2_miss_per_inst": np.minimum(_MOST_PER_INST, 2.5 * accesses * l1_miss * l2_miss),
        "l2_miss_ratio": l2_miss,
        "pipe_tensor": pipes["tensor"],
        "pipe_fma": pipes["fp32"],
        "pipe_alu": integer,
        "pipe_fp16": pipes["fp16"],
        "pipe_fp64": pipes["fp64"],
        "pipe_lsu": lsu,
        "pipe_xu": 0.1 * pipes["fp32"],
        "pipe_tex": 0.0 * integer,
        "pipe_cbu": 0.1 * integer,
        "pipe_adu": 0.05 * integer,
        "pipe_uniform": 0.2 * integer,
        "pipe_ipa": 0.0 * integer,
    }
