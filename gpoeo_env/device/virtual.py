"""What every virtual device shares: its own clock, seeded noise, settling, and the life from `begin` to `close`.

A virtual device knows what its workload does under every action (`ActionTable`), from table to table where the work
changes in mid-run. `WindowDevice` answers with windows of two edges made from those tables; the sample-level device
draws rows around them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.clocks import RELEASE, ClockPair, ClockTable
from gpoeo_env.device.base import DeviceInfo
from gpoeo_env.errors import ConfigError, DeviceError, UnknownNameError, UsageError
from gpoeo_env.records import Settle, Spread, TruthTable, Window
from gpoeo_env.signals import ENERGY, POWER, WORK, Signal

__all__ = ["OWN_SIGNALS", "ActionTable", "Run", "VirtualDevice", "WindowDevice"]

Array = NDArray[np.float64]

OWN_SIGNALS: tuple[Signal, ...] = (ENERGY, WORK, POWER)
"""The columns that come before the counters in every window of a virtual device."""

WORK_SHARE_WHILE_SETTLING = 0.5
"""Work rate while clocks change, relative to the rate afterwards: kernels stall for part of the latency."""
MAX_NOISE = 0.1
"""Above it, a normal error could turn a time or a power negative, and no sensor is that bad."""


@dataclass(frozen=True, slots=True)
class ActionTable:
    """What one workload does under every action, free of noise.

    Row 0 is the driver's default, row ``i`` is pair ``i - 1`` of the clock table.

    Attributes:
        clocks: the pairs.
        seconds: per unit of work, float64, shape (n_actions,).
        watts: mean board power, float64, shape (n_actions,).
        in_force: the clocks that really run under each action.
        throttle_reasons: why they are below the request, for each action; empty = they are not.
        counters: float64, shape (n_actions, n_counters); NaN where missing.
        until_work: units of work since the beginning of the run after which the workload's next table holds.
        drift_per_hour: relative growth of ``seconds`` in an hour.
    """

    clocks: ClockTable
    seconds: Array
    watts: Array
    in_force: tuple[ClockPair, ...]
    throttle_reasons: tuple[tuple[str, ...], ...]
    counters: Array
    until_work: float = math.inf
    drift_per_hour: float = 0.0

    def truth(self) -> TruthTable:
        """Return time and energy of every action relative to the driver's default."""
        joules = self.seconds * self.watts
        return TruthTable(time=self.seconds / self.seconds[RELEASE], energy=joules / joules[RELEASE])


@dataclass(slots=True)
class Run:
    """The state between one `begin` and the next: a fresh one is what rewinding means."""

    tables: tuple[ActionTable, ...]
    rng: np.random.Generator
    requested: ClockPair | None = None
    action: int = RELEASE
    unpaid_s: float = 0.0
    """Seconds of clock changes that no `observe` has paid for yet."""
    stage: int = 0
    """Which of the tables holds now."""
    t_s: float = 0.0
    energy_j: float = 0.0
    work: float = 0.0

    @property
    def table(self) -> ActionTable:
        """What the workload does now."""
        return self.tables[self.stage]

    @property
    def work_rate(self) -> float:
        """Units of work per second under the action in force, free of noise."""
        growth = 1.0 + self.table.drift_per_hour * self.t_s / 3600.0
        return 1.0 / (float(self.table.seconds[self.action]) * growth)

    @property
    def power_w(self) -> float:
        """Mean power under the action in force, free of noise."""
        return float(self.table.watts[self.action])

    def advance(self, seconds: float, joules: float, work: float) -> None:
        """Let time pass."""
        self.t_s += seconds
        self.energy_j += joules
        self.work += work
        while self.work >= self.table.until_work:
            self.stage += 1


