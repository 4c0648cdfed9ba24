"""Does a series repeat with one given period, and how exactly?

The last whole number of cycles is laid on a grid of equal phases. A rhythm then falls into every N-th bin of the
transform and leaves the bins between for noise and drift: a comparison within narrow bands that no colour of the
noise can mislead. The same grid gives the mean cycle and the timing of every single one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from gpoeo_env.progress.series import Series
from gpoeo_env.progress.spectrum import without_trend

__all__ = ["Cycles", "Timing", "cut_cycles", "evidence_nats", "line_surprise", "timing_of"]

MOST_PHASES = 96
"""Phases per cycle: enough for a dip of one per cent of the cycle to show."""
MOST_HARMONICS = 32
BLOCKS = 6
"""Parts of a span whose rhythm is compared: few enough that noise alone hides it in none."""
FEWEST_CYCLES = 6
"""Fewer repeats cannot be told from chance, nor whether every second or third cycle differs."""
LOCKING = 0.15
"""Part of a refresh by which the timing of all cycles may be off together. Where a cycle is nearly a whole number of
refreshes, the same part of it is sampled again and again and the error drifts once through the span (0.4 ms per
cycle of 1.3008 s over 22 cycles, against program marks, on an H200)."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cycles:
    """A series cut into cycles of one period.

    Attributes:
        period_s: the period that was tried.
        grid: values without trend by cycle and phase, float64, shape (cycles, phases).
        profile: the mean cycle, without its mean, float64, shape (phases,).
        mean: mean of the values, trend included.
        share: per harmonic, its part of the power in the band around it, 0..1, float64, shape (harmonics,).
        band_bins: independent bins in one such band.
        nats: evidence for a rhythm: minus the log of the chance that noise shows as much.
        updates: readings per cycle.
    """

    period_s: float
    grid: Floats
    profile: Floats
    mean: float
    share: Floats
    band_bins: int
    nats: float
    updates: float

    @property
    def count(self) -> int:
        """Number of whole cycles."""
        return len(self.grid)


