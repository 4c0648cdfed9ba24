"""From a window to a measurement, and from reference measurements to the reference."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpoeo_env.progress.dropped_reads import believed
from gpoeo_env.progress.meter import UNSTATED_REL_SD, ProgressMeter
from gpoeo_env.records import Features, Measurement, Progress, Ratios, Reference, Spread, Window
from gpoeo_env.signals import ENERGY, POWER, Behaviour

__all__ = ["combine_references", "reference_of", "relative_to", "summarise", "unseen"]

HONOURED_TOLERANCE_MHZ = 15
"""One clock step of every catalogued GPU: a lock that is farther off was not honoured."""
THROTTLED_BELOW = 0.95
"""A mean SM clock under this share of the request means a power or thermal cap (CUDA boost steps are smaller)."""


def summarise(window: Window, meter: ProgressMeter) -> Measurement:
    """Summarise a window; ``ratios`` stay None until `relative_to` knows a reference."""
    energy_j, source = _energy(window)
    progress = meter.measure(window)
    power_sd = window.spread.power if window.spread else UNSTATED_REL_SD
    features = _features(believed(window))
    missing = features.missing()
    if math.isnan(progress.work_rate):
        missing += ("progress",)
    if source == "none":
        missing += ("energy_j",)
    return Measurement(
        duration_s=window.duration_s,
        energy_j=energy_j,
        energy_source=source,
        power_w=energy_j / window.duration_s,
        progress=progress,
        ratios=None,
        spread=Spread(time=progress.rel_sd, power=power_sd),
        features=features,
        observed=window.observed,
        settle=window.settle,
        honoured=_is_honoured(window),
        throttled=_is_throttled(window),
        throttle_reasons=window.throttle_reasons,
        missing=missing,
    )


def unseen(feature_names: Sequence[str]) -> Measurement:
    """Return the measurement of a window in which nothing was seen: the device was lost."""
    return Measurement(
        duration_s=0.0,
        energy_j=math.nan,
        energy_source="none",
        power_w=math.nan,
        progress=Progress(math.nan, math.nan, kind="none", reason="the device was lost"),
        ratios=None,
        spread=Spread(math.nan, math.nan),
        features=Features.of(dict.fromkeys(feature_names, math.nan)),
        observed=None,
        missing=(*feature_names, "progress", "energy_j"),
    )


def relative_to(measurement: Measurement, reference: Reference) -> Ratios | None:
    """Return time and energy per work against a reference; None where either side lacks them.

    The spread holds the window's own error and the reference's.
    """
    time = measurement.seconds_per_work / reference.seconds_per_work
    energy = measurement.joules_per_work / reference.joules_per_work
    if not (math.isfinite(time) and math.isfinite(energy)):
        return None
    rel_time = math.hypot(measurement.spread.time, reference.spread.time)
    rel_power = math.hypot(measurement.spread.power, reference.spread.power)
    return Ratios(time, energy, time * rel_time, energy * math.hypot(rel_time, rel_power))


def reference_of(measurement: Measurement, segment: int) -> Reference | None:
    """Make a reference of one window; None where its progress or energy is unknown."""
    if not math.isfinite(measurement.joules_per_work):
        return None
    return Reference(
        seconds_per_work=measurement.seconds_per_work,
        joules_per_work=measurement.joules_per_work,
        power_w=measurement.power_w,
        spread=measurement.spread,
        windows=1,
        segment=segment,
    )


def combine_references(known: Reference, more: Reference) -> Reference:
    """Average two references of one segment, weighted by their windows."""
    total = known.windows + more.windows
    old, new = known.windows / total, more.windows / total
    return Reference(
        seconds_per_work=old * known.seconds_per_work + new * more.seconds_per_work,
        joules_per_work=old * known.joules_per_work + new * more.joules_per_work,
        power_w=old * known.power_w + new * more.power_w,
        spread=Spread(
            time=math.hypot(old * known.spread.time, new * more.spread.time),
            power=math.hypot(old * known.spread.power, new * more.spread.power),
        ),
        windows=total,
        segment=known.segment,
    )


def _energy(window: Window) -> tuple[float, str]:
    """Return joules and where they come from: the energy counter, else integrated power."""
    counted_w = window.rate(ENERGY.name)
    if not math.isnan(counted_w):
        return counted_w * window.duration_s, "counter"
    power = window.mean(POWER)
    if not math.isnan(power):
        return power * window.duration_s, "power"
    return math.nan, "none"


def _features(window: Window) -> Features:
    averaged = (Behaviour.GAUGE, Behaviour.INTERVAL, Behaviour.CONSTANT)
    return Features.of({s.name: window.mean(s) for s in window.signals if s.behaviour in averaged})


def _is_honoured(window: Window) -> bool:
    if window.requested is None or window.observed is None:
        return True
    off_by = max(
        abs(window.observed.sm_mhz - window.requested.sm_mhz),
        abs(window.observed.mem_mhz - window.requested.mem_mhz),
    )
    return off_by <= HONOURED_TOLERANCE_MHZ


def _is_throttled(window: Window) -> bool:
    if window.requested is None or window.observed is None:
        return False
    return window.observed.sm_mhz < THROTTLED_BELOW * window.requested.sm_mhz
