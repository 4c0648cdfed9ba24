"""The records that pass between the layers: window, progress, measurement, reference, totals.

All are frozen; a missing number is NaN, never 0 or -1. Energies and counters are float64: in float32 a
month-old energy counter loses a whole window.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.clocks import ClockPair
from gpoeo_env.signals import Behaviour, Signal

__all__ = [
    "Features",
    "Measurement",
    "Progress",
    "Ratios",
    "Reference",
    "Settle",
    "Spread",
    "Totals",
    "TruthTable",
    "Window",
    "WindowEnd",
]


class WindowEnd(Enum):
    """Why a window is the last one of its run."""

    WORK_DONE = "work_done"
    """The workload finished."""
    LOG_END = "log_end"
    """A recording has no more rows."""
    LOST = "lost"
    """The device is gone."""
    OVERHEATED = "overheated"
    """The hardware had to slow itself down because of its temperature."""


@dataclass(frozen=True, slots=True)
class Settle:
    """What passed between a clock change and the first row of the window after it.

    ``work`` is NaN where nobody counted it.
    """

    seconds: float = 0.0
    joules: float = 0.0
    work: float = 0.0


@dataclass(frozen=True, slots=True)
class Spread:
    """Relative standard errors of one window's work rate and mean power, as the device itself knows them."""

    time: float
    power: float


@dataclass(frozen=True, slots=True)
class Window:
    """What one `Device.observe` saw.

    Attributes:
        t_s: row times on the device's own clock in seconds, float64, shape (n,), n >= 2.
        values: float64, shape (n, k); NaN where missing.
        signals: the k columns.
        requested: the pair that was asked for; None = released to the driver.
        observed: mean clocks really in force, rounded to whole MHz; None where not readable.
        settle: cost of the clock change that preceded the window.
        end: why no further window will follow; None = more can follow.
        spread: standard errors that the device states; None = unknown.
        parts: one window per GPU when the device is a group.
        synthesised: True where rows were made from a table and not sampled.
        throttle_reasons: the driver's words for clocks below the request; empty = none.
    """

    t_s: NDArray[np.float64]
    values: NDArray[np.float64]
    signals: tuple[Signal, ...]
    requested: ClockPair | None
    observed: ClockPair | None
    settle: Settle = Settle()
    end: WindowEnd | None = None
    spread: Spread | None = None
    parts: tuple[Window, ...] = ()
    synthesised: bool = False
    throttle_reasons: tuple[str, ...] = ()

    @property
    def duration_s(self) -> float:
        """Time from the first to the last row."""
        return float(self.t_s[-1] - self.t_s[0])

    def column(self, name: str) -> NDArray[np.float64] | None:
        """Return one signal's values, float64, shape (n,); None where the device has no such signal."""
        for index, signal in enumerate(self.signals):
            if signal.name == name:
                return self.values[:, index]
        return None

    def rate(self, name: str) -> float:
        """Return a counter's growth per second between its first and last valid row.

        NaN where the signal is absent, has fewer than two valid rows, or went back (a reset counter).
        """
        column = self.column(name)
        if column is None:
            return math.nan
        is_valid = np.isfinite(column)
        valid, t_s = column[is_valid], self.t_s[is_valid]
        if len(valid) < 2 or not t_s[-1] > t_s[0] or bool(np.any(np.diff(valid) < 0)):
            return math.nan
        return float((valid[-1] - valid[0]) / (t_s[-1] - t_s[0]))

    def mean(self, signal: Signal) -> float:
        """Return a gauge's or interval's time-weighted mean; NaN without a valid row.

        A gauge counts for the half gaps around its rows, an interval for the gap before its row.
        """
        column = self.column(signal.name)
        if column is None:
            return math.nan
        gaps = np.diff(self.t_s)
        if signal.behaviour is Behaviour.INTERVAL:
            weights = np.concatenate(([0.0], gaps))
        else:
            weights = np.concatenate((gaps, [0.0])) + np.concatenate(([0.0], gaps))
        valid = np.isfinite(column) & (weights > 0)
        if not valid.any():
            return math.nan
        return float(np.average(column[valid], weights=weights[valid]))


@dataclass(frozen=True, slots=True)
class Progress:
    """How fast the workload went in one window.

    Attributes:
        work_rate: units of work per second; NaN = refused.
        rel_sd: relative standard error of ``work_rate``.
        kind: which meter answered ("work_counter", "none", ...).
        reason: why it refused, or why no better meter was chosen; empty = there is nothing to say.
    """

    work_rate: float
    rel_sd: float
    kind: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Ratios:
    """Time and energy per unit of work, relative to the reference (1.0 = as at the reference).

    The standard deviations are absolute. The errors of both are not independent: energy per work carries the
    whole error of time per work, and that of power beside it.
    """

    time: float
    energy: float
    time_sd: float = 0.0
    energy_sd: float = 0.0

    @property
    def slowdown(self) -> float:
        """Time ratio - 1."""
        return self.time - 1.0

    @property
    def saving(self) -> float:
        """1 - energy ratio."""
        return 1.0 - self.energy


