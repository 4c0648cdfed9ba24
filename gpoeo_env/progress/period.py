"""The iteration of a program, read from what the sensors show.

    estimate = estimate_period(window.t_s, window.values, [signal.name for signal in window.signals])
    if estimate.is_periodic:
        print(estimate.period_s, "+-", estimate.uncertainty_s)

A period is reported only when four things hold: noise does not show as much, the rhythm is kept from the start to the
end of the span, its error is far below one per cent, and it is no alias. Everything else is refused with a reason.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc

from gpoeo_env.progress.aliasing import fast_step_s, is_unlikely_beat
from gpoeo_env.progress.cycles import FEWEST_CYCLES
from gpoeo_env.progress.rhythm import Rhythm, find_rhythm
from gpoeo_env.progress.series import Series, prepare_series, steady_span
from gpoeo_env.progress.spectrum import Spectrum, spectrum_of

__all__ = ["PeriodEstimate", "Periodogram", "estimate_period"]

MOST_CHANNELS = 5
"""Channels with the strongest lines that are looked at; the rest repeats them."""
LEAST_SPAN_S = 20.0
"""Shortest end of a recording that is looked at by itself."""
MOST_ERROR = 0.003
"""Largest relative uncertainty of a reported period: over three times this is one per cent."""
STRENGTH_KEPT = (0.3, 1.7)
"""Where the rhythm's strength must lie in every sixth of the span, in parts of its mean."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Periodogram:
    """What a plot needs to show why.

    Attributes:
        channel: the channel that shows the rhythm best.
        frequencies_hz: float64, shape (n,).
        strength: power over the local noise floor at these frequencies, float64, shape (n,).
        profile: mean cycle of that channel, without its mean, in its own unit, float64, shape (phases,); empty
            without a rhythm.
    """

    channel: str
    frequencies_hz: Floats
    strength: Floats
    profile: Floats


@dataclass(frozen=True, slots=True)
class PeriodEstimate:
    """A period, or why there is none.

    Attributes:
        kind: "periodic"; "aperiodic": enough was seen and nothing repeats; "refused": it cannot be told.
        period_s: mean duration of a cycle in the span; NaN unless periodic.
        uncertainty_s: standard error of ``period_s``; NaN unless periodic.
        confidence: chance that the period is within 1 % of the true mean cycle, by its uncertainty; 0 unless periodic.
        reason: what decided, in words.
        channels: the signals that show the rhythm, best first.
        span_s: start and end of what was looked at.
        suspected_s: a steady period that was refused; NaN where there was none.
        evidence: arrays for a plot; None where no channel could be used.
    """

    kind: str
    period_s: float
    uncertainty_s: float
    confidence: float
    reason: str
    channels: tuple[str, ...] = ()
    span_s: tuple[float, float] = (math.nan, math.nan)
    suspected_s: float = math.nan
    evidence: Periodogram | None = None

    @property
    def is_periodic(self) -> bool:
        """Whether a period was found."""
        return self.kind == "periodic"

    def as_dict(self) -> dict[str, object]:
        """Return the fields for JSON, arrays left out; a missing number is None."""
        return {
            "kind": self.kind,
            "period_s": _number(self.period_s),
            "uncertainty_s": _number(self.uncertainty_s),
            "confidence": self.confidence,
            "reason": self.reason,
            "channels": list(self.channels),
            "span_s": [_number(edge_s) for edge_s in self.span_s],
            "suspected_s": _number(self.suspected_s),
        }


def estimate_period(
    t_s: Floats, values: Floats, names: Sequence[str], *, marks_s: Floats | None = None
) -> PeriodEstimate:
    """Estimate the duration of one iteration, or of the cycle of iterations that repeats.

    Args:
        t_s: row times in seconds, shape (n,); irregular, unordered, duplicated or NaN rows are tolerated.
        values: readings, NaN = missing, shape (n, k).
        names: the k signals; canonical names tell hardware counters from sampled sensors.
        marks_s: starts of iterations as the program itself told them; they confirm what could be an alias.
    """
    series = prepare_series(np.asarray(t_s, np.float64), np.asarray(values, np.float64), names)
    if not series:
        return _without_period("aperiodic", "no channel varies, or none has enough updates to show it")
    start_s, end_s = steady_span(series)
    estimate = latest = _examine(series, start_s, end_s, marks_s)
    # The head may be a warm-up or another program, and a drifting beat is steady for a while: the present counts.
    while not latest.is_periodic and math.isnan(latest.suspected_s) and end_s - start_s >= 2.0 * LEAST_SPAN_S:
        start_s = 0.5 * (start_s + end_s)
        latest = _examine(series, start_s, end_s, marks_s)
    return latest if latest.is_periodic else estimate


def _examine(series: Sequence[Series], start_s: float, end_s: float, marks_s: Floats | None) -> PeriodEstimate:
    channels = [part for one in series if (part := one.between(start_s, end_s)) is not None]
    if not channels:
        return _without_period("aperiodic", "nothing varies while the GPU is busy", span_s=(start_s, end_s))
    spectra = {one.name: spectrum_of(one) for one in channels}
    channels = _telling(channels, spectra)
    rhythm = find_rhythm(channels, spectra)
    if rhythm is None:
        reason = f"nothing repeats at least {FEWEST_CYCLES} times in {end_s - start_s:.1f} s more than noise does"
        evidence = _evidence(channels[0].name, spectra)
        return _without_period("aperiodic", reason, span_s=(start_s, end_s), evidence=evidence)
    return _judged(
        rhythm, channels, (start_s, end_s), marks_s, _evidence(rhythm.sights[0].series.name, spectra, rhythm)
    )


