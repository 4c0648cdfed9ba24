"""What both simulated devices are made of: a GPU of the catalogue, a suite of workloads, and the counters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Annotated, Self

from pydantic import BaseModel, Field

from gpoeo_env.device.base import DeviceInfo
from gpoeo_env.device.virtual import MAX_NOISE, ActionTable
from gpoeo_env.errors import UsageError, repeated
from gpoeo_env.signals import Signal, signal_named
from gpoeo_env.sim.catalogue import Gpu, gpu_names, load_gpu
from gpoeo_env.sim.closed_form import OperatingPoints, operating_points, simulated_sweeps
from gpoeo_env.sim.counters import CUPTI, GPM
from gpoeo_env.sim.suites import HOME, TRAIN, suite_named, training_suite
from gpoeo_env.sim.workloads import Workload
from gpoeo_env.trace.sweep import Sweep

__all__ = ["CounterChoice", "Simulation", "SimulationSettings", "Stage"]


class CounterChoice(Enum):
    """Which counters a simulated GPU reports."""

    GPM = "gpm"
    """As NVML's GPM and DCGM name them."""
    CUPTI = "cupti"
    """GPOEO's features, derived from CUPTI's counters."""
    BOTH = "both"

    @property
    def names(self) -> tuple[str, ...]:
        """The counters."""
        return {CounterChoice.GPM: GPM, CounterChoice.CUPTI: CUPTI, CounterChoice.BOTH: GPM + CUPTI}[self]


class SimulationSettings(BaseModel, extra="forbid", frozen=True):
    """Settings of a simulated device in a spec.

    Attributes:
        suite: which workloads it runs.
        counters: which counters it reports: gpm, cupti or both.
        noise: relative standard error of time and of power in every window.
        settle_s: seconds that a clock change takes; without it the GPU's own.
    """

    suite: str = "demo"
    counters: CounterChoice = CounterChoice.GPM
    noise: Annotated[float, Field(ge=0, le=MAX_NOISE)] = 0.01
    settle_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """A stretch of a run in which the work stays the same.

    Attributes:
        workload: what runs.
        points: what it does under every action.
        until_work: iterations since the beginning of the run at which the next stage follows; infinite for the last.
    """

    workload: Workload
    points: OperatingPoints
    until_work: float

    def table(self, gpu: Gpu) -> ActionTable:
        """Arrange it by action."""
        points = self.points
        return ActionTable(
            clocks=gpu.clocks,
            seconds=points.seconds,
            watts=points.watts,
            in_force=points.in_force,
            throttle_reasons=points.throttle_reasons,
            counters=points.mean_counters,
            until_work=self.until_work,
            drift_per_hour=self.workload.drift_per_hour,
        )


@dataclass(frozen=True)
class Simulation:
    """A simulated GPU and what may run on it.

    Attributes:
        gpu: from the catalogue.
        workloads: by name, at least one.
        counters: names of the counters that it reports.
    """

    gpu: Gpu
    workloads: Mapping[str, Workload]
    counters: tuple[str, ...] = GPM

    @classmethod
    def of(cls, gpu: Gpu, workloads: Sequence[Workload], counters: CounterChoice) -> Self:
        """Check and arrange the workloads.

        Raises:
            UsageError: there is none, or a name appears twice.
        """
        if not workloads:
            raise UsageError("a simulated device needs at least one workload; none was given")
        twice = repeated([workload.name for workload in workloads])
        if twice:
            raise UsageError(f"workloads listed twice: {', '.join(twice)}; give each its own name")
        return cls(gpu, {workload.name: workload for workload in workloads}, counters.names)

    @classmethod
    def named(cls, argument: str | None, kind: str, settings: SimulationSettings) -> Self:
        """Build what a device spec names.

        Raises:
            UsageError: it names no GPU.
            UnknownNameError: there is no such GPU or suite.
        """
        if argument is None:
            names = gpu_names()
            raise UsageError(f"device {kind} needs a GPU, for example {kind}:{HOME}; there are: {', '.join(names)}")
        gpu = load_gpu(argument)
        return cls.of(gpu, suite_named(settings.suite, gpu), settings.counters)

    @cached_property
    def signals(self) -> tuple[Signal, ...]:
        """The counters as signals."""
        return tuple(signal_named(name) for name in self.counters)

    def stages(self, name: str) -> tuple[Stage, ...]:
        """Return what a workload is, one stage after the other."""
        stages, workload, begun = [], self.workloads[name], 0.0
        while workload.shift is not None:
            begun += workload.shift.after_work
            stages.append(self._stage(workload, begun))
            workload = workload.shift.becomes
        return (*stages, self._stage(workload, float("inf")))

    def lessons(self) -> Sequence[Sweep]:
        """Return sweeps of the training suite, whose families no other suite has."""
        source = f"suite {TRAIN}"
        return simulated_sweeps(self.gpu, training_suite(self.gpu), source, self.counters).sweeps

    def info(self, level: str) -> DeviceInfo:
        """Describe the device; ``level`` says how it answers."""
        return DeviceInfo(
            kind="simulated",
            gpu_name=self.gpu.full_name,
            workloads=tuple(self.workloads),
            default_pair=self.gpu.default_pair,
            power_limit_w=self.gpu.power_limit_w,
            provenance=f"simulated {self.gpu.name}: {level}; no GPU was measured",
            is_deterministic=True,
            is_simulated=True,
        )

    def _stage(self, workload: Workload, until_work: float) -> Stage:
        return Stage(workload, operating_points(self.gpu, workload, self.counters), until_work)
