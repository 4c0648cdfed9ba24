"""GPUs for the stand-in: made by hand with the facts of a real one, or from the simulated GPU."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from gpoeo_env.clocks import ClockPair
from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.closed_form import operating_points
from gpoeo_env.sim.physics.limits import reason_bits
from gpoeo_env.sim.workloads import Workload

__all__ = ["GPM_IDS", "HOPPER", "Point", "StandInGpu", "hand_made", "h200", "simulated"]

HOPPER, AMPERE = 9, 7
MEBIBYTE = 2.0**20

GPM_IDS: Mapping[str, int] = {
    "sm_active": 2,
    "sm_occupancy": 3,
    "integer_active": 4,
    "tensor_active": 5,
    "dram_active": 10,
    "fp64_active": 11,
    "fp32_active": 12,
    "fp16_active": 13,
    "pcie_tx_bytes": 20,
    "pcie_rx_bytes": 21,
    "nvlink_rx_bytes": 60,
    "nvlink_tx_bytes": 61,
}
"""NVML's numbers of the GPM metrics, by the name of our signal."""


@dataclass(frozen=True, slots=True)
class Point:
    """What a workload does while one pair is locked; the first of a GPU is the driver's default.

    Attributes:
        pair: the pair.
        watts: mean board power.
        work_per_s: units of work a second.
        counters: GPM metrics by the name of our signal, ratios as 0..1, bytes a second.
        running: what runs while the pair is locked; None = the pair.
        reasons: clocks event reasons, NVML's bit mask.
        settle_s: until the clock readings have arrived.
        gpu_util: percent of time with any kernel.
        mem_util: percent of time with memory traffic.
    """

    pair: ClockPair
    watts: float
    work_per_s: float
    counters: Mapping[str, float] = field(default_factory=dict)
    running: ClockPair | None = None
    reasons: int = 0
    settle_s: float = 0.02
    gpu_util: int = 100
    mem_util: int = 40

    def gpm(self) -> dict[int, float]:
        """Return the metrics by NVML's number and in NVML's units."""
        return {
            GPM_IDS[name]: value / MEBIBYTE if name.endswith("_bytes") else 100.0 * value
            for name, value in self.counters.items()
            if name in GPM_IDS
        }


@dataclass(frozen=True, slots=True)
class StandInGpu:
    """One GPU as the stand-in shall show it.

    Attributes:
        points: the driver's default, then one for every pair of its table.
        uuid: None = one that is made from the index.
        name: bytes, because drivers have been seen to give out what is no text.
        virtualization: NVML's code; 1 = passed through to a VM, 2 = vGPU.
    """

    points: tuple[Point, ...]
    uuid: str | None = None
    name: bytes = b"NVIDIA H200"
    architecture: int = HOPPER
    has_gpm: bool = True
    is_persistent: bool = True
    is_mig: bool = False
    virtualization: int = 0
    power_limit_w: float = 700.0
    temperature_c: int = 45
    power_ripple: float = 0.0
    refresh_s: float = 0.1


def hand_made(**settings: object) -> StandInGpu:
    """Return a small GPU whose answers can be worked out by hand: SM 600, 1200, 1800 x memory 2000, 3000 MHz.

    At s x m MHz it draws 100 + s / 10 + m / 30 W and does s / 1800 units of work a second, memory or not.
    """
    pairs = [ClockPair(sm, mem) for mem in (2000, 3000) for sm in (600, 1200, 1800)]
    points = tuple(_by_hand(pair) for pair in (pairs[-1], *pairs))
    return StandInGpu(points=points, **settings)  # type: ignore[arg-type]  # settings are those of StandInGpu


def h200(**settings: object) -> StandInGpu:
    """Return a GPU with the clock table of an H200 (109 SM clocks x 2 memory clocks) and a workload made by hand."""
    pairs = [ClockPair(sm, mem) for mem in (2201, 3201) for sm in range(345, 1981, 15)]
    return StandInGpu(points=tuple(_by_hand(pair) for pair in (pairs[-1], *pairs)), **settings)  # type: ignore[arg-type]


def simulated(gpu: Gpu, workload: Workload, **settings: object) -> StandInGpu:
    """Return a GPU of the catalogue under one of its workloads, as the simulated device computes it."""
    table = operating_points(gpu, workload)
    names = table.counters.names
    utilisation = [names.index("gpu_util"), names.index("mem_util")]
    points = tuple(
        Point(
            pair=gpu.default_pair if pair is None else pair,
            watts=float(table.watts[action]),
            work_per_s=1.0 / float(table.seconds[action]),
            counters=dict(zip(names, table.mean_counters[action].tolist(), strict=True)),
            running=table.in_force[action],
            reasons=reason_bits(table.throttle_reasons[action]),
            gpu_util=round(100 * float(table.mean_counters[action, utilisation[0]])),
            mem_util=round(100 * float(table.mean_counters[action, utilisation[1]])),
        )
        for action, pair in enumerate((None, *gpu.clocks))
    )
    defaults = {"name": gpu.full_name.encode(), "power_limit_w": gpu.power_limit_w}
    return StandInGpu(points=points, **{**defaults, **settings})  # type: ignore[arg-type]


def _by_hand(pair: ClockPair) -> Point:
    pace = pair.sm_mhz / 1800
    return Point(
        pair=pair,
        watts=100 + pair.sm_mhz / 10 + pair.mem_mhz / 30,
        work_per_s=pace,
        counters={
            "sm_active": 0.9,
            "sm_occupancy": 0.5,
            "integer_active": 0.1,
            "tensor_active": 0.4,
            "dram_active": min(1.0, 0.3 * pace * 3000 / pair.mem_mhz),
            "fp64_active": 0.0,
            "fp32_active": 0.2,
            "fp16_active": 0.1,
            "pcie_tx_bytes": 2e6,
            "pcie_rx_bytes": 3e6,
            "nvlink_rx_bytes": 0.0,
            "nvlink_tx_bytes": 0.0,
        },
    )


def nan_filled(metrics: Mapping[int, float], n: int) -> list[float]:
    """Return metrics by number, NaN where there is none."""
    return [metrics.get(number, math.nan) for number in range(n)]
