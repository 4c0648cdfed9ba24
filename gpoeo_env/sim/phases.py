"""A phase: one part of a training iteration, by what it asks of the GPU at the top clocks and without any limit."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gpoeo_env.errors import UsageError

__all__ = ["Mix", "Phase"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """What the busy parts of a phase do; every figure is a fraction, but for ``toggling``.

    Attributes:
        tensor: tensor pipe utilisation while the phase computes; likewise the other pipes.
        fp32: FP32 pipe.
        fp16: FP16 pipe.
        fp64: FP64 pipe.
        integer: integer pipe.
        onchip: L1, shared memory and L2 traffic relative to its peak while on-chip memory is busy.
        bandwidth: DRAM bandwidth relative to its peak while DRAM moves bytes.
        occupancy: resident warps relative to the maximum while a kernel runs.
        fill: share of the SMs that hold a kernel while one runs.
        l1_hit: share of the L1 accesses that hit.
        toggling: switching power relative to what the utilisations say; data with few changing bits draw less, and no
            counter shows it.
    """

    tensor: float = 0.0
    fp32: float = 0.2
    fp16: float = 0.0
    fp64: float = 0.0
    integer: float = 0.15
    onchip: float = 0.5
    bandwidth: float = 0.9
    occupancy: float = 0.4
    fill: float = 0.95
    l1_hit: float = 0.4
    toggling: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            UsageError: one is out of its range.
        """
        for name in self.__slots__:
            value, most = getattr(self, name), math.inf if name == "toggling" else 1.0
            if not (math.isfinite(value) and 0.0 <= value <= most):
                raise UsageError(f"mix: {name} is a fraction, 0 to 1 (toggling: 0 or more); got {value:g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One part of an iteration: forward pass, backward pass, optimiser, input stall, evaluation, all-reduce wait.

    Attributes:
        name: what it is.
        compute_s: busy time of the arithmetic pipes; inverse to the SM clock.
        onchip_s: busy time of L1, shared memory, L2 and crossbar; follows the SM clock in part.
        memory_s: busy time of DRAM; inverse to the memory clock.
        host_s: time that no clock of the GPU changes: data, launches, synchronisation, other ranks.
        overlap: how well the three GPU parts overlap, 0 (one after the other) to below 1 (the longest one counts).
        host_overlap: likewise, GPU and host.
        every: the phase is part of every n-th iteration (an evaluation); 1 = of each.
        pcie_bytes: bytes received from the host.
        mix: what the busy parts do.
    """

    name: str
    compute_s: float = 0.0
    onchip_s: float = 0.0
    memory_s: float = 0.0
    host_s: float = 0.0
    overlap: float = 0.6
    host_overlap: float = 0.5
    every: int = 1
    pcie_bytes: float = 0.0
    mix: Mix = Mix()

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            UsageError: one is out of its range, or the phase takes no time.
        """
        for name in ("compute_s", "onchip_s", "memory_s", "host_s", "pcie_bytes"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise UsageError(f"phase {self.name!r}: {name} is 0 or more; got {value:g}")
        for name in ("overlap", "host_overlap"):
            value = getattr(self, name)
            if not 0.0 <= value < 1.0:
                raise UsageError(f"phase {self.name!r}: {name} is a fraction, 0 <= {name} < 1; got {value:g}")
        if self.every < 1:
            raise UsageError(f"phase {self.name!r}: every is a whole number, 1 or more; got {self.every}")
        if self.compute_s + self.onchip_s + self.memory_s + self.host_s <= 0:
            raise UsageError(f"phase {self.name!r} takes no time; give it compute_s, onchip_s, memory_s or host_s")

    @property
    def uses_gpu(self) -> bool:
        """Whether any kernel runs in it."""
        return self.compute_s + self.onchip_s + self.memory_s > 0
