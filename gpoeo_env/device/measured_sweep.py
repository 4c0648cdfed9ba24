"""Sweeps measured on a device, window by window, with the meters that measure every policy.

    sweeps = measured_sweeps(RecordingsDevice(recordings), ["lbm", "nw"], window_s=60.0)

What is recorded as samples thereby becomes what a model can learn from: seconds and joules for the work that the
reference pair does in one second, and the means of the counters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from gpoeo_env.clocks import ClockPair
from gpoeo_env.device.base import Device
from gpoeo_env.errors import TraceError, UsageError
from gpoeo_env.progress.choosing import ChoosingMeter
from gpoeo_env.progress.counter_work import CounterWorkMeter
from gpoeo_env.progress.meter import ProgressMeter, WorkCounterMeter
from gpoeo_env.progress.summary import summarise
from gpoeo_env.records import Measurement
from gpoeo_env.signals import Behaviour, Signal
from gpoeo_env.trace.sweep import Provenance, Sweep, SweepSet
from gpoeo_env.version import __version__

__all__ = ["measured_sweeps"]


def measured_sweeps(device: Device, workloads: Sequence[str], *, window_s: float, seed: int = 0) -> SweepSet:
    """Measure workloads at every pair of a device that declares its default pair; one window each.

    Args:
        device: is left running the last workload; the caller closes it.
        workloads: names of the device's workloads.
        window_s: length of a window in seconds. It should hold many repetitions of what the program repeats: what a
            window sees too much of one phase, the sweep has wrong.
        seed: of every workload's run.

    Raises:
        UsageError: no workload is named, or the device does not say which pair its default is.
        TraceError: progress or energy cannot be measured at a pair.
    """
    reference = device.info.default_pair
    if not workloads or reference is None:
        raise UsageError("a sweep needs at least one workload, and a device that declares the pair of its default")
    return SweepSet(
        gpu_name=device.info.gpu_name,
        sweeps=tuple(_sweep(device, workload, reference, seed, window_s) for workload in workloads),
        provenance=Provenance(
            source=f"measured in windows of {window_s:g} s on {device.info.provenance}",
            created_utc=datetime.now(UTC).isoformat(timespec="seconds"),
            tool=f"gpoeo-env {__version__}",
            is_simulated=device.info.is_simulated,
            is_relative=True,
        ),
        counter_units=tuple(signal.unit for signal in _counters(device)),
    )


def _sweep(device: Device, workload: str, reference: ClockPair, seed: int, window_s: float) -> Sweep:
    device.begin(seed, workload)
    meter = ChoosingMeter(WorkCounterMeter(), CounterWorkMeter())
    _measured(device, meter, None, window_s)  # opens the unit of work in which the others are counted
    measured = [_measured(device, meter, pair, window_s) for pair in device.clocks]
    at_reference = measured[device.clocks.action_of(reference) - 1]
    names = tuple(signal.name for signal in _counters(device))
    return Sweep(
        workload=workload,
        clocks=device.clocks,
        reference=reference,
        seconds=np.array([one.seconds_per_work for one in measured]) / at_reference.seconds_per_work,
        joules=np.array([one.joules_per_work for one in measured]) / at_reference.seconds_per_work,
        counter_names=names,
        counters=np.array([[one.features.get(name) for name in names] for one in measured]),
    )


def _measured(device: Device, meter: ProgressMeter, pair: ClockPair | None, window_s: float) -> Measurement:
    device.set_clocks(pair)
    measurement = summarise(device.observe(window_s), meter)
    if not math.isfinite(measurement.joules_per_work):
        why = measurement.progress.reason or "the energy is not known"
        raise TraceError(
            f"a workload cannot be measured at {pair or 'the default'}: {why}; leave it out, or take longer windows"
        )
    return measurement


def _counters(device: Device) -> tuple[Signal, ...]:
    return tuple(signal for signal in device.signals if signal.behaviour is Behaviour.INTERVAL)
