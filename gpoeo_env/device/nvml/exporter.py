"""Hardware counters of older GPUs, from a dcgm-exporter that runs beside us anyway.

Before Hopper the profiling counters of DCGM take a lock: while the exporter counts, no profiler (Nsight, CUPTI) can,
and the other way round. So this source is used only where its URL is given. Needs the extra ``metrics``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from gpoeo_env.device.nvml.readings import Plausible
from gpoeo_env.errors import ConfigError, DeviceError, InstallationError
from gpoeo_env.signals import Signal, signal_named

__all__ = ["DcgmExporter", "counters_in"]

LEAST_INTERVAL_S = 1.0
"""DCGM's shortest useful interval; exporters are set to 1-30 s."""
TIMEOUT_S = 0.5
MOST_BYTES = 16 * 2**20

_FIELDS: Mapping[str, Signal] = {
    "DCGM_FI_PROF_SM_ACTIVE": signal_named("sm_active"),
    "DCGM_FI_PROF_SM_OCCUPANCY": signal_named("sm_occupancy"),
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": signal_named("tensor_active"),
    "DCGM_FI_PROF_DRAM_ACTIVE": signal_named("dram_active"),
    "DCGM_FI_PROF_PIPE_FP64_ACTIVE": signal_named("fp64_active"),
    "DCGM_FI_PROF_PIPE_FP32_ACTIVE": signal_named("fp32_active"),
    "DCGM_FI_PROF_PIPE_FP16_ACTIVE": signal_named("fp16_active"),
    "DCGM_FI_PROF_PIPE_INT_ACTIVE": signal_named("integer_active"),
    "DCGM_FI_PROF_PCIE_TX_BYTES": signal_named("pcie_tx_bytes"),
    "DCGM_FI_PROF_PCIE_RX_BYTES": signal_named("pcie_rx_bytes"),
}


def counters_in(text: str, gpu_uuid: str, plausible: Plausible) -> dict[str, float]:
    """Return the counters of one GPU by the name of our signal; NaN where a value means "unknown".

    Args:
        text: what the exporter answers, in Prometheus's text format.
        gpu_uuid: of the GPU; rows of its MIG instances are left out, because each counts a part only.
        plausible: counts what it refuses.

    Raises:
        InstallationError: the extra ``metrics`` is not installed.
        DeviceError: the text is not in that format.
    """
    try:
        from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise InstallationError("reading a dcgm-exporter needs: pip install 'gpoeo-env[metrics]'") from error
    found: dict[str, float] = {}
    try:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                signal = _FIELDS.get(sample.name)
                if signal and sample.labels.get("UUID") == gpu_uuid and not sample.labels.get("GPU_I_ID"):
                    found[signal.name] = plausible.value(signal, sample.value)
    except ValueError as error:
        raise DeviceError(f"the dcgm-exporter's answer is not in Prometheus's text format: {error}") from error
    return found


class DcgmExporter:
    """The counters of one GPU, as a `CounterSource`."""

    label = "DCGM exporter"

    def __init__(self, url: str, gpu_uuid: str, plausible: Plausible) -> None:
        """Take an address.

        Raises:
            ConfigError: it is no http or https address.
        """
        if urlsplit(url).scheme not in {"http", "https"}:
            raise ConfigError(f"{url!r} is no address of a dcgm-exporter; write http://HOST:9400/metrics")
        self._url = url
        self._gpu_uuid = gpu_uuid
        self._plausible = plausible
        self._signals: tuple[Signal, ...] = ()
        self._last: tuple[float, ...] = ()
        self._last_s = -math.inf

    @classmethod
    def open(cls, url: str, gpu_uuid: str, plausible: Plausible) -> Self:
        """Ask it once what it counts.

        Raises:
            ConfigError: the address is none.
            DeviceError: nobody answers, or it counts nothing of this GPU.
            InstallationError: the extra ``metrics`` is not installed.
        """
        exporter = cls(url, gpu_uuid, plausible)
        counters = exporter._fetch()
        exporter._signals = tuple(signal for signal in _FIELDS.values() if signal.name in counters)
        if not exporter._signals:
            raise DeviceError(
                f"{url} has no profiling counters of {gpu_uuid}; let the exporter collect DCGM_FI_PROF_* for the "
                "whole GPU, or leave dcgm_url out"
            )
        return exporter

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The columns of `poll`."""
        return self._signals

    def rebind(self, handle: Any) -> None:
        """Do nothing: the exporter has its own way to the GPU. `Any`: NVML's handle."""

    def restart(self, now_s: float) -> None:
        """Take the values of before as known, so that none of them counts for the window that begins."""
        self._last = self._row()
        self._last_s = now_s

    def poll(self, now_s: float) -> Sequence[float]:
        """Return what is new; all NaN where the exporter repeats itself, or does not answer in time."""
        if now_s - self._last_s >= LEAST_INTERVAL_S:
            self._last_s = now_s
            row = self._row()
            if row not in (self._last, self._missing):
                self._last = row
                return row
        return self._missing

    def close(self) -> None:
        """Do nothing: every request is closed at once."""

    @property
    def _missing(self) -> tuple[float, ...]:
        return (math.nan,) * len(self._signals)

    def _row(self) -> tuple[float, ...]:
        try:
            counters = self._fetch()
        except DeviceError:
            return self._missing
        return tuple(counters.get(signal.name, math.nan) for signal in self._signals)

    def _fetch(self) -> dict[str, float]:
        try:
            with urlopen(self._url, timeout=TIMEOUT_S) as answer:  # the scheme is checked above
                text = answer.read(MOST_BYTES).decode(errors="replace")
        except (URLError, OSError) as error:
            raise DeviceError(
                f"no dcgm-exporter answers at {self._url}: {error}; start it, or leave dcgm_url out"
            ) from error
        return counters_in(text, self._gpu_uuid, self._plausible)
