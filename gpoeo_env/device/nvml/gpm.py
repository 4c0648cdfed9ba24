"""GPM, the hardware counters of Hopper and newer: what the default features are made of. They take no lock.

A metric is the mean between two samples. The hardware refreshes them every 100 ms, and two samples inside one refresh
give 0 for everything, with a success code: on an H200 polled every 20 ms, 80 % of the rows read 0 and SM activity
averages 18 % where the truth is 92 %. So a sample is taken no sooner than a refresh after the one before, and where
all is 0 the older sample is kept and the mean taken over a longer stretch.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

from gpoeo_env.device.nvml.library import ABSENT, Nvml
from gpoeo_env.device.nvml.readings import Plausible
from gpoeo_env.errors import DeviceError
from gpoeo_env.signals import Behaviour, Signal, signal_named

__all__ = ["REFRESH_S", "GpmCounters"]

_LOG = logging.getLogger(__name__)
REFRESH_S = 0.1
"""Of the hardware counters of an H200, measured."""
SOONEST_S = 0.95 * REFRESH_S
"""A sample may follow that soon: a loop at the pace of the refresh comes a moment early as often as late."""
SURE_S = 2.5 * REFRESH_S
"""After that long a refresh has happened whatever the phase: all zeros then mean a GPU that does nothing."""
PERCENT = 0.01
MEBIBYTE = 2.0**20

_METRICS: Mapping[str, tuple[Signal, float]] = {
    "NVML_GPM_METRIC_SM_UTIL": (signal_named("sm_active"), PERCENT),
    "NVML_GPM_METRIC_SM_OCCUPANCY": (signal_named("sm_occupancy"), PERCENT),
    "NVML_GPM_METRIC_ANY_TENSOR_UTIL": (signal_named("tensor_active"), PERCENT),
    "NVML_GPM_METRIC_DRAM_BW_UTIL": (signal_named("dram_active"), PERCENT),
    "NVML_GPM_METRIC_FP64_UTIL": (signal_named("fp64_active"), PERCENT),
    "NVML_GPM_METRIC_FP32_UTIL": (signal_named("fp32_active"), PERCENT),
    "NVML_GPM_METRIC_FP16_UTIL": (signal_named("fp16_active"), PERCENT),
    "NVML_GPM_METRIC_INTEGER_UTIL": (signal_named("integer_active"), PERCENT),
    "NVML_GPM_METRIC_PCIE_TX_PER_SEC": (signal_named("pcie_tx_bytes"), MEBIBYTE),
    "NVML_GPM_METRIC_PCIE_RX_PER_SEC": (signal_named("pcie_rx_bytes"), MEBIBYTE),
    "NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC": (Signal("nvlink_tx_bytes", "B/s", Behaviour.INTERVAL), MEBIBYTE),
    "NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC": (Signal("nvlink_rx_bytes", "B/s", Behaviour.INTERVAL), MEBIBYTE),
}
"""Our signal and its factor, by NVML's name of the metric."""


class GpmCounters:
    """The counters of one GPU, as a `CounterSource`."""

    label = "GPM"

    def __init__(self, nvml: Nvml, handle: Any, plausible: Plausible) -> None:
        """Take a GPU; `open` finds out what it counts. `Any`: NVML's handle."""
        self._nvml = nvml
        self._handle = handle
        self._plausible = plausible
        self._names: tuple[str, ...] = tuple(name for name in _METRICS if hasattr(nvml.bindings, name))
        self._samples: list[Any] = []  # the older and the newer one, NVML's pointers
        self._older_s = math.nan

    @classmethod
    def open(cls, nvml: Nvml, handle: Any, plausible: Plausible) -> Self | None:
        """Return the counters; None where the GPU, the driver or the user's rights give none. `Any`: NVML's handle.

        Raises:
            GpoeoError: as `Nvml.call`.
        """
        support = nvml.ask("nvmlGpmQueryDeviceSupport", handle)
        if support is None or not support.isSupportedDevice:
            return None
        counters = cls(nvml, handle, plausible)
        try:
            counters.restart(0.0)
            counters._sample(1)
            # Its status tells whether a metric is there, not its value: the memory traffic of two samples inside one
            # refresh is NaN with success on an H200 (driver 580), nothing over no time.
            answers = zip(counters._names, counters._answers(), strict=True)
            counters._names = tuple(name for name, answer in answers if nvml.is_offered(answer.nvmlReturn))
        except ABSENT as error:
            _LOG.warning("this GPU has hardware counters, but they cannot be read: %s", error)
            counters._names = ()
        if counters._names:
            return counters
        counters.close()
        return None

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The columns of `poll`."""
        return tuple(_METRICS[name][0] for name in self._names)

    def rebind(self, handle: Any) -> None:
        """Take the handle that holds after NVML was initialised anew. `Any`: NVML's handle."""
        self._handle = handle
        self._samples.clear()  # not freed: what NVML allocated went with its shutdown
        self.restart(time.monotonic())

    def restart(self, now_s: float) -> None:
        """Forget what was before, so that no mean reaches across a change of clocks.

        Raises:
            GpoeoError: as `Nvml.call`.
        """
        while len(self._samples) < 2:
            self._samples.append(self._nvml.call("nvmlGpmSampleAlloc"))
        self._sample(0)
        self._older_s = now_s

    def poll(self, now_s: float) -> Sequence[float]:
        """Return the means since the last row that had some; all NaN before the next refresh.

        Raises:
            DeviceLostError: the GPU is gone.
            DeviceFaultError: the driver failed.
        """
        missing = (math.nan,) * len(self._names)
        elapsed_s = now_s - self._older_s
        if elapsed_s < SOONEST_S:
            return missing
        try:
            self._sample(1)
            raw = self._values()
        except ABSENT:
            return missing
        if elapsed_s < SURE_S and not any(value > 0 for value in raw):
            return missing
        self._samples.reverse()
        self._older_s = now_s
        return [self._scaled(name, value) for name, value in zip(self._names, raw, strict=True)]

    def close(self) -> None:
        """Free the samples; calling it twice is fine."""
        while self._samples:
            with suppress(DeviceError):  # nothing is left to do with them
                self._nvml.call("nvmlGpmSampleFree", self._samples.pop())

    def _sample(self, which: int) -> None:
        self._nvml.call("nvmlGpmSampleGet", self._handle, self._samples[which])

    def _values(self) -> list[float]:
        """Return the metrics between both samples in NVML's units; NaN where its own status is an error."""
        is_offered = self._nvml.is_offered
        return [answer.value if is_offered(answer.nvmlReturn) else math.nan for answer in self._answers()]

    def _answers(self) -> Sequence[Any]:
        """Return the metrics between both samples with their status. `Any`: NVML's own structure."""
        bindings = self._nvml.bindings
        request = bindings.c_nvmlGpmMetricsGet_t()
        request.version = bindings.NVML_GPM_METRICS_GET_VERSION
        request.numMetrics = len(self._names)
        request.sample1, request.sample2 = self._samples
        for metric, name in zip(request.metrics, self._names, strict=False):  # it has room for more
            metric.metricId = getattr(bindings, name)
        self._nvml.call("nvmlGpmMetricsGet", request)
        answers: Sequence[Any] = request.metrics[: len(self._names)]
        return answers

    def _scaled(self, name: str, raw: float) -> float:
        signal, factor = _METRICS[name]
        # A busy pipe has been seen a rounding error above 100 %.
        value = min(raw * factor, 1.0) if signal.unit == "1" and raw * factor < 1.01 else raw * factor
        return self._plausible.value(signal, value)
