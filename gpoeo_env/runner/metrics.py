"""What a live run measures and does, for Prometheus to scrape."""

from __future__ import annotations

import math
from typing import Any

from gpoeo_env.errors import InstallationError, UsageError
from gpoeo_env.policy import PolicyContext, Step
from gpoeo_env.runner.scalars import scalars_of

__all__ = ["MetricsServer"]

_HELP = {
    "run/energy_j": ("gpoeo_energy_joules", "Energy since the run began"),
    "run/seconds": ("gpoeo_run_seconds", "Time since the run began"),
    "run/saving": ("gpoeo_saving_ratio", "Share of the energy of the driver's default that was saved, search paid"),
    "run/slowdown": ("gpoeo_slowdown_ratio", "Relative increase of time over the driver's default, search paid"),
    "window/power_w": ("gpoeo_power_watts", "Mean power of the last window"),
    "window/work_per_s": ("gpoeo_work_rate", "Units of work a second in the last window; the unit is the meter's own"),
    "window/slowdown": ("gpoeo_window_slowdown_ratio", "Slowdown of the last window"),
    "window/over_limit": ("gpoeo_over_limit_ratio", "By how much the last window broke the limit"),
    "clocks/sm_asked_mhz": ("gpoeo_sm_clock_locked_mhz", "Locked SM clock; NaN while the driver decides"),
    "clocks/memory_asked_mhz": ("gpoeo_memory_clock_locked_mhz", "Locked memory clock; NaN while the driver decides"),
    "clocks/sm_in_force_mhz": ("gpoeo_sm_clock_mhz", "Mean SM clock of the last window"),
    "clocks/memory_in_force_mhz": ("gpoeo_memory_clock_mhz", "Mean memory clock of the last window"),
}


class MetricsServer:
    """An observer that serves gauges over HTTP, from the beginning of the episode to its end."""

    def __init__(self, port: int, address: str) -> None:
        """Load what is needed; nothing is served yet.

        Args:
            port: 0 = a free one.
            address: to listen at; 127.0.0.1 = for this machine alone.

        Raises:
            InstallationError: prometheus-client is not installed.
        """
        try:
            import prometheus_client  # noqa: PLC0415 - optional
        except ImportError as error:
            raise InstallationError(
                f"metrics need prometheus-client, which cannot be loaded ({error}); pip install 'gpoeo-env[metrics]'"
            ) from error
        self._prometheus: Any = prometheus_client  # `Any`: a module
        self._address, self._wanted_port = address, port
        self._server: Any = None
        self.port: int | None = None
        """Where it listens; None = it does not."""

    def begin(self, context: PolicyContext, workload: str | None) -> None:  # noqa: ARG002 - a live GPU knows none
        """Listen.

        Raises:
            UsageError: the address or the port cannot be had.
        """
        registry = self._prometheus.CollectorRegistry()
        labels = {"gpu": context.gpu_name}
        self._gauges = {
            tag: self._prometheus.Gauge(name, text, list(labels), registry=registry).labels(**labels)
            for tag, (name, text) in _HELP.items()
        }
        self._windows = self._prometheus.Counter("gpoeo_windows", "Windows measured", list(labels), registry=registry)
        self._windows = self._windows.labels(**labels)
        try:
            self._server, self._thread = self._prometheus.start_http_server(
                self._wanted_port, self._address, registry=registry
            )
        except OSError as error:
            raise UsageError(
                f"cannot serve metrics at {self._address}:{self._wanted_port}: {error.strerror or error}; "
                "choose another --metrics-port or --metrics-address"
            ) from error
        self.port = self._server.server_port

    def step(self, step: Step) -> None:
        """Show one more window."""
        values = scalars_of(step)
        for tag, gauge in self._gauges.items():
            gauge.set(values.get(tag, math.nan))
        self._windows.inc()

    def end(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
            self._server = self.port = None
