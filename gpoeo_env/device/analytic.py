"""The simulated GPU at window level: the closed form plus noise and settling, no samples.

Benchmarks and training use it: a window costs microseconds, whatever its length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpoeo_env.clocks import ClockPair
from gpoeo_env.config import validated
from gpoeo_env.device.base import DeviceInfo
from gpoeo_env.device.simulation import CounterChoice, Simulation, SimulationSettings
from gpoeo_env.device.virtual import OWN_SIGNALS, ActionTable, WindowDevice
from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.workloads import Workload
from gpoeo_env.trace.sweep import Sweep

__all__ = ["AnalyticDevice", "build"]


class AnalyticDevice(WindowDevice):
    """A simulated GPU that answers from the closed form; action 0 is the driver's default under its limits."""

    def __init__(
        self,
        gpu: Gpu,
        workloads: Sequence[Workload],
        *,
        noise: float = 0.01,
        settle_s: float | None = None,
        counters: CounterChoice = CounterChoice.GPM,
    ) -> None:
        """Take a GPU and what may run on it.

        Args:
            gpu: from the catalogue.
            workloads: one or more, each with its own name.
            noise: relative standard error of time and of power in every window.
            settle_s: seconds that a clock change takes; None = the GPU's own.
            counters: which counters it reports.

        Raises:
            UsageError: there is no workload, or a name appears twice.
            ConfigError: noise or settling time is out of its range.
        """
        self.simulation = Simulation.of(gpu, workloads, counters)
        super().__init__(
            tuple(self.simulation.workloads),
            self._tables_of_stages,
            (*OWN_SIGNALS, *self.simulation.signals),
            noise=noise,
            settle_s=settle_s,
        )

    @property
    def info(self) -> DeviceInfo:
        """What stays the same while the device is open."""
        return self.simulation.info("closed form, one answer a window")

    def lessons(self, workload: str | None) -> Sequence[Sweep]:  # noqa: ARG002 - the same for every workload
        """Return sweeps of simulated training workloads, none of which the device offers to run."""
        return self.simulation.lessons()

    def _tables_of_stages(self, name: str) -> tuple[ActionTable, ...]:
        return tuple(stage.table(self.simulation.gpu) for stage in self.simulation.stages(name))

    def _switching_s(self, old: ClockPair | None, new: ClockPair | None) -> float:
        return self.simulation.gpu.switching_s(old, new) if self._settle_s is None else self._settle_s


def build(argument: str | None, config: Mapping[str, Any]) -> AnalyticDevice:
    """Open ``sim:GPU[,suite=...,counters=...,noise=...,settle_s=...]`` (entry point ``sim``).

    Args:
        argument: name of a GPU of the catalogue.
        config: see `SimulationSettings`. `Any`: it comes from a spec and is checked here.

    Raises:
        UsageError: no GPU is named.
        UnknownNameError: the catalogue has no such GPU, or there is no such suite.
        ConfigError: a setting is unknown or out of its range.
    """
    settings = validated(SimulationSettings, config, f"device sim:{argument}")
    simulation = Simulation.named(argument, "sim", settings)
    return AnalyticDevice(
        simulation.gpu,
        tuple(simulation.workloads.values()),
        noise=settings.noise,
        settle_s=settings.settle_s,
        counters=settings.counters,
    )
