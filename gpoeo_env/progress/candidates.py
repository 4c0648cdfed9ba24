"""Which periods are worth a test: from the lines of a spectrum to fundamentals, and from a part to the whole cycle."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.progress.cycles import FEWEST_CYCLES, cut_cycles, evidence_nats
from gpoeo_env.progress.series import Series
from gpoeo_env.progress.spectrum import Spectrum, strongest_lines

__all__ = ["Lengthening", "candidate_periods", "longer_cycle", "merged"]

LEAST_STRENGTH = 12.0
"""Power over the local noise: noise alone reaches it once in e^12 independent bins."""
MOST_LINES = 12
MOST_ORDER = 8
"""The strongest line may be up to this harmonic of the rhythm."""
MOST_CANDIDATES = 3
TOLERANCE = 0.6
"""A line belongs to a comb within this part of the resolution."""
LONGER_NATS = 20.0
"""Evidence that a longer cycle needs. Less than a period needs: a whole multiple counts iterations just as well, a
fraction does not."""
NEAR_MULTIPLE = 8
FAR_NATS = 30.0
"""The same for more than eight times the period, which is many iterations if it is wrong."""
FAR_WITNESSES = 2
DOUBTFUL_NATS = 10.0
"""The same where the longer cycle was seen a few times only: enough for doubt."""
FEWEST_LONGER = 2
LEAST_BETWEEN = 2e-3
"""Share of the cycle's power that the lines between must hold: artefacts of the polling stay below it."""
LEAST_BETWEEN_FAR = 1e-2
EDGE_STRENGTH = 2.0
"""Amplitude times order of a high harmonic, in parts of that of the strongest line. One edge has about 1; utilisation,
which averages over its refresh, showed 2 on an H200."""

Floats = NDArray[np.float64]


def candidate_periods(spectrum: Spectrum, shortest_s: float, longest_s: float) -> list[float]:
    """Return the periods whose harmonics explain the strong lines best, best first.

    Every strong line is tried as each of the first harmonics of a rhythm; the fundamental is fitted to all lines
    that then fit. A hit counts by its strength, less where a comb is so dense that chance alone would hit.
    """
    lines_hz, strength = strongest_lines(spectrum, MOST_LINES, LEAST_STRENGTH)
    if len(lines_hz) == 0:
        return []
    tried_hz = np.unique(np.outer(lines_hz[: MOST_LINES // 2], 1.0 / np.arange(1, MOST_ORDER + 1)).ravel())
    tried_hz = tried_hz[(tried_hz >= 1.0 / longest_s) & (tried_hz <= 1.0 / shortest_s)]
    if len(tried_hz) == 0:
        return []
    order = np.maximum(np.round(lines_hz / tried_hz[:, None]), 1.0)
    is_hit = np.abs(lines_hz - order * tried_hz[:, None]) < TOLERANCE * spectrum.resolution_hz
    weight = strength * is_hit
    fitted_hz = np.sum(weight * order * lines_hz, axis=1) / np.sum(weight * order**2, axis=1)
    chance = np.minimum(1.0, 2.0 * TOLERANCE * spectrum.resolution_hz / tried_hz)
    score = (1.0 - chance) * np.sum(np.log(strength) * is_hit, axis=1)
    best = np.argsort(-score, kind="stable")
    return merged((1.0 / float(fitted_hz[i]) for i in best), spectrum.resolution_hz)[:MOST_CANDIDATES]


def merged(periods_s: Iterable[float], resolution_hz: float) -> list[float]:
    """Drop periods that cannot be told from an earlier one."""
    kept: list[float] = []
    for period_s in periods_s:
        if all(abs(1.0 / period_s - 1.0 / other_s) > 0.3 * resolution_hz for other_s in kept):
            kept.append(period_s)
    return kept


@dataclass(frozen=True, slots=True)
class Lengthening:
    """How much longer the whole cycle is than a part of it.

    Attributes:
        multiple: the cycle in parts; 1 = the part is whole.
        nats: the evidence, in lines that the part does not have.
    """

    multiple: int
    nats: float


def longer_cycle(series: Sequence[Series], period_s: float, most: int) -> Lengthening:
    """Tell whether a period that was found is only a part of what repeats.

    Accumulated micro-steps or an evaluation every few iterations leave lines between the harmonics of the step.

    Args:
        series: the channels that show the period.
        period_s: the period that was found.
        most: the largest multiple to try.
    """
    near = _best_multiple(series, period_s, range(2, min(most, NEAR_MULTIPLE) + 1))
    if near.multiple > 1:
        return near
    return _best_multiple(series[:FAR_WITNESSES], period_s, range(NEAR_MULTIPLE + 1, most + 1))


def _best_multiple(series: Sequence[Series], period_s: float, multiples: Iterable[int]) -> Lengthening:
    best, best_excess = Lengthening(1, 0.0), 1.0
    for multiple in multiples:
        for one in series:
            nats, needed = _between_nats(one, period_s, multiple)
            if nats > best_excess * needed:
                best, best_excess = Lengthening(multiple, nats), nats / needed
    return best


def _between_nats(series: Series, period_s: float, multiple: int) -> tuple[float, float]:
    """Return the evidence in the lines of the longer cycle that the shorter one does not have, and what it needs."""
    cycles = cut_cycles(series, period_s * multiple, fewest=FEWEST_LONGER, parts=multiple)
    if cycles is None:
        return 0.0, math.inf
    order = np.arange(1, len(cycles.share) + 1)
    power = np.abs(np.fft.rfft(cycles.profile))[1 : len(order) + 1] ** 2
    may_be_mirrored = _may_be_mirrored(order / multiple, power / power.max(), series, period_s)
    is_between = (order % multiple != 0) & ~may_be_mirrored
    is_near = multiple <= NEAR_MULTIPLE
    if power[is_between].sum() < (LEAST_BETWEEN if is_near else LEAST_BETWEEN_FAR) * power.sum():
        return 0.0, math.inf
    needed = (LONGER_NATS if cycles.count >= FEWEST_CYCLES else DOUBTFUL_NATS) if is_near else FAR_NATS
    return evidence_nats(cycles.share[is_between], cycles.band_bins), needed


def _may_be_mirrored(order: Floats, power: Floats, series: Series, period_s: float) -> NDArray[np.bool_]:
    """Say which lines may be harmonics beyond the refresh rate, mirrored into view.

    All of them land at the same distance from a whole harmonic: that of the refresh rate itself. And they are weak:
    even edges fall off as the square of the harmonic.

    Args:
        order: the lines, in harmonics of the period.
        power: their power, in parts of the strongest.
        series: the channel.
        period_s: the period.
    """
    refreshes = period_s / series.step_s
    distance = order[:, None] - np.array([-2.0, -1.0, 1.0, 2.0])[None, :] * refreshes
    off: Floats = np.abs(distance - np.round(distance)).min(axis=1)
    is_weak: NDArray[np.bool_] = power < (EDGE_STRENGTH * max(1.0, order[np.argmax(power)]) / (refreshes - order)) ** 2
    return (off < TOLERANCE * period_s / series.duration_s) & is_weak
