"""Where hardware counters come from: GPM, a dcgm-exporter, or nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from gpoeo_env.signals import Signal

__all__ = ["CounterSource", "NoCounters"]


class CounterSource(Protocol):
    """Counters that are means over the time since the row before."""

    @property
    def label(self) -> str:
        """What it is called, for people."""

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The columns of `poll`."""

    def rebind(self, handle: Any) -> None:
        """Take the handle that holds after NVML was initialised anew. `Any`: NVML's handle."""

    def restart(self, now_s: float) -> None:
        """Begin a window: nothing from before it may reach into its rows."""

    def poll(self, now_s: float) -> Sequence[float]:
        """Return one value for each signal; NaN where there is nothing new."""

    def close(self) -> None:
        """Free what it holds; calling it twice is fine."""


class NoCounters:
    """The source of a GPU that has none that are free to use: NVML's utilisation must do."""

    label = "none"
    signals: tuple[Signal, ...] = ()

    def rebind(self, handle: Any) -> None:
        """Do nothing. `Any`: NVML's handle."""

    def restart(self, now_s: float) -> None:
        """Do nothing."""

    def poll(self, now_s: float) -> Sequence[float]:  # noqa: ARG002 - as every source
        """Return no values."""
        return ()

    def close(self) -> None:
        """Do nothing."""
