"""A simulated training workload: iterations of phases, and how they vary over a run.

Phases are stated at the top clocks of the GPU that the workload runs on; `placed` moves one to another GPU.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from gpoeo_env.errors import UsageError
from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.phases import Phase

__all__ = ["Shift", "Workload", "placed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One training loop; a unit of its work is one iteration.

    Attributes:
        name: unique within a device.
        family: workloads of one family resemble each other; training and test sets never share one.
        phases: in the order in which they run; at least one uses the GPU.
        jitter: relative standard deviation of an iteration's length that has no cause in its work.
        length_sd: relative standard deviation of an iteration's GPU work (variable-length batches).
        drift_per_hour: relative growth of an iteration's work in an hour.
        shift: what the workload becomes in mid-run; None = it stays as it is.
    """

    name: str
    family: str
    phases: tuple[Phase, ...]
    jitter: float = 0.0
    length_sd: float = 0.0
    drift_per_hour: float = 0.0
    shift: Shift | None = None

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            UsageError: one is out of its range, or no phase uses the GPU in every iteration.
        """
        if not any(phase.uses_gpu and phase.every == 1 for phase in self.phases):
            raise UsageError(f"workload {self.name!r} needs a phase that uses the GPU in every iteration")
        for name in ("jitter", "length_sd"):
            value = getattr(self, name)
            if not 0.0 <= value < 1.0:
                raise UsageError(f"workload {self.name!r}: {name} is a fraction, 0 <= {name} < 1; got {value:g}")
        if not (math.isfinite(self.drift_per_hour) and abs(self.drift_per_hour) < 1.0):
            raise UsageError(f"workload {self.name!r}: drift_per_hour is between -1 and 1; got {self.drift_per_hour:g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """A change of the work in mid-run: another data set, another stage of a schedule, another model.

    Attributes:
        after_work: iterations until then, above 0.
        becomes: what runs from then on; its name is not used.
    """

    after_work: float
    becomes: Workload

    def __post_init__(self) -> None:
        """Check the moment.

        Raises:
            UsageError: it is not in the run.
        """
        if not (math.isfinite(self.after_work) and self.after_work > 0):
            raise UsageError(f"a shift comes after some work, above 0; got {self.after_work:g}")


def placed(workload: Workload, home: Gpu, gpu: Gpu) -> Workload:
    """Return a workload of one GPU as it would look on another.

    Whoever moves a job to a larger card lets the batch grow with it: the time that the GPU takes stays, and its balance
    shifts by the ratios of peak arithmetic and bandwidth. Host time stays.
    """
    if gpu.name == home.name:
        return workload
    shift = workload.shift
    return replace(
        workload,
        phases=tuple(_placed_phase(phase, home, gpu) for phase in workload.phases),
        shift=None if shift is None else replace(shift, becomes=placed(shift.becomes, home, gpu)),
    )


def _placed_phase(phase: Phase, home: Gpu, gpu: Gpu) -> Phase:
    if not phase.uses_gpu:
        return phase
    there, here = home.throughput, gpu.throughput
    tensor_share = phase.mix.tensor / (phase.mix.tensor + phase.mix.fp32 + phase.mix.fp16 + 1e-9)
    arithmetic = (there.tensor_tflops / here.tensor_tflops) ** tensor_share * (
        there.fp32_tflops / here.fp32_tflops
    ) ** (1.0 - tensor_share)
    compute_s = phase.compute_s * arithmetic
    onchip_s = phase.onchip_s * there.fp32_tflops / here.fp32_tflops
    memory_s = phase.memory_s * there.dram_gb_s / here.dram_gb_s
    growth = (phase.compute_s + phase.onchip_s + phase.memory_s) / (compute_s + onchip_s + memory_s)
    return replace(phase, compute_s=compute_s * growth, onchip_s=onchip_s * growth, memory_s=memory_s * growth)
