"""A live NVIDIA GPU as a `Device`: it really waits, and really sets clocks, inside the guard.

with NvmlDevice.open(nvml, gpu, settings) as device:
    device.begin(None)
    device.set_clocks(device.clocks.pairs[0])
    window = device.observe(10.0)
"""

from __future__ import annotations

import logging
import math
import operator
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial, reduce
from types import TracebackType
from typing import Any, Self

import numpy as np

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.device.base import DeviceInfo
from gpoeo_env.device.nvml.control import ClockControl
from gpoeo_env.device.nvml.gpu import GpuFacts
from gpoeo_env.device.nvml.library import Nvml
from gpoeo_env.device.nvml.reasons import OVERHEATED, reasons_in
from gpoeo_env.device.nvml.request import Request
from gpoeo_env.device.nvml.sampling import Instruments, Rescue, Row, Rows
from gpoeo_env.device.nvml.settling import Arrival
from gpoeo_env.errors import (
    DeviceError,
    DeviceFaultError,
    DeviceLostError,
    GpoeoError,
    InstallationError,
    UnknownNameError,
    UsageError,
)
from gpoeo_env.records import Settle, Window, WindowEnd
from gpoeo_env.signals import MEM_CLOCK, SM_CLOCK, THROTTLE_REASONS, Signal

__all__ = ["LEAST_WINDOW_S", "NvmlDevice"]

_LOG = logging.getLogger(__name__)
ENERGY_EVERY_S = 5.0
"""Between readings of the energy counter in a stream: a reading costs milliseconds."""
LEAST_WINDOW_S = 0.5
"""Five refreshes of power, energy and counters: in a shorter window, the edges are most of what is measured."""


