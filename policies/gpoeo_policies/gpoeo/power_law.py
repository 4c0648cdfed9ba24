"""Energy from time: where a GPU's power goes when its clocks change, in six numbers that all workloads share.

    energy * watts = (static + memory * m) * t  +  clock * s * v(s)^2 * t  +  traffic * dram  +  dynamic * v(s)^2

with s, m the SM and memory clock and t the time, all relative to the driver's default, and the voltage
v(s) = max(floor, 1 - slope * (1 - s)). Standing power and the clock tree cost energy for as long as the work takes;
what the work itself switches (the rest of the power at the default, ``dynamic``) costs the same charge each time, at
another voltage; memory traffic has its own supply. (Guerreiro et al., HPCA 2018; Wang and Chu, arXiv:1701.05308.)

Given the true time, it misses the energy ratio by 1.7 % on 138 microbenchmarks of a V100 (1.0 % from 700 MHz on), 1.4 %
on 12 programs of an A100, 2.2 % on 23 workloads of another V100 whose traffic is not known, and 1.1 % on 30 kernels of
a GTX 1080 Ti with memory clocks (mean absolute error over all clocks, each fitted to the same).
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

__all__ = ["Conditions", "PowerLaw"]

Array = NDArray[np.float64]

ROBUST_LOG = 0.05
"""Misses beyond this in ln energy weigh less and less: one odd workload shall not bend the law for all."""
DIGITS = 5
"""Significant digits of a fitted law: more would differ between CPUs, and mean nothing."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Rows of a table: relative clocks, and what the workload draws at the driver's default.

    Attributes:
        sm: SM clock ratio, float64, shape (n,).
        mem: memory clock ratio, likewise.
        watts: board power at the default, one value or one a row.
        dram: share of the peak memory traffic at the default, likewise; 0 where unknown.
    """

    sm: Array
    mem: Array
    watts: Array | float
    dram: Array | float


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """The six numbers; powers in W at the driver's default."""

    static_w: float
    memory_w: float
    clock_w: float
    traffic_w: float
    voltage_floor: float
    voltage_slope: float

    @classmethod
    def fit(cls, rows: Conditions, log_ratios: Array, weights: Array) -> PowerLaw:
        """Fit to known times and energies.

        Args:
            rows: of all workloads.
            log_ratios: ln time and ln energy ratios, shape (2, n).
            weights: of the rows, shape (n,).
        """
        time, log_energy = np.exp(log_ratios[0]), log_ratios[1]
        typical_w = float(np.median(rows.watts))
        scale = np.array([typical_w, typical_w, typical_w, typical_w, 1.0, 1.0])
        is_free = np.array([True, bool(np.ptp(rows.mem) > 0), True, bool(np.any(rows.dram)), True, True])
        most = np.array([1.0, 1.0, 1.0, 2.0, 1.0, 2.0])
        numbers = np.zeros(6)

        def misses(free: Array) -> Array:
            numbers[is_free] = free
            law = cls(*(numbers * scale).tolist())
            missed: Array = np.sqrt(weights) * (np.log(law.energy_ratio(time, rows)) - log_energy)
            return missed

        bounds = (np.array([0.0, 0.0, 0.0, 0.0, 0.3, 0.0])[is_free], most[is_free])
        starts = ([0.15, 0.1, 0.1, 0.25, 0.7, 0.5], [0.3, 0.02, 0.05, 0.1, 0.8, 0.7])
        fits = [
            least_squares(misses, np.array(start)[is_free], bounds=bounds, loss="soft_l1", f_scale=ROBUST_LOG)
            for start in starts
        ]
        numbers[is_free] = min(fits, key=lambda fit: float(fit.cost)).x
        return cls(*(float(f"{number:.{DIGITS}g}") for number in numbers * scale))

    def energy_ratio(self, time_ratio: Array, rows: Conditions) -> Array:
        """Return energy per work relative to the driver's default, float64, shape (n,); 1 at the default."""
        voltage = np.maximum(self.voltage_floor, 1.0 - self.voltage_slope * (1.0 - rows.sm))
        static, memory, clock, traffic, dynamic = self._shares(rows)
        standing = static + memory * rows.mem + clock * rows.sm * voltage**2
        ratio: Array = standing * time_ratio + traffic + dynamic * voltage**2
        return ratio

    def _shares(self, rows: Conditions) -> tuple[Array, ...]:
        """Return the shares of the power at the default, which add up to 1: what is left over is dynamic."""
        left: Array = np.ones(np.broadcast_shapes(np.shape(rows.watts), np.shape(rows.dram)))
        shares = []
        for power_w in (self.static_w, self.memory_w, self.clock_w, self.traffic_w * np.asarray(rows.dram)):
            share = np.minimum(power_w / np.asarray(rows.watts), left)
            left = left - share
            shares.append(share)
        return (*shares, left)

    def numbers(self) -> tuple[float, ...]:
        """Return the six numbers in order."""
        return astuple(self)
