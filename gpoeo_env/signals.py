"""What a device can report: names, units and how a value behaves in time.

How a signal is summarised over a window follows from its behaviour, never from its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = [
    "CANONICAL",
    "ENERGY",
    "MEM_CLOCK",
    "POWER",
    "POWER_AVERAGE",
    "POWER_INSTANT",
    "SM_CLOCK",
    "TEMPERATURE",
    "THROTTLE_REASONS",
    "WORK",
    "Behaviour",
    "Signal",
    "signal_named",
]


class Behaviour(Enum):
    """How a signal's values relate to time."""

    CONSTANT = "constant"
    """Never changes while the device is open."""
    GAUGE = "gauge"
    """The value at the instant of the row."""
    COUNTER = "counter"
    """Cumulative; only differences mean something."""
    INTERVAL = "interval"
    """Mean over the time since the previous row."""
    LABEL = "label"
    """A code without arithmetic, for example a bit mask of throttle reasons."""


@dataclass(frozen=True, slots=True)
class Signal:
    """One column of a window."""

    name: str
    unit: str
    behaviour: Behaviour


ENERGY = Signal("energy_j", "J", Behaviour.COUNTER)
"""Total board energy; NVML `nvmlDeviceGetTotalEnergyConsumption` on a live GPU."""
WORK = Signal("work", "unit", Behaviour.COUNTER)
"""Work done, in the device's or the program's own unit (iterations, samples, sweep units)."""
POWER = Signal("power_w", "W", Behaviour.GAUGE)
"""The driver's plain reading; on NVIDIA Ampere and later a moving average of about one second."""
POWER_INSTANT = Signal("power_instant_w", "W", Behaviour.GAUGE)
"""Without the driver's averaging: what shows an iteration that is shorter than that second."""
POWER_AVERAGE = Signal("power_average_w", "W", Behaviour.GAUGE)
"""Averaged by the driver, where it tells its average and its instantaneous reading apart."""
SM_CLOCK = Signal("sm_clock_mhz", "MHz", Behaviour.GAUGE)
MEM_CLOCK = Signal("mem_clock_mhz", "MHz", Behaviour.GAUGE)
TEMPERATURE = Signal("temperature_c", "degC", Behaviour.GAUGE)
THROTTLE_REASONS = Signal("throttle_reasons", "bits", Behaviour.LABEL)
"""The driver's reasons for clocks below the request, as NVML codes them."""

_RATIOS = (
    "sm_active",
    "sm_occupancy",
    "tensor_active",
    "dram_active",
    "fp64_active",
    "fp32_active",
    "fp16_active",
    "integer_active",
    "gpu_util",
    "mem_util",
)
CANONICAL: tuple[Signal, ...] = (
    ENERGY,
    WORK,
    POWER,
    POWER_INSTANT,
    POWER_AVERAGE,
    SM_CLOCK,
    MEM_CLOCK,
    TEMPERATURE,
    THROTTLE_REASONS,
    *(Signal(name, "1", Behaviour.INTERVAL) for name in _RATIOS),
    Signal("pcie_tx_bytes", "B/s", Behaviour.INTERVAL),
    Signal("pcie_rx_bytes", "B/s", Behaviour.INTERVAL),
)
"""The signals that every part of the project knows by name. Ratios are 0..1, as DCGM and GPM define them."""

_BY_NAME = {signal.name: signal for signal in CANONICAL}


def signal_named(name: str) -> Signal:
    """Return the canonical signal of that name, or an interval signal of unknown unit."""
    return _BY_NAME.get(name, Signal(name, "?", Behaviour.INTERVAL))
