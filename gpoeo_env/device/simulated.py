"""The simulated GPU at sample level: rows with sensors between the device and the truth.

The means are those of the window-level device, with the same noise of time and power in every window. On top of
them power runs up and down within an iteration, sensors are noisy and quantised, and work is counted in whole
iterations, as a training loop counts it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from gpoeo_env.config import validated
from gpoeo_env.device.analytic import (
    COUNTERS,
    SimulationSettings,
    actions_of,
    named_gpu,
    rows_by_action,
    simulated_info,
    workloads_by_name,
)
from gpoeo_env.device.base import DeviceInfo
from gpoeo_env.device.virtual import OWN_SIGNALS, Run, VirtualDevice
from gpoeo_env.errors import ConfigError
from gpoeo_env.records import Settle, Spread, Window
from gpoeo_env.signals import MEM_CLOCK, SM_CLOCK
from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.closed_form import operating_points
from gpoeo_env.sim.profile import PowerProfile
from gpoeo_env.sim.workloads import Workload, demo_workloads

__all__ = ["SampleSettings", "SimulatedDevice", "build"]

Array = NDArray[np.float64]

ENERGY_STEP_J = 1e-3
"""NVML counts energy in millijoules."""
POWER_STEP_W = 0.1
COUNTING_SD = 1.0 / math.sqrt(6.0)
"""Standard deviation, in iterations, of a difference of two counts cut to whole ones."""
_IS_RATIO = np.array([counter.unit == "1" for counter in COUNTERS])


class SimulatedDevice(VirtualDevice):
    """A simulated GPU that is sampled; action 0 is its top pair under the power limit."""

    def __init__(
        self,
        gpu: Gpu,
        workloads: Sequence[Workload],
        *,
        noise: float = 0.01,
        sample_s: float = 0.1,
        settle_s: float | None = None,
    ) -> None:
        """Take a GPU and what may run on it.

        Args:
            gpu: from the catalogue.
            workloads: one or more, each with its own name.
            noise: relative standard error of time and of power in every window, and of every sensor in every row.
            sample_s: seconds between rows; the power sensor averages over as long.
            settle_s: seconds that a clock change takes; None = the GPU's own.

        Raises:
            UsageError: there is no workload, or a name appears twice.
            ConfigError: noise, row spacing or settling time is out of its range.
        """
        if not (math.isfinite(sample_s) and sample_s > 0):
            raise ConfigError(f"sample_s is a positive number of seconds; got {sample_s:g}")
        self.gpu = gpu
        self._sample_s = sample_s
        self._by_name = workloads_by_name(workloads)
        self._rows = rows_by_action(gpu)
        self._points = {name: operating_points(gpu, workload) for name, workload in self._by_name.items()}
        super().__init__(
            tuple(self._by_name),
            lambda name: actions_of(gpu, self._points[name]),
            (*OWN_SIGNALS, SM_CLOCK, MEM_CLOCK, *COUNTERS),
            noise=noise,
            settle_s=gpu.settle_s if settle_s is None else settle_s,
        )

    @property
    def info(self) -> DeviceInfo:
        """What stays the same while the device is open."""
        return simulated_info(self.gpu, tuple(self._by_name), f"a row every {self._sample_s:g} s")

    def _window(self, run: Run, seconds: float, settle: Settle) -> Window:
        offsets_s = np.linspace(0.0, seconds, max(2, round(seconds / self._sample_s) + 1))
        time_error, power_error = 1.0 + self._noise * run.rng.standard_normal(2)
        work_rate = run.work_rate / time_error
        work = run.work + work_rate * offsets_s
        profile = self._profile(run.action)
        joules_of_integral = power_error / work_rate
        energy_j = run.energy_j + joules_of_integral * (profile.integral(work) - profile.integral(work[:1]))
        averaged = work_rate * self._sample_s
        power_w = power_error * (profile.integral(work) - profile.integral(work - averaged)) / averaged
        in_force = run.table.in_force[run.action]
        t_s = run.t_s + offsets_s
        values = np.column_stack(
            (
                np.floor(energy_j / ENERGY_STEP_J) * ENERGY_STEP_J,
                np.floor(work),
                np.round(power_w * self._sensor_errors(run, power_w.shape) / POWER_STEP_W) * POWER_STEP_W,
                np.full_like(t_s, in_force.sm_mhz),
                np.full_like(t_s, in_force.mem_mhz),
                self._counter_rows(run, len(t_s)),
            )
        )
        run.advance(seconds, float(energy_j[-1] - energy_j[0]), float(work[-1] - work[0]))
        return Window(
            t_s=t_s,
            values=values,
            signals=self.signals,
            requested=run.requested,
            observed=in_force,
            settle=settle,
            spread=Spread(math.hypot(self._noise, COUNTING_SD / (work_rate * seconds)), self._noise),
            throttle_reasons=run.table.throttle_reasons[run.action],
        )

    def _profile(self, action: int) -> PowerProfile:
        points, row = self._points[self._workload], self._rows[action]
        return PowerProfile.of(
            watts=float(points.watts[row]),
            standing_w=float(points.standing_w[row]),
            busy_frac=float(points.busy_frac[row]),
            swing=self._by_name[self._workload].power_swing,
        )

    def _counter_rows(self, run: Run, n: int) -> Array:
        """Return noisy counters; an interval's first row has no row before it and is missing."""
        means = run.table.counters[run.action]
        rows: Array = means * self._sensor_errors(run, (n, len(means)))
        rows[:, _IS_RATIO] = np.minimum(rows[:, _IS_RATIO], 1.0)
        rows[0] = np.nan
        return rows

    def _sensor_errors(self, run: Run, shape: tuple[int, ...]) -> Array:
        errors: Array = 1.0 + self._noise * run.rng.standard_normal(shape)
        return errors


class SampleSettings(SimulationSettings, extra="forbid", frozen=True):
    """Settings of a sampled simulated device in a spec.

    Attributes:
        sample_s: seconds between rows.
    """

    sample_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.1


def build(argument: str | None, config: Mapping[str, Any]) -> SimulatedDevice:
    """Open ``sim-samples:GPU[,noise=...,sample_s=...,settle_s=...]`` (entry point ``sim-samples``).

    Args:
        argument: name of a GPU of the catalogue.
        config: see `SampleSettings`. `Any`: it comes from a spec and is checked here.

    Raises:
        UsageError: no GPU is named.
        UnknownNameError: the catalogue has no such GPU.
        ConfigError: a setting is unknown or out of its range.
    """
    gpu = named_gpu(argument, "sim-samples")
    settings = validated(SampleSettings, config, f"device sim-samples:{gpu.name}")
    return SimulatedDevice(
        gpu, demo_workloads(), noise=settings.noise, sample_s=settings.sample_s, settle_s=settings.settle_s
    )
