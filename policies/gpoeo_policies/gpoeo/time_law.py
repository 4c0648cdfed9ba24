"""Time from counters: what bounds a workload at the driver's default bounds it elsewhere, in four numbers for a GPU.

    time = blend_host( blend_parts( compute / s, memory / m ), host )

with s, m the SM and memory clock relative to the default. Shares of the time at the default: a kernel runs for
``gpu_util`` of it, DRAM is busy for ``memory`` = traffic * dram_active + utilisation * mem_util, the pipes take the
rest of the time in which a kernel runs, and the host what no kernel fills. A blend is a power mean: the sum for an
exponent of 1, the longest part for a large one; an iteration holds kernels of many intensities, so bounds give way
gradually.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

__all__ = ["Bounds", "TimeLaw"]

Array = NDArray[np.float64]

ROBUST_LOG = 0.05
"""Misses beyond this in ln time weigh less and less: one odd workload shall not bend the law for all."""
DIGITS = 5
"""Significant digits of a fitted law: more would differ between CPUs, and mean nothing."""
LEAST_BUSY = 0.02
MOST_MEMORY = 0.999
"""Share of the busy time that memory can take at most: pipes have something to do in every kernel."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Counters at the driver's default, each one value or one a row; float64.

    Attributes:
        busy: share of the time in which a kernel runs; 1 where unknown.
        traffic: share of the peak memory traffic.
        utilisation: share of the time in which memory is read or written, as NVML counts it; 0 where unknown.
    """

    busy: Array | float
    traffic: Array | float
    utilisation: Array | float


@dataclass(frozen=True, slots=True)
class TimeLaw:
    """The four numbers.

    Attributes:
        parts_exponent: how compute and memory overlap within the GPU, 1 or more.
        host_exponent: how GPU and host overlap, 1 or more.
        traffic: memory time for each share of the peak traffic.
        utilisation: memory time for each share of NVML's utilisation.
    """

    parts_exponent: float
    host_exponent: float
    traffic: float
    utilisation: float

    @classmethod
    def fit(cls, clocks: Array, bounds: Bounds, log_time: Array, weights: Array) -> TimeLaw:
        """Fit to known times.

        Args:
            clocks: relative SM and memory clocks of all rows, float64, shape (n, 2).
            bounds: of the rows.
            log_time: ln time ratios, shape (n,).
            weights: of the rows, shape (n,).
        """

        def misses(numbers: Array) -> Array:
            missed: Array = np.sqrt(weights) * (cls(*numbers.tolist()).log_ratio(clocks, bounds) - log_time)
            return missed

        start, least, most = [2.0, 2.0, 0.5, 0.5], [1.0, 1.0, 0.0, 0.0], [12.0, 12.0, 1.6, 1.6]
        fit = least_squares(misses, start, bounds=(least, most), loss="soft_l1", f_scale=ROBUST_LOG)
        return cls(*(float(f"{number:.{DIGITS}g}") for number in fit.x))

    def log_ratio(self, clocks: Array, bounds: Bounds) -> Array:
        """Return ln time relative to the driver's default, float64, shape (n,); 0 at the default."""
        parts, hosts = self.parts_exponent, self.host_exponent
        busy = np.clip(bounds.busy, LEAST_BUSY, 1.0)
        memory = np.minimum(self.traffic * bounds.traffic + self.utilisation * bounds.utilisation, MOST_MEMORY * busy)
        compute = (busy**parts - memory**parts) ** (1.0 / parts)
        host = (1.0 - busy**hosts) ** (1.0 / hosts)
        gpu = ((compute / clocks[:, 0]) ** parts + (memory / clocks[:, 1]) ** parts) ** (1.0 / parts)
        log_ratio: Array = np.log(gpu**hosts + host**hosts) / hosts
        return log_ratio
