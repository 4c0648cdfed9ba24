"""Readings that cost a microsecond or two: power, clocks, temperature, utilisation, reasons; and the energy counter.

Every reading is tried once when the GPU is opened, and what is not offered is left out, with one line that says so.
A reading that fails later, or that no sensor can mean, is missing in that row, and counted.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from gpoeo_env.device.nvml.library import ABSENT, Nvml
from gpoeo_env.signals import (
    ENERGY,
    MEM_CLOCK,
    POWER,
    POWER_AVERAGE,
    POWER_INSTANT,
    SM_CLOCK,
    TEMPERATURE,
    THROTTLE_REASONS,
    Signal,
    signal_named,
)

__all__ = ["Plausible", "Readings"]

_LOG = logging.getLogger(__name__)
MOST: Mapping[str, float] = {"W": 1e5, "degC": 150.0, "MHz": 20_000.0, "bits": 2.0**32, "1": 1.0, "J": 2.0**53 * 1e-3}
"""The highest value by unit that a reading can mean. Drivers answer "unknown" with numbers far above: 2^63 - 14 for a
power or a count, 2^32 - 1 for a utilisation, 82505 for a temperature, 2^47 for a ratio."""

Handle = Any
"""NVML's handle of a GPU. `Any`: the bindings have no types."""
Values = Sequence[float]


@dataclass(frozen=True, slots=True)
class _Source:
    """One driver call and the signals that it gives; a missing value is NaN."""

    signals: tuple[Signal, ...]
    read: Callable[[Nvml, Handle], Values]


class Plausible:
    """Turns values that no sensor can mean into missing ones, and counts them by signal."""

    def __init__(self) -> None:
        """Start without a count."""
        self.refused: Counter[str] = Counter()

    def value(self, signal: Signal, value: float) -> float:
        """Return the value; NaN where it is negative, above what its unit allows, or not a number."""
        if 0.0 <= value <= MOST.get(signal.unit, math.inf):
            return value
        if not math.isnan(value):
            self.refused[signal.name] += 1
        return math.nan


class Readings:
    """The quick readings of one GPU."""

    def __init__(self, nvml: Nvml, handle: Handle, sources: Sequence[_Source], *, counts_energy: bool) -> None:
        """Take what is offered; `open` finds it out."""
        self._nvml = nvml
        self._handle = handle
        self._sources = tuple(sources)
        self.counts_energy = counts_energy
        self.plausible = Plausible()

    @classmethod
    def open(cls, nvml: Nvml, handle: Handle) -> Self:
        """Try every reading once.

        Raises:
            GpoeoError: as `Nvml.call`.
        """
        counts_energy = nvml.ask("nvmlDeviceGetTotalEnergyConsumption", handle) is not None
        sources = [narrowed for source in _SOURCES if (narrowed := _offered(source, nvml, handle))]
        there = {signal.name for source in sources for signal in source.signals}
        absent = [signal.name for source in _SOURCES for signal in source.signals if signal.name not in there]
        if not counts_energy:
            absent.append(ENERGY.name)
        if absent:
            _LOG.warning("this GPU or its driver does not report %s", ", ".join(absent))
        return cls(nvml, handle, sources, counts_energy=counts_energy)

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The columns of `read`."""
        return tuple(signal for source in self._sources for signal in source.signals)

    def rebind(self, handle: Handle) -> None:
        """Take the handle that holds after NVML was initialised anew."""
        self._handle = handle

    def read(self) -> list[float]:
        """Return one value for each signal; NaN where it is missing.

        Raises:
            DeviceLostError: the GPU is gone.
            DeviceFaultError: the driver failed.
        """
        return [
            self.plausible.value(signal, value)
            for source in self._sources
            for signal, value in zip(source.signals, self._values(source), strict=True)
        ]

    def read_energy(self) -> float:
        """Return the energy counter in J; NaN where it is missing. It costs milliseconds.

        Raises:
            DeviceLostError: the GPU is gone.
            DeviceFaultError: the driver failed.
        """
        millijoules = self._nvml.ask("nvmlDeviceGetTotalEnergyConsumption", self._handle)
        return math.nan if millijoules is None else self.plausible.value(ENERGY, millijoules * 1e-3)

    def _values(self, source: _Source) -> Values:
        try:
            return source.read(self._nvml, self._handle)
        except ABSENT:
            return (math.nan,) * len(source.signals)


def _offered(source: _Source, nvml: Nvml, handle: Handle) -> _Source | None:
    """Return a source if it answers."""
    try:
        values = source.read(nvml, handle)
    except ABSENT:
        return None
    return None if all(math.isnan(value) for value in values) else source


def _power(nvml: Nvml, handle: Handle) -> Values:
    return (nvml.call("nvmlDeviceGetPowerUsage", handle) * 1e-3,)


def _power_fields(nvml: Nvml, handle: Handle) -> Values:
    """Return instantaneous and averaged power, from one call; each field has a status of its own."""
    names = nvml.bindings
    fields = nvml.call(
        "nvmlDeviceGetFieldValues", handle, [names.NVML_FI_DEV_POWER_INSTANT, names.NVML_FI_DEV_POWER_AVERAGE]
    )
    return [_field_value(nvml, field) * 1e-3 for field in fields]


def _field_value(nvml: Nvml, field: Any) -> float:
    """Return an unsigned field; NaN where its own status is an error. `Any`: a structure of the bindings."""
    if not nvml.is_offered(field.nvmlReturn):
        return math.nan
    is_long = field.valueType == nvml.bindings.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG
    return float(field.value.ullVal if is_long else field.value.uiVal)


def _sm_clock(nvml: Nvml, handle: Handle) -> Values:
    return (nvml.call("nvmlDeviceGetClockInfo", handle, nvml.bindings.NVML_CLOCK_SM),)


def _mem_clock(nvml: Nvml, handle: Handle) -> Values:
    return (nvml.call("nvmlDeviceGetClockInfo", handle, nvml.bindings.NVML_CLOCK_MEM),)


def _temperature(nvml: Nvml, handle: Handle) -> Values:
    sensor = nvml.bindings.NVML_TEMPERATURE_GPU
    return (_newer_or_older(nvml, "nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature", handle, sensor),)


def _reasons(nvml: Nvml, handle: Handle) -> Values:
    newer, older = "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"
    return (_newer_or_older(nvml, newer, older, handle),)


def _utilisation(nvml: Nvml, handle: Handle) -> Values:
    rates = nvml.call("nvmlDeviceGetUtilizationRates", handle)
    return rates.gpu * 0.01, rates.memory * 0.01


def _newer_or_older(nvml: Nvml, newer: str, older: str, *arguments: Any) -> float:
    """Call a function by its present name, else by the one that older drivers know. `Any`: as `Nvml.call`."""
    value = nvml.ask(newer, *arguments)
    return float(nvml.call(older, *arguments) if value is None else value)


_SOURCES = (
    _Source((POWER,), _power),
    _Source((POWER_INSTANT, POWER_AVERAGE), _power_fields),
    _Source((SM_CLOCK,), _sm_clock),
    _Source((MEM_CLOCK,), _mem_clock),
    _Source((TEMPERATURE,), _temperature),
    _Source((THROTTLE_REASONS,), _reasons),
    _Source((signal_named("gpu_util"), signal_named("mem_util")), _utilisation),
)
