"""The simulated GPU at window level: the closed form plus noise and settling, no samples.

Benchmarks and training use it: a window costs microseconds, whatever its length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from gpoeo_env.config import validated
from gpoeo_env.device.base import DeviceInfo
from gpoeo_env.device.virtual import MAX_NOISE, OWN_SIGNALS, ActionTable, WindowDevice
from gpoeo_env.errors import UsageError, repeated
from gpoeo_env.signals import Signal, signal_named
from gpoeo_env.sim.catalogue import Gpu, gpu_names, load_gpu
from gpoeo_env.sim.closed_form import COUNTER_NAMES, OperatingPoints, operating_points
from gpoeo_env.sim.workloads import Workload, demo_workloads

__all__ = [
    "COUNTERS",
    "POWER_CAP",
    "AnalyticDevice",
    "SimulationSettings",
    "actions_of",
    "build",
    "named_gpu",
    "rows_by_action",
    "simulated_info",
    "workloads_by_name",
]

COUNTERS: tuple[Signal, ...] = tuple(signal_named(name) for name in COUNTER_NAMES)
"""The counters of the simulated GPU."""
POWER_CAP = "power cap"
"""Throttle reason where the power limit lowered the SM clock."""


class AnalyticDevice(WindowDevice):
    """A simulated GPU that answers from the closed form; action 0 is its top pair under the power limit."""

    def __init__(
        self, gpu: Gpu, workloads: Sequence[Workload], *, noise: float = 0.01, settle_s: float | None = None
    ) -> None:
        """Take a GPU and what may run on it.

        Args:
            gpu: from the catalogue.
            workloads: one or more, each with its own name.
            noise: relative standard error of time and of power in every window.
            settle_s: seconds that a clock change takes; None = the GPU's own.

        Raises:
            UsageError: there is no workload, or a name appears twice.
            ConfigError: noise or settling time is out of its range.
        """
        self.gpu = gpu
        self._by_name = workloads_by_name(workloads)
        super().__init__(
            tuple(self._by_name),
            lambda name: actions_of(gpu, operating_points(gpu, self._by_name[name])),
            (*OWN_SIGNALS, *COUNTERS),
            noise=noise,
            settle_s=gpu.settle_s if settle_s is None else settle_s,
        )

    @property
    def info(self) -> DeviceInfo:
        """What stays the same while the device is open."""
        return simulated_info(self.gpu, tuple(self._by_name), "closed form, one answer a window")


class SimulationSettings(BaseModel, extra="forbid", frozen=True):
    """Settings of a simulated device in a spec.

    Attributes:
        noise: relative standard error of time and of power in every window.
        settle_s: seconds that a clock change takes; left out = the GPU's own.
    """

    noise: Annotated[float, Field(ge=0, le=MAX_NOISE)] = 0.01
    settle_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


def build(argument: str | None, config: Mapping[str, Any]) -> AnalyticDevice:
    """Open ``sim:GPU[,noise=...,settle_s=...]`` with the demonstration workloads (entry point ``sim``).

    Args:
        argument: name of a GPU of the catalogue.
        config: see `SimulationSettings`. `Any`: it comes from a spec and is checked here.

    Raises:
        UsageError: no GPU is named.
        UnknownNameError: the catalogue has no such GPU.
        ConfigError: a setting is unknown or out of its range.
    """
    gpu = named_gpu(argument, "sim")
    settings = validated(SimulationSettings, config, f"device sim:{gpu.name}")
    return AnalyticDevice(gpu, demo_workloads(), noise=settings.noise, settle_s=settings.settle_s)


def named_gpu(argument: str | None, kind: str) -> Gpu:
    """Return the GPU that a spec of some kind names.

    Raises:
        UsageError: it names none.
        UnknownNameError: the catalogue has no such GPU.
    """
    if argument is None:
        names = gpu_names()
        raise UsageError(f"device {kind} needs a GPU, for example {kind}:{names[0]}; there are: {', '.join(names)}")
    return load_gpu(argument)


def workloads_by_name(workloads: Sequence[Workload]) -> dict[str, Workload]:
    """Return the workloads by name, in their order.

    Raises:
        UsageError: there is none, or a name appears twice.
    """
    if not workloads:
        raise UsageError("a simulated device needs at least one workload; none was given")
    names = [workload.name for workload in workloads]
    twice = repeated(names)
    if twice:
        raise UsageError(f"workloads listed twice: {', '.join(twice)}; give each its own name")
    return dict(zip(names, workloads, strict=True))


def simulated_info(gpu: Gpu, workloads: tuple[str, ...], level: str) -> DeviceInfo:
    """Describe a simulated device; ``level`` says how it answers."""
    return DeviceInfo(
        kind="simulated",
        gpu_name=gpu.full_name,
        workloads=workloads,
        default_pair=gpu.default_pair,
        power_limit_w=gpu.power_limit_w,
        provenance=f"simulated {gpu.name}: {level}; no GPU was measured",
        is_deterministic=True,
    )


def rows_by_action(gpu: Gpu) -> NDArray[np.intp]:
    """Return the row of the operating points for each action; released clocks run at the default pair."""
    default_row = gpu.clocks.action_of(gpu.default_pair) - 1
    return np.concatenate(([default_row], np.arange(len(gpu.clocks)))).astype(np.intp)


def actions_of(gpu: Gpu, points: OperatingPoints) -> ActionTable:
    """Arrange the operating points of a workload by action."""
    rows = rows_by_action(gpu)
    return ActionTable(
        clocks=gpu.clocks,
        seconds=points.seconds[rows],
        watts=points.watts[rows],
        in_force=tuple(points.pair_at(row) for row in rows),
        throttle_reasons=tuple((POWER_CAP,) if points.is_capped[row] else () for row in rows),
        counters=points.counters[rows],
    )