@dataclass(frozen=True, slots=True)
class Features:
    """Named counter means of one window: the input of models and observations.

    Attributes:
        names: unique.
        values: float64, shape (len(names),); NaN where missing.
    """

    names: tuple[str, ...]
    values: NDArray[np.float64]

    @classmethod
    def of(cls, values: Mapping[str, float]) -> Features:
        """Build from a mapping, keeping its order."""
        return cls(tuple(values), np.fromiter(values.values(), dtype=np.float64, count=len(values)))

    def get(self, name: str) -> float:
        """Return one value; NaN where the name is unknown or its value is missing."""
        try:
            return float(self.values[self.names.index(name)])
        except ValueError:
            return math.nan

    def missing(self) -> tuple[str, ...]:
        """Return the names without a value."""
        return tuple(name for name, value in zip(self.names, self.values, strict=True) if math.isnan(value))


@dataclass(frozen=True, slots=True)
class Reference:
    """The driver's default, measured: what slowdown and saving are relative to.

    Attributes:
        seconds_per_work: NaN where progress was refused.
        joules_per_work: NaN where progress or energy is missing.
        power_w: mean power.
        spread: relative standard errors of the mean over ``windows`` windows.
        windows: number of windows averaged.
        segment: 0 for the first reference of an episode; a workload shift opens the next one.
    """

    seconds_per_work: float
    joules_per_work: float
    power_w: float
    spread: Spread
    windows: int
    segment: int


@dataclass(frozen=True, slots=True)
class Measurement:
    """One window, summarised.

    Attributes:
        duration_s: length of the window, settling not included.
        energy_j: energy in the window, settling not included; NaN where unknown.
        energy_source: "counter", "power" (integrated) or "none".
        power_w: mean board power.
        progress: what the meter says.
        ratios: against the reference in force; None where progress, energy or reference is missing.
        spread: relative standard errors of work rate and power of this window.
        features: counter means.
        observed: clocks in force; None where not readable.
        settle: cost of the clock change before the window.
        honoured: the clocks in force were the requested ones.
        throttled: the SM clock stayed more than 5 % under the request.
        throttle_reasons: the driver's words for clocks below the request; empty = none.
        missing: names of what could not be measured.
    """

    duration_s: float
    energy_j: float
    energy_source: str
    power_w: float
    progress: Progress
    ratios: Ratios | None
    spread: Spread
    features: Features
    observed: ClockPair | None
    settle: Settle = Settle()
    honoured: bool = True
    throttled: bool = False
    throttle_reasons: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def seconds_per_work(self) -> float:
        """Seconds per unit of work; NaN where progress was refused."""
        return 1.0 / self.progress.work_rate if self.progress.work_rate > 0 else math.nan

    @property
    def joules_per_work(self) -> float:
        """Joules per unit of work; NaN where progress or energy is missing."""
        return self.seconds_per_work * self.energy_j / self.duration_s


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over an episode, everything paid: references, search, profiling and settling included.

    Attributes:
        seconds, joules: what was spent.
        reference_seconds, reference_joules: what the driver's default would have spent on the same work.
        windows: windows measured.
        search_windows, search_seconds, search_joules: the share before the first hold.
        settle_seconds, settle_joules: the share spent between clock changes and windows.
        held: whether the policy has held a pair yet.
    """

    seconds: float = 0.0
    joules: float = 0.0
    reference_seconds: float = 0.0
    reference_joules: float = 0.0
    windows: int = 0
    search_windows: int = 0
    search_seconds: float = 0.0
    search_joules: float = 0.0
    settle_seconds: float = 0.0
    settle_joules: float = 0.0
    held: bool = False

    @property
    def saving(self) -> float:
        """Share of the default's energy saved over the whole run; NaN before any work."""
        return 1.0 - self.joules / self.reference_joules if self.reference_joules > 0 else math.nan

    @property
    def slowdown(self) -> float:
        """Relative time increase over the whole run; NaN before any work."""
        return self.seconds / self.reference_seconds - 1.0 if self.reference_seconds > 0 else math.nan


@dataclass(frozen=True, slots=True)
class TruthTable:
    """Noise-free ratios of every action: for the oracle and for scoring, never for another policy.

    Attributes:
        time: time ratio by action, float64, shape (n_actions,); index 0 is the driver's default.
        energy: likewise.
    """

    time: NDArray[np.float64]
    energy: NDArray[np.float64] = field(repr=False)

    def of(self, action: int) -> Ratios:
        """Return one action's ratios, without spread."""
        return Ratios(float(self.time[action]), float(self.energy[action]))
