"""Progress from hardware counters: the work of a fixed program per unit of its own work is constant.

A pipe that is active for a share ``u`` of the cycles at clock ``f`` does work in proportion to ``u * f``; so does the
memory at its own clock. Both are integrated over a window and compared with the first usable window, the anchor.
Every source then estimates the same number: how fast the program goes relative to its pace in the anchor. The unit
is therefore "seconds of work at the anchor's pace" and stays the same across windows and clock pairs until `reset`.

    meter = CounterWorkMeter()
    meter.measure(window_at_default).work_rate      # 1.0: the anchor
    meter.measure(window_at_1200_mhz).work_rate     # 0.93: 7.5 % slower

Being active is not work: SM activity times clock misses the true slowdown by 10 % (median) to 30 %, and is not used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpoeo_env.progress.activity import MEMORY, Activity, activity_of, mean_clock_mhz
from gpoeo_env.records import Progress, Spread, Window
from gpoeo_env.signals import MEM_CLOCK, SM_CLOCK

__all__ = ["CounterWorkMeter"]

MEMORY_DRIFT = 0.008
PIPE_DRIFT = 0.022
"""Relative standard deviation of a source's work per unit of true work between clock pairs. From 20 V100 programs at
900-1237 against 1380 MHz: DRAM errs by 0.4 % (median) and 1.4 % (95th percentile), FP32 by 2.0 % and 3.9 %: pipe
counters are sampled on some SMs only, DRAM counters see all traffic."""
DRIFTED_AT = 0.1
"""Relative clock distance from the anchor at which the whole drift is assumed; below, in proportion. The measured
drift is no larger at 900 than at 1237 of 1380 MHz."""
BACKGROUND = 5e-4
"""Activity that may not belong to the program: counters of 0.006-0.08 erred by 10-0.7 % on those programs."""
MOST_BACKGROUND = 0.05
"""A source carries evidence when the background is at most this share of it."""
CACHE_EFFECT = 3.0
"""Standard deviations by which memory may contradict the pipes at other clocks before it is set aside: executed
instructions belong to the program, memory traffic depends on what the caches caught at that clock."""
MOST_SCATTER = 0.10
"""Sources that disagree by more (weighted root mean square) no longer count the same work."""
LEAST_REL_SD = 1e-3
"""No window is more certain: ten-second windows of the steadiest real loops on an H200 vary by 0.04-0.2 %."""


class CounterWorkMeter:
    """Measures work per second from pipe and memory activity, relative to the first usable window."""

    def __init__(self) -> None:
        """Start without an anchor."""
        self._anchor: _Anchor | None = None

    def reset(self) -> None:
        """Forget the anchor: the next usable window starts a new unit (another workload, another segment)."""
        self._anchor = None

    @property
    def weights(self) -> Mapping[str, float]:
        """Share of each source in the result; empty before the first usable window."""
        if self._anchor is None:
            return {}
        spreads = {name: self._anchor.spread(name) for name in self._anchor.rates}
        total = sum(spread**-2 for spread in spreads.values())
        return {name: spread**-2 / total for name, spread in spreads.items()}

    def measure(self, window: Window) -> Progress:
        """Return the work rate in seconds of the anchor's pace per second, or a refusal. Never raises on odd data.

        ``rel_sd`` holds the window's own sampling error, what the sources may drift between the anchor's clocks and
        this window's, and how far the sources disagree.
        """
        clocks = _Clocks(mean_clock_mhz(window, SM_CLOCK), mean_clock_mhz(window, MEM_CLOCK))
        seen = activity_of(window)
        if not seen.rates:
            return _refusal(
                "no pipe or memory activity here: the counters are absent, never refreshed, or their clock is unknown"
            )
        if self._anchor is None:
            usable = [name for name, level in seen.levels.items() if MOST_BACKGROUND * level >= BACKGROUND]
            if not usable:
                return _refusal(f"no pipe and no memory is active for {BACKGROUND / MOST_BACKGROUND:.0%} of the time")
            self._anchor = _Anchor({n: seen.rates[n] for n in usable}, {n: seen.levels[n] for n in usable}, clocks)
        return self._compare(self._anchor, seen, clocks, window.spread)

    def _compare(self, anchor: _Anchor, seen: Activity, clocks: _Clocks, stated: Spread | None) -> Progress:
        present = [name for name in anchor.rates if name in seen.rates]
        if not present:
            return _refusal(f"this window lacks the counters of the first one ({', '.join(anchor.rates)})")
        stopped = [name for name in present if not seen.levels[name] > BACKGROUND]
        if stopped:
            return _refusal(f"{', '.join(stopped)} fell to the background: the GPU paused or the work changed")
        logs = {name: math.log(seen.rates[name] / anchor.rates[name]) for name in present}
        distance = min(1.0, clocks.distance(anchor.clocks) / DRIFTED_AT)
        estimate = _combine(logs, {name: anchor.spread(name) for name in present}, distance)
        if estimate.scatter > MOST_SCATTER:
            return _refusal(f"{', '.join(present)} disagree by {estimate.scatter:.0%}: the mix of work changed")
        sampling = max(stated.time if stated else seen.sampling, LEAST_REL_SD)
        rel_sd = math.hypot(sampling, distance * estimate.spread, estimate.scatter)
        return Progress(work_rate=math.exp(estimate.log_rate), rel_sd=rel_sd, kind="counter_work")


@dataclass(frozen=True, slots=True)
class _Clocks:
    """Mean clocks of a window in MHz; NaN = unknown."""

    sm_mhz: float
    mem_mhz: float

    def distance(self, other: _Clocks) -> float:
        """Return the relative distance; an unknown clock tells of none."""
        pairs = ((self.sm_mhz, other.sm_mhz), (self.mem_mhz, other.mem_mhz))
        return sum(abs(math.log(one / two)) for one, two in pairs if one > 0 and two > 0)


@dataclass(frozen=True, slots=True)
class _Anchor:
    """The first usable window: what each source showed there, and at which clocks."""

    rates: Mapping[str, float]
    levels: Mapping[str, float]
    clocks: _Clocks

    def spread(self, name: str) -> float:
        """Return a source's relative standard deviation at clocks far from the anchor's."""
        drift = MEMORY_DRIFT if name == MEMORY else PIPE_DRIFT
        return math.hypot(drift, BACKGROUND / self.levels[name])


@dataclass(frozen=True, slots=True)
class _Estimate:
    """Logarithm of the combined rate, what its sources may drift, and how far they are from each other."""

    log_rate: float
    spread: float
    scatter: float


def _combine(logs: Mapping[str, float], spreads: Mapping[str, float], distance: float) -> _Estimate:
    """Average by inverse variance. The sources' errors are not independent: more of them do not shrink the spread."""
    spreads = dict(spreads)
    pipes = [name for name in logs if name != MEMORY]
    if distance >= 1.0 and pipes and len(pipes) < len(logs):
        of_pipes = _average(logs, spreads, pipes)
        gap = abs(logs[MEMORY] - of_pipes.log_rate)
        if gap > CACHE_EFFECT * math.hypot(spreads[MEMORY], of_pipes.spread):
            spreads[MEMORY] = gap
    return _average(logs, spreads, tuple(logs))


def _average(logs: Mapping[str, float], spreads: Mapping[str, float], names: Sequence[str]) -> _Estimate:
    total = sum(spreads[name] ** -2 for name in names)
    weights = {name: spreads[name] ** -2 / total for name in names}
    log_rate = sum(weights[name] * logs[name] for name in names)
    return _Estimate(
        log_rate=log_rate,
        spread=sum(weights[name] * spreads[name] for name in names),
        scatter=math.sqrt(sum(weights[name] * (logs[name] - log_rate) ** 2 for name in names)),
    )


def _refusal(reason: str) -> Progress:
    return Progress(work_rate=math.nan, rel_sd=math.nan, kind="none", reason=reason)
