"""The rhythm that several channels share: which candidate wins, how long its whole cycle is, how exact it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpoeo_env.progress.aliasing import Alibi, alibi_of
from gpoeo_env.progress.candidates import candidate_periods, longer_cycle, merged
from gpoeo_env.progress.cycles import FEWEST_CYCLES, Cycles, Timing, cut_cycles, timing_of
from gpoeo_env.progress.series import Series
from gpoeo_env.progress.spectrum import Spectrum

__all__ = ["Rhythm", "Sight", "find_rhythm"]

SHORTEST_S = 0.2
LONGEST_S = 60.0
LEAST_STEPS = 2.2
"""Updates per cycle below which the fundamental lies at the Nyquist rate and its amplitude means nothing."""
LEAST_NATS = 25.0
"""Evidence that a rhythm needs: a chance of 10^-11, so that thousands of trials per estimate leave 10^-8."""
MOST_PARTS = 32
"""A cycle is at most so many times as long as the part of it that was found first (micro-steps of an iteration)."""
MOST_WITNESSES = 4
"""Channels that are asked whether the cycle is longer."""
PLAIN_ORDER = 4
"""Phases of a plain cycle differ enough for one of its first harmonics to be the strongest."""


@dataclass(frozen=True, slots=True)
class Sight:
    """A rhythm as one channel shows it."""

    series: Series
    cycles: Cycles
    alibi: Alibi | None

    @property
    def is_confirmed(self) -> bool:
        """Whether this channel excludes that the rhythm is a beat."""
        return self.alibi is not None and self.alibi.holds


@dataclass(frozen=True, slots=True)
class Rhythm:
    """The best supported rhythm of a span.

    Attributes:
        period_s: duration of the whole cycle.
        uncertainty_s: standard error of ``period_s``.
        longer: by how many times the whole cycle seems to be longer, though too few of these were seen; else 1.
        part_s: the part of the cycle that was found first; ``period_s`` is a multiple of it.
        claim_s: the shortest part of the cycle that the evidence rests on.
        sights: the channels that show it, best first, at least one.
        timing: how the cycles keep time in the best channel.
    """

    period_s: float
    uncertainty_s: float
    part_s: float
    claim_s: float
    longer: int
    sights: tuple[Sight, ...]
    timing: Timing

    @property
    def shortest_claim_s(self) -> float:
        """The shortest time scale on which the rhythm must be real to be believed without a counter.

        That is the part that the evidence rests on, or what varies most where this is a high harmonic of it: a long
        cycle without slow variation is what fast activity leaves when it fits a few refreshes almost exactly.
        """
        cycles = self.sights[0].cycles
        dominant_s = cycles.period_s / (1 + int(np.argmax(np.abs(np.fft.rfft(cycles.profile))[1:])))
        return dominant_s if dominant_s < self.claim_s / PLAIN_ORDER else self.claim_s

    @property
    def is_confirmed(self) -> bool:
        """Whether any channel excludes that the rhythm is a beat."""
        return any(sight.is_confirmed for sight in self.sights)


def find_rhythm(channels: Sequence[Series], spectra: Mapping[str, Spectrum]) -> Rhythm | None:
    """Return the rhythm with the best evidence; None where no candidate stands out from noise.

    A candidate that cannot be a beat comes before one that may be; among equals the evidence of one channel decides.
    """
    best: tuple[Sight, ...] = ()
    best_rank = (False, LEAST_NATS)
    for period_s in _candidates(channels, spectra):
        sights = _sights(channels, period_s)
        confirmed = [sight.cycles.nats for sight in sights if sight.is_confirmed]
        rank = (bool(confirmed), max(confirmed or [sight.cycles.nats for sight in sights] or [0.0]))
        if rank > best_rank:
            best, best_rank = sights, rank
    return _whole_rhythm(channels, best) if best else None


def _candidates(channels: Sequence[Series], spectra: Mapping[str, Spectrum]) -> list[float]:
    found: list[float] = []
    for one in channels:
        shortest_s = max(SHORTEST_S, LEAST_STEPS * one.step_s)
        longest_s = min(LONGEST_S, one.duration_s / FEWEST_CYCLES)
        if longest_s > shortest_s:
            found += candidate_periods(spectra[one.name], shortest_s, longest_s)
    return merged(found, 1.0 / max(one.duration_s for one in channels))


def _sights(channels: Sequence[Series], period_s: float) -> tuple[Sight, ...]:
    """Return the channels in which a period is significant, best first."""
    found = []
    for one in channels:
        cycles = cut_cycles(one, period_s) if period_s >= LEAST_STEPS * one.step_s else None
        if cycles is not None and cycles.nats >= LEAST_NATS:
            found.append(Sight(one, cycles, alibi_of(one, cycles)))
    return tuple(sorted(found, key=lambda sight: -sight.cycles.nats))


def _whole_rhythm(channels: Sequence[Series], sights: tuple[Sight, ...]) -> Rhythm:
    """Time the cycles, then lengthen the cycle as long as something repeats only every few of them."""
    part_s = sights[0].cycles.period_s
    rhythm = _timed(channels, sights, part_s=part_s, claim_s=part_s)
    while True:
        most = int(MOST_PARTS * rhythm.part_s / rhythm.period_s + 0.5)
        lengthening = longer_cycle(_witnesses(rhythm.sights), rhythm.period_s, most)
        whole_s = lengthening.multiple * rhythm.period_s
        longer = _sights(channels, whole_s) if lengthening.multiple > 1 else ()
        if not longer:
            return replace(rhythm, longer=lengthening.multiple)
        claim_s = whole_s if lengthening.nats >= LEAST_NATS else rhythm.claim_s
        rhythm = _timed(channels, longer, part_s=part_s, claim_s=claim_s)


def _witnesses(sights: Sequence[Sight]) -> list[Series]:
    """Return the channels to ask for a longer cycle: counters where there are any, as sampled sensors mirror lines."""
    counters = [sight.series for sight in sights if sight.series.is_integrated]
    return (counters or [sight.series for sight in sights])[:MOST_WITNESSES]


def _timed(channels: Sequence[Series], sights: tuple[Sight, ...], *, part_s: float, claim_s: float) -> Rhythm:
    """Correct the period by the timing of its cycles in all channels that show it."""
    correction_s, _, _ = _pooled(sights)
    period_s = sights[0].cycles.period_s + correction_s
    sights = _sights(channels, period_s) or sights
    correction_s, uncertainty_s, timing = _pooled(sights)
    return Rhythm(
        period_s=sights[0].cycles.period_s + correction_s,
        uncertainty_s=uncertainty_s,
        part_s=part_s,
        claim_s=claim_s,
        longer=1,
        sights=sights,
        timing=timing,
    )


def _pooled(sights: Sequence[Sight]) -> tuple[float, float, Timing]:
    """Average the corrections of several channels by their certainty; they see one program, so errors do not cancel."""
    timings = [timing_of(sight.cycles) for sight in sights]
    weight = np.array([1.0 / max(timing.uncertainty_s, 1e-6) ** 2 for timing in timings])
    correction = np.array([timing.correction_s for timing in timings])
    return float(weight @ correction / weight.sum()), math.sqrt(len(weight) / float(weight.sum())), timings[0]
