"""Replay of sweeps: the same work was measured at several pairs, so every decision is answered exactly.

    device = ReplayDevice(read_sweeps("v100.sweep.parquet"), noise=0.01)
    device.begin(seed=0, workload="resnet50")
    device.set_clocks(device.clocks.pairs[3])
    device.observe(10.0)                        # two edges, made from one row of the sweep, plus noise

Replay never invents: a pair without a recording raises, or is snapped on request and shows in the window as
requested against observed clocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, Field

from gpoeo_env.clocks import ClockPair
from gpoeo_env.config import validated
from gpoeo_env.device.base import DeviceInfo
from gpoeo_env.device.virtual import MAX_NOISE, OWN_SIGNALS, ActionTable, WindowDevice
from gpoeo_env.errors import NotRecordedError, UsageError
from gpoeo_env.signals import MEM_CLOCK, SM_CLOCK, Signal, signal_named
from gpoeo_env.trace.store import read_sweeps
from gpoeo_env.trace.sweep import Sweep, SweepSet

__all__ = ["ReplayDevice", "ReplaySettings", "build"]

_NOT_REPLAYED = {signal.name for signal in (*OWN_SIGNALS, SM_CLOCK, MEM_CLOCK)}
"""Counters of a sweep that the device reports itself, power with its noise."""


class ReplayDevice(WindowDevice):
    """Answers from the rows of a sweep; action 0 is the sweep's reference pair."""

    def __init__(self, sweeps: SweepSet, *, noise: float = 0.01, nearest: bool = False, settle_s: float = 0.0) -> None:
        """Take sweeps.

        Args:
            sweeps: one workload or more.
            noise: relative standard error of time and of power in every window.
            nearest: lock the nearest recorded pair instead of refusing one without a recording.
            settle_s: seconds between a clock change and the next window.

        Raises:
            ConfigError: noise or settling time is out of its range.
        """
        self.sweeps = sweeps
        self._nearest = nearest
        names = sweeps.sweeps[0].counter_names
        self._columns = [index for index, name in enumerate(names) if name not in _NOT_REPLAYED]
        counters = tuple(_counter_signal(sweeps, index) for index in self._columns)
        super().__init__(sweeps.workloads, self._recorded, (*OWN_SIGNALS, *counters), noise=noise, settle_s=settle_s)

    @property
    def info(self) -> DeviceInfo:
        """What stays the same while the device is open; the default pair is that of the chosen workload."""
        provenance = self.sweeps.provenance
        return DeviceInfo(
            kind="replay",
            gpu_name=self.sweeps.gpu_name,
            workloads=self.sweeps.workloads,
            default_pair=self.sweeps.named(self._workload).reference,
            power_limit_w=float("nan"),
            provenance=f"{'simulated' if provenance.is_simulated else 'recorded'} sweeps: {provenance.source}",
            is_deterministic=True,
            is_simulated=provenance.is_simulated,
        )

    def lessons(self, workload: str | None) -> Sequence[Sweep]:
        """Return the sweeps of the other workloads."""
        return self.sweeps.others(workload or self.sweeps.workloads[0])

    def _recorded(self, workload: str) -> tuple[ActionTable]:
        return (_actions_of(self.sweeps.named(workload), self._columns),)

    def _action_of(self, pair: ClockPair | None) -> int:
        if pair is None or pair in self.clocks:
            return self.clocks.action_of(pair)
        near = self.clocks.nearest(pair)
        if self._nearest:
            return self.clocks.action_of(near)
        raise NotRecordedError(
            f"no run of {self._workload!r} recorded at {pair} MHz; recorded: {len(self.clocks)} pairs from "
            f"{self.clocks.pairs[0]} to {self.clocks.top}, the nearest is {near}; "
            "ask for a recorded pair, or open the device with nearest=true"
        )


class ReplaySettings(BaseModel, extra="forbid", frozen=True):
    """Settings of a replay device in a spec.

    Attributes:
        noise: relative standard error of time and of power in every window.
        nearest: lock the nearest recorded pair instead of refusing one without a recording.
        settle_s: seconds between a clock change and the next window; recordings do not tell.
    """

    noise: Annotated[float, Field(ge=0, le=MAX_NOISE)] = 0.01
    nearest: bool = False
    settle_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0


def build(argument: str | None, config: Mapping[str, Any]) -> ReplayDevice:
    """Open ``replay:FILE[,noise=...,nearest=...,settle_s=...]`` (entry point ``replay``).

    Args:
        argument: path of a sweep file.
        config: see `ReplaySettings`. `Any`: it comes from a spec and is checked here.

    Raises:
        UsageError: no file is named.
        TraceError: the file cannot be used.
        ConfigError: a setting is unknown or out of its range.
    """
    if argument is None:
        raise UsageError("device replay needs a sweep file, for example replay:v100.sweep.parquet,noise=0.01")
    settings = validated(ReplaySettings, config, f"device replay:{argument}")
    return ReplayDevice(
        read_sweeps(Path(argument)), noise=settings.noise, nearest=settings.nearest, settle_s=settings.settle_s
    )


def _actions_of(sweep: Sweep, columns: list[int]) -> ActionTable:
    rows = np.concatenate(([sweep.reference_row], np.arange(len(sweep.clocks))))
    return ActionTable(
        clocks=sweep.clocks,
        seconds=sweep.seconds[rows],
        watts=sweep.watts[rows],
        in_force=(sweep.reference, *sweep.clocks.pairs),
        throttle_reasons=((),) * len(rows),
        counters=sweep.counters[rows][:, columns],
    )


def _counter_signal(sweeps: SweepSet, index: int) -> Signal:
    signal = signal_named(sweeps.sweeps[0].counter_names[index])
    return replace(signal, unit=sweeps.counter_units[index]) if sweeps.counter_units else signal