def cut_cycles(series: Series, period_s: float, *, fewest: int = FEWEST_CYCLES, parts: int = 1) -> Cycles | None:
    """Lay the last whole cycles of a series on a grid of phases; None where they are too few, or flat.

    Every cell of the grid is the mean over its own time, so that what is faster than the grid cannot fold into it.

    Args:
        series: one channel.
        period_s: the cycle to try.
        fewest: smallest number of cycles to accept, at least 2.
        parts: number of equal parts whose own cycle must fit the grid as well.
    """
    count = int(series.duration_s / period_s)
    harmonics = min(MOST_HARMONICS, int(0.5 * period_s / series.step_s))
    if count < fewest or harmonics < 1:
        return None
    phases = parts * math.ceil(min(MOST_PHASES, max(8, math.ceil(2 * period_s / series.step_s))) / parts)
    harmonics = min(harmonics, phases // 2 - 1)
    edges_s = series.t_s[-1] + (np.arange(count * phases + 1) - count * phases) * (period_s / phases)
    sampled = np.diff(np.interp(edges_s, series.t_s, series.totals)) * (phases / period_s)
    flat = without_trend(edges_s[1:], sampled)
    if np.ptp(flat) <= 1e-9 * np.max(np.abs(sampled)):
        return None
    power = np.abs(np.fft.rfft(flat)) ** 2
    reach = max(1, (count - 1) // 2)
    bands = np.arange(1, harmonics + 1)[:, None] * count + np.arange(-reach, reach + 1)[None, :]
    in_bands = power[np.minimum(bands, len(power) - 1)]
    totals = in_bands.sum(axis=1)
    share = np.where(totals > 0, in_bands[:, reach] / np.where(totals > 0, totals, 1.0), 0.0)
    grid = flat.reshape(count, phases)
    profile = grid.mean(axis=0)
    return Cycles(
        period_s=period_s,
        grid=grid,
        profile=profile - profile.mean(),
        mean=float(sampled.mean()),
        share=share,
        band_bins=2 * reach + 1,
        nats=evidence_nats(share, 2 * reach + 1),
        updates=period_s / series.step_s,
    )


def evidence_nats(share: Floats, band_bins: int) -> float:
    """Combine the surprises of several harmonics into one significance (Fisher), in nats."""
    if len(share) == 0:
        return 0.0
    surprise = np.sort(line_surprise(share, band_bins))[::-1]
    # Only as many lines as pay for themselves: a rhythm has its power in the first few, noise in none.
    total = np.cumsum(surprise)
    counts = np.arange(1, len(share) + 1)
    return float(np.max(total - (counts - 1) * np.log(np.maximum(total, 1.0)) - _choosing_cost(len(share))))


def line_surprise(share: Floats, band_bins: int) -> Floats:
    """Return minus the log of the chance that noise gives a line its share of a band, for every share.

    In noise a line's share of a band with n bins exceeds r with chance (1 - r)^(n - 1).
    """
    surprise: Floats = -(band_bins - 1) * np.log1p(-np.minimum(share, 1.0 - 1e-9))
    return surprise


@lru_cache(maxsize=256)
def _choosing_cost(lines: int) -> Floats:
    """Return, for the k most surprising of n lines, the log of the choices less the log of (k - 1) factorial.

    A sum of k exponential surprises s has the chance s^(k - 1) e^-s / (k - 1)!, for large s.
    """
    counts = np.arange(1, lines + 1)
    choices = gammaln(lines + 1) - gammaln(counts + 1) - gammaln(lines - counts + 1)
    cost: Floats = choices - gammaln(counts)
    return cost


@dataclass(frozen=True, slots=True)
class Timing:
    """How exactly the cycles keep time.

    Attributes:
        correction_s: what to add to the period that was tried.
        uncertainty_s: standard error of the corrected period.
        late_s: how late every cycle is against a steady beat, float64, shape (cycles,).
        strength: how much of the mean cycle is found in every single one (1 = all), float64, shape (cycles,).
    """

    correction_s: float
    uncertainty_s: float
    late_s: Floats
    strength: Floats

    def block_strength(self) -> Floats:
        """Return the mean strength of equal parts of the span, in order, float64, shape (<= 6,)."""
        blocks = np.array_split(self.strength, min(BLOCKS, len(self.strength)))
        return np.array([block.mean() for block in blocks])


def timing_of(cycles: Cycles) -> Timing:
    """Time every cycle against the mean one and derive how far the period is off, and how certain that is.

    The error has three parts: reading every cycle's time (independent), a rhythm that itself wanders (a random walk),
    and what the sensor's own grid does to all cycles alike.
    """
    pattern = np.fft.rfft(cycles.profile)
    order = np.arange(len(pattern))
    single = np.fft.rfft(cycles.grid, axis=1)
    slope_power = float(np.sum(order**2 * np.abs(pattern) ** 2))
    shift = np.sum(order * np.imag(np.conj(pattern) * single), axis=1) / slope_power
    late_s: Floats = -shift * cycles.period_s / (2 * np.pi)
    strength = np.sum(np.real(np.conj(pattern) * single)[:, 1:], axis=1) / float(np.sum(np.abs(pattern[1:]) ** 2))
    index = np.arange(cycles.count, dtype=np.float64) - 0.5 * (cycles.count - 1)
    correction_s = float(index @ late_s / (index @ index))
    residual = without_trend(index, late_s)
    locking_s = LOCKING * cycles.period_s / cycles.updates / cycles.count
    return Timing(correction_s, math.hypot(_slope_error(residual), locking_s), late_s, strength)


def _slope_error(residual: Floats) -> float:
    """Return the standard error of a slope whose residuals are white noise plus a random walk."""
    count = len(residual)
    lag = max(2, count // 4)
    variance_near = float(np.mean(np.diff(residual) ** 2))
    variance_far = float(np.mean((residual[lag:] - residual[:-lag]) ** 2))
    walk = max(0.0, (variance_far - variance_near) / (lag - 1))
    white = 0.5 * max(variance_near - walk, 0.0)
    walk *= (1.0 + 2.0 / math.sqrt(count)) ** 2  # A walk is seen in a few long steps only: take an upper bound.
    return math.sqrt(12.0 * white / count**3 + 1.2 * walk / count)
