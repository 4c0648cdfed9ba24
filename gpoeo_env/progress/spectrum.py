"""The spectrum of irregular updates, measured against its own local noise.

Samples are spread over a fine regular grid (a fast stand-in for the exact transform of irregular samples, true to a
few per cent up to the Nyquist rate) and tapered. A line is strong when it stands above the median of its
neighbourhood, whatever the colour of the noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len, rfft, rfftfreq
from scipy.ndimage import median_filter

from gpoeo_env.progress.series import Series

__all__ = ["Spectrum", "spectrum_of", "strongest_lines", "without_trend"]

GRID_PER_STEP = 3
"""Grid points per update: linear spreading then loses under 4 % of amplitude below half the Nyquist rate."""
PADDING = 2
"""Zero-padding, so that a line is never more than a quarter of its width off a frequency."""
NEIGHBOURS = 41
"""Independent bins in the median that serves as noise floor: a comb of ten cycles fills under half of them."""
FEWEST_CYCLES = 2.5
"""Slower than this many cycles a span is trend, not line."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Strength by frequency.

    Attributes:
        step_hz: distance of neighbouring frequencies; the first is 0.
        strength: power over the local noise floor (1 = as noise, on average), float64, shape (n,).
        resolution_hz: width of an independent bin: one over the duration.
    """

    step_hz: float
    strength: Floats
    resolution_hz: float

    @property
    def frequencies_hz(self) -> Floats:
        """Frequencies from 0 to the Nyquist rate of the refresh, float64, shape (n,)."""
        return np.arange(len(self.strength), dtype=np.float64) * self.step_hz


def spectrum_of(series: Series) -> Spectrum:
    """Return the spectrum of one channel up to its Nyquist rate; a linear trend is removed first."""
    elapsed_s = series.t_s - series.t_s[0]
    duration_s = series.duration_s
    taper = np.sin(np.pi * elapsed_s / duration_s) ** 2
    weighted = taper * without_trend(elapsed_s, series.values)
    grid_s = series.step_s / GRID_PER_STEP
    size = next_fast_len(int(PADDING * (duration_s / grid_s + 2)), real=True)
    position = elapsed_s / grid_s
    left = position.astype(np.int64)
    right_share = position - left
    spread = np.bincount(left, weighted * (1.0 - right_share), size) + np.bincount(
        left + 1, weighted * right_share, size
    )
    power = np.abs(rfft(spread)) ** 2
    step_hz = float(rfftfreq(size, grid_s)[1])
    power = power[: int(0.5 / series.step_s / step_hz) + 1]
    return Spectrum(step_hz, power / _noise_floor(power, 1.0 / (duration_s * step_hz)), 1.0 / duration_s)


def strongest_lines(spectrum: Spectrum, most: int, least_strength: float) -> tuple[Floats, Floats]:
    """Return frequencies and strengths of the strongest lines, strongest first; frequencies lie between the bins."""
    strength = spectrum.strength
    inner = strength[1:-1]
    is_peak = (inner > strength[:-2]) & (inner >= strength[2:]) & (inner >= least_strength)
    peaks = np.flatnonzero(is_peak) + 1
    peaks = peaks[peaks * spectrum.step_hz >= FEWEST_CYCLES * spectrum.resolution_hz]
    peaks = peaks[np.argsort(-strength[peaks], kind="stable")][:most]
    before, at, after = (np.log(strength[peaks + shift] + 1e-300) for shift in (-1, 0, 1))
    curvature = before - 2 * at + after
    offset = np.where(curvature < 0, 0.5 * (before - after) / np.where(curvature < 0, curvature, 1.0), 0.0)
    return np.asarray((peaks + offset) * spectrum.step_hz, np.float64), strength[peaks]


def without_trend(t_s: Floats, values: Floats) -> Floats:
    """Return values minus their least-squares line over time."""
    centred_s = t_s - t_s.mean()
    slope = centred_s @ values / (centred_s @ centred_s)
    flat: Floats = values - values.mean() - slope * centred_s
    return flat


def _noise_floor(power: Floats, bins_per_line: float) -> Floats:
    """Return the mean noise power near every frequency: a running median, scaled for exponential noise."""
    stride = max(1, round(bins_per_line))
    independent = power[::stride]
    width = min(NEIGHBOURS, max(3, len(independent) // 2 * 2 - 1))
    floor = median_filter(independent, size=width, mode="reflect") / np.log(2.0)
    floor = np.maximum(floor, 1e-12 * power.max(initial=1e-300))
    smooth: Floats = np.interp(np.arange(len(power)), np.arange(len(independent)) * stride, floor)
    return smooth