class NvmlDevice:
    """One GPU of this machine."""

    def __init__(
        self,
        nvml: Nvml,
        gpu: GpuFacts,
        clocks: ClockTable,
        instruments: Instruments,
        control: ClockControl,
        *,
        least_window_s: float = LEAST_WINDOW_S,
        reapplies: bool = True,
    ) -> None:
        """Take the parts; the device closes them. `gpoeo_env.device.nvml.opening` puts them together.

        Args:
            nvml: open.
            gpu: which one.
            clocks: what can be locked.
            instruments: what is read.
            control: who changes clocks.
            least_window_s: shorter windows are refused.
            reapplies: whether a lock that somebody else has reset is set again; else the run stops with an error.
        """
        self._nvml = nvml
        self._gpu = gpu
        self._clocks = clocks
        self._instruments = instruments
        self._control = control
        driver = nvml.versions().driver or "of unknown version"
        self._info = DeviceInfo(
            kind="live",
            gpu_name=gpu.name,
            workloads=(),
            default_pair=None,
            power_limit_w=gpu.power_limit_w,
            provenance=f"{gpu.uuid}, driver {driver}, counters: {instruments.counters.label}",
            is_deterministic=False,
        )
        self._least_window_s = least_window_s
        self._reapplies = reapplies
        self._request = Request()
        self._changed_s: float | None = None
        self._has_begun = False
        self._is_closed = False
        self._lost: DeviceLostError | None = None
        self._is_over: Callable[[], bool] = lambda: False
        self.missed_ticks = 0
        """Rows that were due and not taken, since the device was opened."""

    @property
    def info(self) -> DeviceInfo:
        """What stays the same while the device is open."""
        return self._info

    @property
    def gpu(self) -> GpuFacts:
        """Which GPU it is."""
        return self._gpu

    @property
    def clocks(self) -> ClockTable:
        """The pairs that the driver offers."""
        return self._clocks

    @property
    def signals(self) -> tuple[Signal, ...]:
        """What this GPU and its driver report."""
        return self._instruments.signals

    @property
    def counter_source(self) -> str:
        """Where hardware counters come from; "none" where the utilisation must do."""
        return self._instruments.counters.label

    @property
    def refused_values(self) -> Counter[str]:
        """How many readings no sensor can mean, by signal; they are missing in the windows."""
        return self._instruments.readings.plausible.refused

    def end_when(self, is_over: Callable[[], bool]) -> None:
        """Let the work be done as soon as a function says so: the window that runs then is cut short and the last.

        Args:
            is_over: asked some ten times a second; for one, whether the training program has ended.
        """
        self._is_over = is_over

    def begin(self, seed: int | None, workload: str | None = None) -> None:  # noqa: ARG002 - nothing is drawn here
        """Start a run at the driver's default.

        Args:
            seed: unused.
            workload: None; whatever runs on the GPU is what is measured.

        Raises:
            UnknownNameError: a workload is named.
            DeviceError: the device is closed, or the clocks cannot be released.
        """
        self._check_open()
        if workload is not None:
            raise UnknownNameError("workload of a live GPU, where whatever runs is measured:", workload, ())
        self._has_begun = True
        self.set_clocks(None)
        with self._noticing_loss():
            self._settled()  # belongs to the run before

    def set_clocks(self, pair: ClockPair | None) -> None:
        """Lock a pair; None releases to the driver. Setting what is in force makes no call.

        Raises:
            ClockNotSupportedError: the driver does not offer the pair; nothing is changed.
            DeviceLostError: the GPU is gone.
            DeviceError: `begin` has not been called, the device is closed, only observes, or clocks cannot be set.
        """
        self._check_running()
        self._clocks.action_of(pair)
        if self._request.stands(pair):
            return
        if self._changed_s is None:
            self._changed_s = time.monotonic()
        with self._noticing_loss():
            change = self._control.release if pair is None else partial(self._control.lock, pair)
            Rescue(self._revive).retry(change)
        self._request.make(pair)

    def observe(self, seconds: float) -> Window:
        """Wait until the clocks have arrived, then for ``seconds``, and return what was seen.

        Raises:
            UsageError: ``seconds`` is not positive, or too short for the sensors to say something new.
            DeviceLostError: the GPU is gone and nothing was seen; if it goes later, the window ends with LOST.
            DeviceFaultError: the driver fails, and initialising it anew did not help.
            DeviceError: `begin` has not been called, the device is closed, or somebody else has changed the clocks
                and it shall stop then.
        """
        self._check_running()
        self._check_duration(seconds)
        rescue = Rescue(self._revive)
        with self._noticing_loss():
            settle = rescue.retry(self._settled)
            rows = self._instruments.sample(seconds, self._stay_alive, rescue, self._is_over)
            if rows.lost is not None and len(rows.t_s) < 2:
                raise rows.lost
        self._lost = rows.lost
        self.missed_ticks += rows.missed_ticks
        window = self._window(rows, settle)
        if self._request.is_undone_in(window, rows.last(SM_CLOCK), rows.last(MEM_CLOCK)):
            self._meet_undoing(window)
        return window

    def stream(self, seconds: float = math.inf) -> Iterator[Row]:
        """Yield rows as they are read, for a time, or until `end_when` says so; nothing is set and nothing waited for.

        Args:
            seconds: from the first row to the last.

        Raises:
            DeviceLostError: the GPU is gone.
            DeviceFaultError: the driver fails, and initialising it anew did not help.
            DeviceError: the device is closed.
        """
        self._check_open()
        with self._noticing_loss():
            rows = self._instruments.stream(seconds, Rescue(self._revive), self._is_over, energy_every_s=ENERGY_EVERY_S)
            for row in rows:
                self.missed_ticks += row.missed_ticks
                yield row

    def close(self) -> None:
        """Give the clocks back and let NVML go; calling it twice is fine.

        Raises:
            DeviceError: the clocks of a GPU that is there could not be given back; the message says what to do.
        """
        if self._is_closed:
            return
        self._is_closed = True
        with ExitStack() as stack:
            stack.callback(self._nvml.close)
            stack.callback(self._instruments.close)
            try:
                self._control.close()
            except GpoeoError as error:
                if self._lost is None:
                    raise
                _LOG.error("the GPU is lost, so its clocks cannot be given back: %s", error)

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def _settled(self) -> Settle:
        """Wait for the clocks of the last change; what that cost counts from the change."""
        if self._changed_s is None:
            return Settle()
        power_w = Arrival(self._instruments.readings, self._request.pair).wait()
        seconds = time.monotonic() - self._changed_s
        self._changed_s = None
        return Settle(seconds, power_w * seconds, math.nan)

    def _window(self, rows: Rows, settle: Settle) -> Window:
        window = Window(
            t_s=rows.times,
            values=rows.matrix,
            signals=rows.signals,
            requested=self._request.pair,
            observed=None,
            settle=settle,
        )
        sm_mhz, mem_mhz = window.mean(SM_CLOCK), window.mean(MEM_CLOCK)
        observed = ClockPair(round(sm_mhz), round(mem_mhz)) if sm_mhz >= 1 and mem_mhz >= 1 else None
        mask = _reasons_mask(window)
        return replace(window, observed=observed, end=_end_of(rows, mask), throttle_reasons=reasons_in(mask))

    @contextmanager
    def _noticing_loss(self) -> Iterator[None]:
        """Remember that the GPU is gone: there is nothing to give back then."""
        try:
            yield
        except DeviceLostError as error:
            self._lost = error
            raise

    def _stay_alive(self) -> None:
        if not self._control.renew() and self._request.undo():
            _LOG.warning("the clocks of %s were given back meanwhile; the next request sets them again", self._gpu.uuid)

    def _meet_undoing(self, window: Window) -> None:
        what = (
            f"{self._gpu.uuid}: {window.observed} MHz run instead of the {window.requested} MHz that were locked: "
            "somebody else has changed them"
        )
        if not self._reapplies:
            raise DeviceError(f"{what}; end that, then start again")
        _LOG.warning("%s; the next request sets them again", what)

    def _revive(self) -> None:
        """Initialise NVML anew, after the driver failed."""
        _LOG.warning("the driver fails for %s; initialising NVML anew", self._gpu.uuid)
        try:
            self._nvml.initialise()
        except InstallationError as error:
            raise DeviceFaultError(f"the driver of {self._gpu.uuid} is gone: {error}") from error
        handle: Any = self._nvml.call("nvmlDeviceGetHandleByUUID", self._gpu.uuid)  # `Any`: NVML's handle
        self._instruments.rebind(handle)

    def _check_duration(self, seconds: float) -> None:
        if not (math.isfinite(seconds) and seconds > 0):
            raise UsageError(f"a window needs a positive number of seconds; got {seconds:g}")
        if seconds < self._least_window_s:
            raise UsageError(
                f"a window of {seconds:g} s is too short: power, energy and counters refresh every 0.1 s; take "
                f"{self._least_window_s:g} s or more, or set least_window_s lower"
            )

    def _check_running(self) -> None:
        self._check_open()
        if not self._has_begun:
            raise DeviceError("the device has not begun a run; call begin(None) first")
        if self._lost is not None:
            raise DeviceLostError(str(self._lost))

    def _check_open(self) -> None:
        if self._is_closed:
            raise DeviceError("the device is closed; open a new one")


def _end_of(rows: Rows, reasons_mask: int) -> WindowEnd | None:
    if rows.lost is not None:
        return WindowEnd.LOST
    if reasons_mask & OVERHEATED:
        return WindowEnd.OVERHEATED
    return WindowEnd.WORK_DONE if rows.is_over else None


def _reasons_mask(window: Window) -> int:
    """Return every reason that was given in a window, as one bit mask."""
    column = window.column(THROTTLE_REASONS.name)
    masks = () if column is None else column[np.isfinite(column)].astype(np.int64).tolist()
    return reduce(operator.or_, masks, 0)