class VirtualDevice(ABC):
    """A device that advances its own clock instead of waiting; subclasses say what a window looks like."""

    def __init__(
        self,
        workloads: tuple[str, ...],
        tables_of: Callable[[str], tuple[ActionTable, ...]],
        signals: tuple[Signal, ...],
        *,
        noise: float,
        settle_s: float | None,
    ) -> None:
        """Store what the device is made of.

        Args:
            workloads: names that `begin` accepts; at least one, the first is the default.
            tables_of: gives the tables of a workload, one for each stretch of equal work.
            signals: the columns of every window.
            noise: relative standard error of time and of power in every window, whatever its length.
            settle_s: seconds that pass between a clock change and the next window; None = as long as the device says.

        Raises:
            ConfigError: noise or settling time is out of its range.
        """
        if not 0.0 <= noise <= MAX_NOISE:
            raise ConfigError(f"noise is a fraction from 0 to {MAX_NOISE:g} (0.01 means 1 %); got {noise:g}")
        if settle_s is not None and not (math.isfinite(settle_s) and settle_s >= 0):
            raise ConfigError(f"settle_s is a number of seconds, 0 or more; got {settle_s:g}")
        self._workloads = workloads
        self._tables_of = tables_of
        self._signals = signals
        self._noise = noise
        self._settle_s = settle_s
        self._workload = workloads[0]
        self._tables = tables_of(workloads[0])
        self._run: Run | None = None
        self._is_closed = False

    @property
    @abstractmethod
    def info(self) -> DeviceInfo:
        """What stays the same while the device is open."""

    @property
    def clocks(self) -> ClockTable:
        """The pairs that the device offers for the workload that `begin` chose (before it: the first)."""
        return self._tables[0].clocks

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The columns of every window."""
        return self._signals

    def begin(self, seed: int | None, workload: str | None = None) -> None:
        """Rewind to time 0 at the driver's default.

        Args:
            seed: for the noise, 0 or more; None draws one.
            workload: one of ``info.workloads``; None = the first of them.

        Raises:
            UnknownNameError: the device has no such workload.
            UsageError: the seed is negative.
            DeviceError: the device is closed.
        """
        self._check_open()
        name = self._workloads[0] if workload is None else workload
        if name not in self._workloads:
            raise UnknownNameError("workload", name, self._workloads)
        if seed is not None and seed < 0:
            raise UsageError(f"a seed is a whole number, 0 or more; got {seed}")
        entropy = None if seed is None else [seed, crc32(name.encode())]
        if name != self._workload:
            self._workload, self._tables = name, self._tables_of(name)
        self._run = Run(self._tables, np.random.default_rng(entropy))

    def set_clocks(self, pair: ClockPair | None) -> None:
        """Lock a pair; None releases. Setting what is already set changes and costs nothing.

        Raises:
            ClockNotSupportedError: the pair is not in ``clocks``; nothing is changed.
            DeviceError: `begin` has not been called, or the device is closed.
        """
        run = self._running()
        action = self._action_of(pair)
        if action != run.action:
            run.unpaid_s += self._switching_s(run.requested, pair)
        run.requested, run.action = pair, action

    def observe(self, seconds: float) -> Window:
        """Pay for settling, then let ``seconds`` pass on the device's own clock.

        Raises:
            UsageError: ``seconds`` is not positive.
            DeviceError: `begin` has not been called, or the device is closed.
        """
        run = self._running()
        if not (math.isfinite(seconds) and seconds > 0):
            raise UsageError(f"a window needs a positive number of seconds; got {seconds:g}")
        return self._window(run, seconds, self._settled(run))

    def truth(self) -> TruthTable:
        """Return the noise-free ratios of every action for the workload that `begin` chose, as it is now.

        Raises:
            DeviceError: `begin` has not been called, or the device is closed.
        """
        return self._running().table.truth()

    def close(self) -> None:
        """End the device; calling it twice is fine."""
        self._run = None
        self._is_closed = True

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    @abstractmethod
    def _window(self, run: Run, seconds: float, settle: Settle) -> Window:
        """Advance the run by ``seconds`` and return what was seen."""

    def _action_of(self, pair: ClockPair | None) -> int:
        """Return the action that a request leads to."""
        return self.clocks.action_of(pair)

    def _switching_s(self, old: ClockPair | None, new: ClockPair | None) -> float:  # noqa: ARG002 - by subclasses
        """Return how many seconds a change from one pair to another takes."""
        return self._settle_s or 0.0

    def _settled(self, run: Run) -> Settle:
        seconds, run.unpaid_s = run.unpaid_s, 0.0
        settle = Settle(seconds, seconds * run.power_w, seconds * run.work_rate * WORK_SHARE_WHILE_SETTLING)
        run.advance(settle.seconds, settle.joules, settle.work)
        return settle

    def _running(self) -> Run:
        self._check_open()
        if self._run is None:
            raise DeviceError("the device has not begun a run; call begin(seed, workload) first")
        return self._run

    def _check_open(self) -> None:
        if self._is_closed:
            raise DeviceError("the device is closed; open a new one")


class WindowDevice(VirtualDevice):
    """A virtual device that answers with two edges a window and no samples between them."""

    def _window(self, run: Run, seconds: float, settle: Settle) -> Window:
        time_error, power_error = 1.0 + self._noise * run.rng.standard_normal(2)
        first = (run.t_s, run.energy_j, run.work)
        counters = np.zeros_like(run.table.counters[run.action])
        for left_s in _stretches(run, seconds, time_error):
            counters = counters + run.table.counters[run.action] * (left_s / seconds)
            run.advance(left_s, run.power_w * power_error * left_s, run.work_rate / time_error * left_s)
        last = (run.t_s, run.energy_j, run.work)
        power_w = (last[1] - first[1]) / seconds
        return Window(
            t_s=np.array([first[0], last[0]]),
            values=np.array([[*edge[1:], power_w, *counters] for edge in (first, last)]),
            signals=self.signals,
            requested=run.requested,
            observed=run.table.in_force[run.action],
            settle=settle,
            spread=Spread(self._noise, self._noise),
            synthesised=True,
            throttle_reasons=run.table.throttle_reasons[run.action],
        )


def _stretches(run: Run, seconds: float, time_error: float) -> Iterator[float]:
    """Yield the seconds until the work changes or the window ends; the run advances between two of them."""
    left_s = seconds
    while left_s > 0:
        until_change_s = (run.table.until_work - run.work) / (run.work_rate / time_error)
        if until_change_s >= left_s:
            yield left_s
            return
        # The last bit of the division must not leave the run just short of the change.
        stretch_s = min(left_s, until_change_s * (1.0 + 1e-12) + 1e-12)
        yield stretch_s
        left_s -= stretch_s
