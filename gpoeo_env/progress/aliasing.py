"""Is a slow rhythm real, or the beat of fast activity against the sensor's own refresh?

GPT-2 with micro-steps of 108.6 ms, read every 100 ms, shows a clean rhythm of 1.27 s that does not exist. No test on
one sampled series can tell such a beat from a true rhythm. A hardware counter can: its differences miss nothing, so
of activity that is faster than the refresh they show only what the counting itself leaves over, less the slower the
beat is. A line that is stronger is real, and a period is real when real lines need it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.progress.cycles import Cycles, line_surprise
from gpoeo_env.progress.series import Series

__all__ = ["Alibi", "alibi_of", "fast_step_s", "is_unlikely_beat"]

SAFETY = 1.3
"""How far past its limit a line must be to be real; covers an update interval that is known to some per cent only."""
LEAST_SURPRISE = 7.0
"""Evidence that a single line needs before its amplitude means anything: a chance of one in a thousand."""
UNLIKELY_STEPS = 40
"""A rhythm of at least so many steps is a beat only of activity within 2.5 % of a multiple of the sampling rate."""
UNLIKELY_REFRESHES = 100
"""The same for a sensor that repeats its values: it is known to hide what happens between its refreshes. In 500
simulated training loops under a 100 ms power sensor, all beats that passed for rhythms were shorter."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Alibi:
    """What one channel says against a rhythm being a beat.

    Attributes:
        channel: the signal's name.
        margin: by how many times the strongest of the real lines is past its limit; 0 without a real line.
        divisor: greatest common divisor of the orders of the real lines: the rhythm is real up to so many parts of
            it; 0 without a real line.
    """

    channel: str
    margin: float
    divisor: int

    @property
    def holds(self) -> bool:
        """Whether the rhythm cannot be a beat."""
        return self.divisor == 1


def fast_step_s(period_s: float, step_s: float) -> float:
    """Return the longest fast period whose beat with a refresh interval is the given one; infinite below two steps."""
    refreshes = period_s / step_s
    return period_s / (refreshes - 1.0) if refreshes > 2.0 else math.inf


def alibi_of(series: Series, cycles: Cycles) -> Alibi | None:
    """Compare the lines of a rhythm in an integrated channel with what beats could show; None for a sampled channel."""
    if not series.is_integrated or not cycles.mean > 0:
        return None
    order = np.arange(1, len(cycles.share) + 1)
    amplitude = np.abs(np.fft.rfft(cycles.profile))[order] * (2.0 / len(cycles.profile))
    limit = _beat_amplitudes(order / cycles.period_s, series, cycles.mean)
    is_line = line_surprise(cycles.share, cycles.band_bins) >= LEAST_SURPRISE
    is_real = is_line & (amplitude > SAFETY * limit)
    if not is_real.any():
        return Alibi(series.name, 0.0, 0)
    return Alibi(series.name, float(np.max((amplitude / limit)[is_real])), int(np.gcd.reduce(order[is_real])))


def is_unlikely_beat(period_s: float, series: Series) -> bool:
    """Say whether a rhythm is so slow for a sensor that hardly any fast activity could beat like that."""
    steps = UNLIKELY_REFRESHES if series.repeats else UNLIKELY_STEPS
    return period_s >= 0.99 * steps * series.step_s


def _beat_amplitudes(lines_hz: Floats, series: Series, mean: float) -> Floats:
    """Return the largest amplitudes that fast activity can leave at slow lines of an integrated channel.

    Work done by activity of frequency f swings by 1 / (2 pi f) of its amplitude, whenever it is read; read as a slow
    line of frequency v that is a rate of v / f of the amplitude. f is at least the refresh rate less v. The amplitude
    is at most that of the same mean in one burst: 2 m, or 2 / pi sin(pi m) for a share of a maximum (0..1).
    """
    burst = 2.0 / math.pi * math.sin(math.pi * min(mean, 1.0 - 1e-3)) if series.is_ratio else 2.0 * mean
    fast_hz = np.maximum(1.0 / series.step_s - lines_hz, lines_hz)
    limits: Floats = burst * lines_hz / fast_hz
    return limits
