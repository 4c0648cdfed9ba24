"""The simulated GPU at sample level: rows as a poll of NVML and GPM would have seen them.

The means are those of the window-level device, with the same noise of time and power in every window. On top of them
iterations vary, power runs up and down through their phases, the chip warms and cools, sensors refresh at their own
rate, average and round, and work is counted in whole iterations, as a training loop counts it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from gpoeo_env.clocks import RELEASE, ClockPair
from gpoeo_env.config import validated
from gpoeo_env.device.base import DeviceInfo
from gpoeo_env.device.simulation import CounterChoice, Simulation, SimulationSettings, Stage
from gpoeo_env.device.virtual import OWN_SIGNALS, ActionTable, Run, VirtualDevice
from gpoeo_env.errors import ConfigError
from gpoeo_env.records import Settle, Spread, Window
from gpoeo_env.signals import MEM_CLOCK, POWER_INSTANT, SM_CLOCK, TEMPERATURE, THROTTLE_REASONS
from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.physics.limits import reason_bits
from gpoeo_env.sim.physics.thermal import warming
from gpoeo_env.sim.sensors import EnergyCurve, counted, interval_means, moving_average, quantised, refreshes
from gpoeo_env.sim.timeline import Pace, Timeline, joined, timeline
from gpoeo_env.sim.workloads import Workload
from gpoeo_env.trace.sweep import Sweep

__all__ = ["SampleSettings", "SimulatedDevice", "build"]

Array = NDArray[np.float64]

ENERGY_STEP_J = 1e-3
"""NVML counts energy in millijoules."""
COUNTING_SD = 1.0 / math.sqrt(6.0)
"""Standard deviation, in iterations, of a difference of two counts cut to whole ones."""
_UTILISATIONS = ("gpu_util", "mem_util")


class SimulatedDevice(VirtualDevice):
    """A simulated GPU that is sampled; action 0 is the driver's default under its limits."""

    def __init__(
        self,
        gpu: Gpu,
        workloads: Sequence[Workload],
        *,
        noise: float = 0.01,
        sample_s: float = 0.1,
        settle_s: float | None = None,
        counters: CounterChoice = CounterChoice.GPM,
    ) -> None:
        """Take a GPU and what may run on it.

        Args:
            gpu: from the catalogue.
            workloads: one or more, each with its own name.
            noise: relative standard error of time and of power in every window, and of every sensor in every row.
            sample_s: seconds between rows.
            settle_s: seconds that a clock change takes; None = the GPU's own.
            counters: which counters it reports.

        Raises:
            UsageError: there is no workload, or a name appears twice.
            ConfigError: noise, row spacing or settling time is out of its range.
        """
        if not (math.isfinite(sample_s) and sample_s > 0):
            raise ConfigError(f"sample_s is a positive number of seconds; got {sample_s:g}")
        self.simulation = Simulation.of(gpu, workloads, counters)
        self._sample_s = sample_s
        self._stages: tuple[Stage, ...] = ()
        super().__init__(
            tuple(self.simulation.workloads),
            self._tables_of_stages,
            (*OWN_SIGNALS, POWER_INSTANT, SM_CLOCK, MEM_CLOCK, TEMPERATURE, THROTTLE_REASONS, *self.simulation.signals),
            noise=noise,
            settle_s=settle_s,
        )

    @property
    def info(self) -> DeviceInfo:
        """What stays the same while the device is open."""
        return self.simulation.info(f"a row every {self._sample_s:g} s")

    def lessons(self, workload: str | None) -> Sequence[Sweep]:  # noqa: ARG002 - the same for every workload
        """Return sweeps of simulated training workloads, none of which the device offers to run."""
        return self.simulation.lessons()

    def begin(self, seed: int | None, workload: str | None = None) -> None:
        """Rewind to time 0 at the driver's default, with the chip as warm as the workload has made it.

        Raises:
            UnknownNameError: the device has no such workload.
            UsageError: the seed is negative.
            DeviceError: the device is closed.
        """
        super().begin(seed, workload)
        run, sensors = self._running(), self.simulation.gpu.sensors
        self._variation_seed = int(run.rng.integers(2**31))
        self._temperature_c = float(self._stages[0].points.temperature_c[RELEASE])
        self._energy = EnergyCurve(2 * sensors.power_average_s, run.power_w)

    def _window(self, run: Run, seconds: float, settle: Settle) -> Window:
        stage, action, begun_s = self._stages[run.stage], run.action, run.t_s
        offsets_s = np.linspace(0.0, seconds, max(2, round(seconds / self._sample_s) + 1))
        line = self._timeline(run, seconds)
        temperature_c = self._warm(run, stage, line, offsets_s)
        work = line.work(offsets_s)
        requested, in_force = run.requested, run.table.in_force[action]
        reasons = run.table.throttle_reasons[action]
        states = (in_force.sm_mhz, in_force.mem_mhz, reason_bits(reasons))
        sm_mhz, mem_mhz, bits = (np.full_like(offsets_s, state) for state in states)
        t_s = begun_s + offsets_s
        values = np.column_stack(
            (
                self._energy_rows(t_s),
                np.floor(work),
                *self._power_rows(run, t_s),
                sm_mhz,
                mem_mhz,
                np.round(temperature_c),
                bits,
                self._counter_rows(run, line, offsets_s),
            )
        )
        run.advance(seconds, float(self._energy.at(t_s[-1:])[0]) - run.energy_j, float(work[-1]) - run.work)
        return Window(
            t_s=t_s,
            values=values,
            signals=self.signals,
            requested=requested,
            observed=in_force,
            settle=settle,
            spread=self._spread(stage.workload, float(work[-1] - work[0])),
            throttle_reasons=reasons,
        )

    def _timeline(self, run: Run, seconds: float) -> Timeline:
        """Lay out the window, from stage to stage where the work changes in it."""
        time_error, power_error = 1.0 + self._noise * run.rng.standard_normal(2)
        index, work, left_s = run.stage, run.work, seconds
        lines: list[Timeline] = []
        while True:
            stage = self._stages[index]
            growth = 1.0 + stage.workload.drift_per_hour * run.t_s / 3600.0
            pace = Pace(self._variation_seed, time_error * growth, power_error)
            line = timeline(stage.points, stage.workload, run.action, work=work, seconds=left_s, pace=pace)
            if line.work(np.array([left_s]))[0] < stage.until_work:
                return joined((*lines, line))
            line = line.until_work(stage.until_work)
            lines.append(line)
            index, work, left_s = index + 1, stage.until_work, left_s - line.seconds

    def _warm(self, run: Run, stage: Stage, line: Timeline, offsets_s: Array) -> Array:
        """Let the chip warm or cool for a window, which changes its leakage; return its temperature at the rows."""
        gpu, action = self.simulation.gpu, run.action
        steady_c = float(stage.points.temperature_c[action])
        inside = (line.edge_s > 0) & (line.edge_s < offsets_s[-1])
        edge_s = np.concatenate(([0.0], line.edge_s[inside], offsets_s[-1:]))
        _, kelvin_s = warming(gpu, self._temperature_c - steady_c, edge_s)
        joules = line.energy_j(edge_s) + float(stage.points.watts_per_k[action]) * kelvin_s
        self._energy.extend(run.t_s + edge_s, run.energy_j + joules)
        excess_k, _ = warming(gpu, self._temperature_c - steady_c, offsets_s)
        self._temperature_c = steady_c + float(excess_k[-1])
        return steady_c + excess_k

    def _energy_rows(self, t_s: Array) -> Array:
        at_s = refreshes(t_s, self.simulation.gpu.sensors.power_refresh_s)
        return counted(np.maximum(self._energy.at(at_s), 0.0), ENERGY_STEP_J)

    def _power_rows(self, run: Run, t_s: Array) -> tuple[Array, Array]:
        """Return the driver's plain power, a moving average, and the instantaneous one."""
        sensors = self.simulation.gpu.sensors
        at_s = refreshes(t_s, sensors.power_refresh_s)
        averaged_w, instant_w = (
            quantised(
                moving_average(self._energy.at, at_s, span_s) * self._sensor_errors(run, at_s.shape),
                sensors.power_step_w,
            )
            for span_s in (sensors.power_average_s, sensors.power_refresh_s)
        )
        return averaged_w, instant_w

    def _counter_rows(self, run: Run, line: Timeline, offsets_s: Array) -> Array:
        """Return counters, each on the rows that see a refresh; intervals that began before the window are missing."""
        sensors, names = self.simulation.gpu.sensors, self.simulation.counters
        is_slow = np.array([name in _UTILISATIONS for name in names])
        fast, slow = (
            interval_means(line.counter_seconds_at, offsets_s, period_s)
            for period_s in (sensors.counter_refresh_s, sensors.utilisation_refresh_s)
        )
        rows = np.where(is_slow, slow, fast) * self._sensor_errors(run, fast.shape)
        is_ratio = np.array([signal.unit != "B/s" for signal in self.simulation.signals])
        rows[:, is_ratio] = quantised(np.minimum(rows[:, is_ratio], 1.0), sensors.ratio_step)
        return rows

    def _spread(self, workload: Workload, iterations: float) -> Spread:
        """Return the standard errors of a window: the stated noise, counting whole iterations, and their variation."""
        counting = COUNTING_SD / iterations
        varying = math.hypot(workload.jitter, workload.length_sd) / math.sqrt(iterations)
        return Spread(math.hypot(self._noise, counting, varying), self._noise)

    def _sensor_errors(self, run: Run, shape: tuple[int, ...]) -> Array:
        errors: Array = 1.0 + self._noise * run.rng.standard_normal(shape)
        return errors

    def _tables_of_stages(self, name: str) -> tuple[ActionTable, ...]:
        self._stages = self.simulation.stages(name)
        return tuple(stage.table(self.simulation.gpu) for stage in self._stages)

    def _switching_s(self, old: ClockPair | None, new: ClockPair | None) -> float:
        return self.simulation.gpu.switching_s(old, new) if self._settle_s is None else self._settle_s


class SampleSettings(SimulationSettings, extra="forbid", frozen=True):
    """Settings of a sampled simulated device in a spec.

    Attributes:
        sample_s: seconds between rows.
    """

    sample_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.1


def build(argument: str | None, config: Mapping[str, Any]) -> SimulatedDevice:
    """Open ``sim-samples:GPU[,suite=...,counters=...,noise=...,sample_s=...,settle_s=...]`` (``sim-samples``).

    Args:
        argument: name of a GPU of the catalogue.
        config: see `SampleSettings`. `Any`: it comes from a spec and is checked here.

    Raises:
        UsageError: no GPU is named.
        UnknownNameError: the catalogue has no such GPU, or there is no such suite.
        ConfigError: a setting is unknown or out of its range.
    """
    settings = validated(SampleSettings, config, f"device sim-samples:{argument}")
    simulation = Simulation.named(argument, "sim-samples", settings)
    return SimulatedDevice(
        simulation.gpu,
        tuple(simulation.workloads.values()),
        noise=settings.noise,
        sample_s=settings.sample_s,
        settle_s=settings.settle_s,
        counters=settings.counters,
    )
