"""Power of a phase at some clocks.

board + leakage (~ V^2, and with temperature) + switching (~ V^2 f: clock tree, SMs, and each pipe by its utilisation)
+ memory (~ memory clock, and ~ bytes moved). The voltage stands on a floor up to some clock and rises above it: below
the floor's end a lower clock saves no voltage, so energy for each operation stops falling (measured V100 and A100
curves have their least energy there; Guerreiro et al., HPCA 2018, use the same two-domain form for Maxwell and Pascal).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.phases import Phase
from gpoeo_env.sim.physics.timing import PhaseTimes

__all__ = ["PIPES", "Activity", "PowerParts", "activity_of", "power_parts", "voltage"]

Array = NDArray[np.float64]

PIPES = ("tensor", "fp32", "fp16", "fp64", "integer")
"""The arithmetic pipes that draw power of their own, as GPM tells them apart."""


@dataclass(frozen=True, slots=True)
class Activity:
    """How busy everything is on average, each a fraction, float64; what counters read and power follows from.

    Attributes:
        sm: SMs that hold a kernel.
        pipes: utilisation of each of `PIPES`, shape (5, ...).
        onchip: on-chip traffic relative to its peak at the clocks in force.
        dram: DRAM traffic relative to its peak at the clocks in force.
    """

    sm: Array
    pipes: Array
    onchip: Array
    dram: Array


@dataclass(frozen=True, slots=True)
class PowerParts:
    """Mean watts, each float64 in the shape of the clocks.

    Attributes:
        leakage_w: of the core at the catalogue's reference temperature.
        other_w: everything else.
    """

    leakage_w: Array
    other_w: Array


def activity_of(phase: Phase, times: PhaseTimes) -> Activity:
    """Return how busy a phase keeps everything, averaged over the phase."""
    mix = phase.mix
    compute_frac = times.compute_s / times.total_s
    return Activity(
        sm=mix.fill * times.busy_frac,
        pipes=np.stack([getattr(mix, pipe) * compute_frac for pipe in PIPES]),
        onchip=mix.onchip * times.onchip_s / times.total_s,
        dram=mix.bandwidth * times.memory_s / times.total_s,
    )


def voltage(gpu: Gpu, sm_mhz: Array) -> Array:
    """Return the core voltage in volts."""
    curve = gpu.voltage
    rise = (sm_mhz - curve.floor_until_mhz) / (gpu.clocks.top.sm_mhz - curve.floor_until_mhz)
    return curve.floor_v + (curve.top_v - curve.floor_v) * np.maximum(rise, 0.0) ** curve.curvature


def power_parts(gpu: Gpu, activity: Activity, sm_mhz: Array, mem_mhz: Array, toggling: float = 1.0) -> PowerParts:
    """Return what the board draws at some clocks while everything is this busy.

    Args:
        gpu: whose constants.
        activity: as the counters would read it.
        sm_mhz: SM clock in force.
        mem_mhz: memory clock in force.
        toggling: see `Mix`.
    """
    power, top = gpu.power, gpu.clocks.top
    voltage_squared = (voltage(gpu, sm_mhz) / gpu.voltage.top_v) ** 2
    pipes_w = np.tensordot([getattr(power, f"{pipe}_w") for pipe in PIPES], activity.pipes, axes=1)
    working_w = toggling * (pipes_w + power.onchip_w * activity.onchip)
    switching_w = power.clock_tree_w + power.sm_w * activity.sm + working_w
    mem_speed = mem_mhz / top.mem_mhz
    memory_w = (power.mem_standing_w + power.mem_access_w * activity.dram) * mem_speed
    return PowerParts(
        leakage_w=power.leakage_w * voltage_squared,
        other_w=power.board_w + switching_w * voltage_squared * sm_mhz / top.sm_mhz + memory_w,
    )
