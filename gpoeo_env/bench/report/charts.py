"""What the figures look like: one function a chart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from gpoeo_env.bench.aggregates import Interval
from gpoeo_env.bench.config import EpisodesBlock
from gpoeo_env.bench.report.marks import Mark
from gpoeo_env.bench.report.markup import Child, Markup, tag
from gpoeo_env.bench.report.plot import Axis, Plot, percent
from gpoeo_env.bench.report.standings import Standing, Standings

__all__ = ["legend", "profiles", "trade_off", "violations"]

Marks = Mapping[str, Mark]
whole_percent = partial(percent, digits=0)


def legend(marks: Marks, labels: Mapping[str, str] | None = None) -> Markup:
    """Return what each mark means, as a list; a label may stand for a policy's name."""
    entries = [
        tag("li", mark.inline(), (labels or {}).get(policy, policy), data_policy=policy)
        for policy, mark in marks.items()
    ]
    return tag("ul", *entries, class_="legend")


def trade_off(standings: Standings, marks: Marks, asked: EpisodesBlock) -> Markup:
    """Draw energy saved against time lost of whole runs, with the limit and the Pareto front."""
    rows = standings.policies.values()
    limit = asked.limit if asked.objective.limited_quantity == "slowdown" else math.nan
    x = Axis.over(
        [*_ends(row.slower for row in rows), 0.0, *([2 * limit] if math.isfinite(limit) else [])],
        "time lost, whole run",
        whole_percent,
    )
    y = Axis.over([*_ends(row.saved for row in rows), 0.0], "energy saved, whole run", whole_percent)
    front = standings.pareto()
    plot = Plot(
        x,
        y,
        "Energy saved against time lost, whole runs",
        css="tall",
        description="No other policy is better in both than " + ", ".join(row.policy for row in front) + ".",
    )
    if math.isfinite(limit):
        plot.area((limit, x.high), (y.low, y.high), "beyond", f"beyond the limit of {percent(limit)}")
        plot.line((limit, y.low), (limit, y.high), "limit")
        plot.text(limit, y.low, f"limit {percent(limit, 0)}", "note", dx=5, dy=-8)
    corners = [(step.slower.value, step.saved.value) for step in front]
    stairs = [point for (_, low), (right, high) in pairwise(corners) for point in ((right, low), (right, high))]
    path = [*corners[:1], *stairs]
    plot.curve([point[0] for point in path], [point[1] for point in path], "front")
    for row in rows:
        plot.group("point", row.policy, partial(_point, plot, row, marks[row.policy]))
    return plot.render()


def _point(plot: Plot, row: Standing, mark: Mark) -> None:
    """Draw one policy with both its intervals."""
    x, y = row.slower, row.saved
    plot.line((x.low, y.value), (x.high, y.value), f"whisker {mark.css}")
    plot.line((x.value, y.low), (x.value, y.high), f"whisker {mark.css}")
    title = f"{row.policy}: {percent(y.value)} saved ({_bounds(y)}), {percent(x.value)} slower ({_bounds(x)})"
    plot.symbol(x.value, y.value, mark.symbol(title))
    plot.text(x.value, y.value, "bound" if row.rank is None else str(row.rank), "rank", dx=8, dy=-6)


def violations(standings: Standings, marks: Marks, asked: EpisodesBlock) -> Markup:
    """Draw how much slower each workload became, a row a policy: whole runs filled, held pairs hollow below them."""
    policies = list(standings.policies)
    limit = asked.limit
    values = np.concatenate(
        [
            *(standings.slower[name].ravel() for name in policies),
            *(standings.held_slower[name].ravel() for name in policies),
        ]
    )
    x = Axis.over(
        [*np.clip(values, None, 6 * limit if limit else np.inf), 0.0, limit],
        "time lost, one dot a workload",
        whole_percent,
    )
    parts: list[Child] = []
    for name in policies:
        plot = Plot(x, Axis(0, 1, ""), f"Time lost by {name}, workload by workload", css="strip")
        plot.area((limit, x.high), (0, 1), "beyond")
        plot.line((limit, 0), (limit, 1), "limit")
        _strip(plot, standings, name, marks[name])
        parts.append(
            tag(
                "div",
                _violation_label(standings.policies[name], marks[name]),
                plot.render(),
                class_="strip-row",
                data_policy=name,
            )
        )
    return tag("div", *parts, class_="strips")


def _strip(plot: Plot, standings: Standings, name: str, mark: Mark) -> None:
    for held, css, base in ((False, "run", 0.68), (True, "held", 0.28)):
        scores = (standings.held_slower if held else standings.slower)[name].mean(axis=1)
        for index, (workload, value) in enumerate(zip(standings.workloads, scores.tolist(), strict=True)):
            what = "held pair" if held else "whole run"
            dot = tag("circle", r="3.2", class_=f"dot {css} {mark.css}")
            shown = min(value, plot.x.high)
            plot.symbol(
                shown,
                base + 0.16 * ((index * 0.618) % 1 - 0.5),
                tag("g", tag("title", f"{workload}, {what}: {percent(value)} slower"), dot),
            )


def _violation_label(row: Standing, mark: Mark) -> Markup:
    summary = row.summary
    return tag(
        "p",
        mark.inline(),
        tag("strong", row.policy),
        f": over the limit: {percent(summary.run_violation_rate, 0)} of whole runs",
        f" (by {percent(summary.mean_run_excess)})" if summary.run_violation_rate else "",
        f", {percent(summary.violation_rate, 0)} of held pairs",
        f" (by {percent(summary.mean_excess)})" if summary.violation_rate else "",
    )


def profiles(standings: Standings, marks: Marks) -> Markup:
    """Draw the share of runs that save more than what the axis says."""
    values = np.concatenate([scores.ravel() for scores in standings.saved.values()])
    thresholds = np.linspace(min(0.0, float(values.min())), float(values.max()), 160)
    x = Axis.over(thresholds, "energy saved, whole run", whole_percent, room=0.0)
    plot = Plot(x, Axis(0.0, 1.0, "share of runs that save more", whole_percent), "Performance profiles")
    for index, (policy, mark) in enumerate(marks.items()):
        shares = standings.profile(policy, thresholds)
        where = (index + 1) * len(thresholds) // (len(marks) + 1)

        def draw(
            policy: str = policy, mark: Mark = mark, shares: Sequence[float] = shares.tolist(), at: int = where
        ) -> None:
            plot.curve(thresholds.tolist(), shares, mark.css, mark.dash)
            title = f"{policy}: {percent(shares[at], 0)} of runs save more than {percent(float(thresholds[at]))}"
            plot.symbol(float(thresholds[at]), shares[at], mark.symbol(title))

        plot.group("series", policy, draw)
    return plot.render()


def _ends(intervals: object) -> list[float]:
    return [end for each in intervals for end in (each.low, each.high)]  # type: ignore[attr-defined]


def _bounds(interval: Interval) -> str:
    return f"95 %: {percent(interval.low)} to {percent(interval.high)}"