def _telling(channels: Sequence[Series], spectra: Mapping[str, Spectrum]) -> list[Series]:
    """Return the channels with the strongest lines, and the counter nearest its maximum: it excludes aliases best."""
    by_strength = sorted(channels, key=lambda one: -float(spectra[one.name].strength.max(initial=0.0)))
    chosen = by_strength[:MOST_CHANNELS]
    counters = [one for one in by_strength if one.is_integrated and one.is_ratio]
    if counters:
        fullest = max(counters, key=lambda one: float(one.values.mean()))
        chosen += [fullest] if all(one is not fullest for one in chosen) else []
    return chosen


def _judged(
    rhythm: Rhythm,
    channels: Sequence[Series],
    span_s: tuple[float, float],
    marks_s: Floats | None,
    evidence: Periodogram,
) -> PeriodEstimate:
    names = tuple(sight.series.name for sight in rhythm.sights)
    fading = _fading(rhythm)
    refusal = fading or _too_short(rhythm) or _irregular(rhythm) or _alias(rhythm, channels, marks_s)
    if refusal:
        suspected_s = math.nan if fading else rhythm.period_s
        return _without_period(
            "refused", refusal, channels=names, span_s=span_s, suspected_s=suspected_s, evidence=evidence
        )
    return PeriodEstimate(
        kind="periodic",
        period_s=rhythm.period_s,
        uncertainty_s=rhythm.uncertainty_s,
        confidence=1.0 - float(erfc(0.01 * rhythm.period_s / (math.sqrt(2.0) * rhythm.uncertainty_s))),
        reason=_support(rhythm),
        channels=names,
        span_s=span_s,
        evidence=evidence,
    )


def _fading(rhythm: Rhythm) -> str:
    strength = rhythm.timing.block_strength()
    if STRENGTH_KEPT[0] <= strength.min() and strength.max() <= STRENGTH_KEPT[1]:
        return ""
    parts = ", ".join(f"{part:.1f}" for part in strength)
    return f"the rhythm of {rhythm.period_s:.4g} s is not kept through the span (strength by part: {parts})"


def _too_short(rhythm: Rhythm) -> str:
    if rhythm.longer == 1:
        return ""
    whole_s = rhythm.longer * rhythm.period_s
    return f"too short: {rhythm.period_s:.4g} s seems to be part of a cycle of {whole_s:.4g} s that was seen too rarely"


def _irregular(rhythm: Rhythm) -> str:
    error = rhythm.uncertainty_s / rhythm.period_s
    if error <= MOST_ERROR:
        return ""
    return f"too irregular or too short: about {rhythm.period_s:.4g} s, but known to {error:.1%} only"


def _alias(rhythm: Rhythm, channels: Sequence[Series], marks_s: Floats | None) -> str:
    """Say which fast activity the rhythm may be a beat of; empty where something excludes that."""
    if rhythm.is_confirmed or _is_marked(rhythm.period_s, marks_s):
        return ""
    could_be_confirmed = any(one.is_integrated for one in channels)
    claim_s = rhythm.shortest_claim_s
    is_slow = all(is_unlikely_beat(claim_s, sight.series) for sight in rhythm.sights)
    if is_slow and not could_be_confirmed:
        return ""
    step_s = rhythm.sights[0].series.step_s
    fast_s = fast_step_s(claim_s, step_s)
    return (
        f"alias suspected: {rhythm.period_s:.4g} s may be the beat of {1e3 * fast_s:.4g} ms activity against the"
        f" sensor's refresh every {1e3 * step_s:.4g} ms, and no counter and no mark excludes it"
    )


def _is_marked(period_s: float, marks_s: Floats | None) -> bool:
    """Say whether the program's own marks repeat with the period or a whole fraction of it."""
    if marks_s is None or len(marks_s) < FEWEST_CYCLES:
        return False
    iteration_s = float(marks_s[-1] - marks_s[0]) / (len(marks_s) - 1)
    count = max(1, round(period_s / iteration_s))
    return abs(period_s / (count * iteration_s) - 1.0) < 0.01


def _support(rhythm: Rhythm) -> str:
    best = rhythm.sights[0]
    seen = f"{best.cycles.count} cycles, evidence {best.cycles.nats:.0f} nats in {best.series.name}"
    alibis = [sight.alibi for sight in rhythm.sights if sight.alibi is not None and sight.alibi.holds]
    if not alibis:
        return f"{seen}; slow against the sensor's refresh"
    best_alibi = max(alibis, key=lambda alibi: alibi.margin)
    return f"{seen}; no alias: {best_alibi.channel} varies {best_alibi.margin:.1f} times as much as a beat could"


def _evidence(channel: str, spectra: Mapping[str, Spectrum], rhythm: Rhythm | None = None) -> Periodogram:
    spectrum = spectra[channel]
    profile = rhythm.sights[0].cycles.profile if rhythm else np.empty(0)
    return Periodogram(channel, spectrum.frequencies_hz, spectrum.strength, profile)


def _without_period(
    kind: str,
    reason: str,
    *,
    channels: tuple[str, ...] = (),
    span_s: tuple[float, float] = (math.nan, math.nan),
    suspected_s: float = math.nan,
    evidence: Periodogram | None = None,
) -> PeriodEstimate:
    return PeriodEstimate(kind, math.nan, math.nan, 0.0, reason, channels, span_s, suspected_s, evidence)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
