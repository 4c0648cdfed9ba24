"""An episode window by window: power, clocks, and how fast the work went, under what the policy was doing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from gpoeo_env.bench.config import EpisodesBlock
from gpoeo_env.bench.report.markup import Markup, joined
from gpoeo_env.bench.report.plot import Axis, Plot, percent
from gpoeo_env.bench.report.replayed import Replayed
from gpoeo_env.policy import Step

__all__ = ["story_of", "timeline"]


@dataclass(frozen=True, slots=True)
class _Span:
    """A stretch of time, in minutes since the start."""

    start: float
    end: float
    step: Step


def timeline(episode: Replayed, asked: EpisodesBlock) -> Markup:
    """Draw one episode over its minutes."""
    spans = list(_spans(episode.steps))
    minutes = Axis(0.0, spans[-1].end, "minutes")
    bare = Axis(0.0, spans[-1].end, "", lambda _: "")
    name = f"{episode.policy} on {episode.workload}"
    power = [span.step.measurement.power_w for span in spans]
    clocks = [_sm_mhz(span.step) for span in spans]
    time = [_slowdown(span.step) for span in spans]
    limit = asked.limit if asked.objective.limited_quantity == "slowdown" else math.nan
    plots = [
        Plot(bare, Axis.over(power, "power, W"), f"Power of {name}", css="low"),
        Plot(bare, Axis.over(clocks, "SM clock, MHz"), f"SM clock of {name}", css="low"),
        Plot(minutes, Axis.over([*time, 0.0, limit], "time lost", percent), f"Time lost by {name}", css="low"),
    ]
    for plot, values in zip(plots, (power, clocks, time), strict=True):
        _draw_purposes(plot, spans)
        if plot is plots[-1] and math.isfinite(limit):
            plot.line((0.0, limit), (spans[-1].end, limit), "limit")
        _draw_steps(plot, spans, values)
    return joined(plot.render() for plot in plots)


def story_of(episode: Replayed) -> list[dict[str, Any]]:
    """Return each window as the page's script shows it. `Any`: numbers and words, for JSON."""
    return [
        {
            "start": round(span.start, 4),
            "end": round(span.end, 4),
            "purpose": span.step.decision.purpose.value,
            "reason": span.step.decision.reason,
            "asked": "released to the driver" if span.step.pair is None else f"{span.step.pair} MHz",
            "seen": "not readable"
            if span.step.measurement.observed is None
            else f"{span.step.measurement.observed} MHz",
            "power": f"{span.step.measurement.power_w:.0f} W",
            "slower": percent(_slowdown(span.step)),
            "saved": percent(_saving(span.step)),
            "total": percent(span.step.totals.saving),
        }
        for span in _spans(episode.steps)
    ]


def _spans(steps: Sequence[Step]) -> Iterator[_Span]:
    start = 0.0
    for step in steps:
        end = step.totals.seconds / 60.0
        yield _Span(start, end, step)
        start = end


def _draw_purposes(plot: Plot, spans: Sequence[_Span]) -> None:
    """Shade what is no hold, by purpose."""
    for purpose, group in groupby(spans, key=lambda span: span.step.decision.purpose):
        stretch = list(group)
        plot.area(
            (stretch[0].start, stretch[-1].end), (plot.y.low, plot.y.high), f"purpose {purpose.value}", purpose.value
        )


def _draw_steps(plot: Plot, spans: Sequence[_Span], values: Sequence[float]) -> None:
    """Draw a value a window as a line of steps."""
    xs = [x for span in spans for x in (span.start, span.end)]
    plot.curve(xs, [value for value in values for _ in range(2)], "value")


def _sm_mhz(step: Step) -> float:
    pair = step.measurement.observed or step.pair
    return float(pair.sm_mhz) if pair else math.nan


def _slowdown(step: Step) -> float:
    return math.nan if step.measurement.ratios is None else step.measurement.ratios.slowdown


def _saving(step: Step) -> float:
    return math.nan if step.measurement.ratios is None else step.measurement.ratios.saving
