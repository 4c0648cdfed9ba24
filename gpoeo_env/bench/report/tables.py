"""The ranking, the search cost and the heat map: tables for eyes, screen readers and narrow screens."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from gpoeo_env.bench.aggregates import Interval
from gpoeo_env.bench.report.marks import Mark
from gpoeo_env.bench.report.markup import Child, Markup, tag
from gpoeo_env.bench.report.plot import NOTHING, percent
from gpoeo_env.bench.report.standings import RIVAL, Standing, Standings

__all__ = ["heat_map", "ranking", "search_cost"]

Marks = Mapping[str, Mark]


def ranking(standings: Standings, marks: Marks) -> Markup:
    """Return a row a policy: bounds first, then by rank."""
    cells = {row.policy: _cells(row) for row in standings.policies.values()}
    names = list(next(iter(cells.values())))
    head = [_heading("#"), _heading("policy"), *(_heading(tag("button", name, type="button")) for name in names)]
    body = [_ranked(row, marks[row.policy], cells[row.policy]) for row in standings.policies.values()]
    return _cards(head, body, "ranking sortable")


def search_cost(standings: Standings, marks: Marks) -> Markup:
    """Return what finding a pair cost, with bars: windows, energy and processor time; bounds search nothing."""
    rows = [row for row in standings.policies.values() if row.rank is not None]
    columns = {
        "windows until it held": ([row.summary.mean_measurements for row in rows], "{:.1f}"),
        "energy spent searching, kJ": ([row.summary.mean_search_joules / 1e3 for row in rows], "{:.1f}"),
        "processor time a decision, ms": ([row.summary.mean_decision_ms for row in rows], "{:.3g}"),
    }
    body = []
    for place, row in enumerate(rows):
        mark = marks[row.policy]
        bars = (_bar(name, values[place], max(values), form, mark) for name, (values, form) in columns.items())
        body.append(tag("tr", _named(mark, row.policy), *bars, data_policy=row.policy, role="row"))
    return _cards([_heading(name) for name in ("policy", *columns)], body, "bars")


def _cards(head: Sequence[Markup], body: Sequence[Markup], css: str) -> Markup:
    """Return a table whose rows become cards on a narrow screen; roles keep it a table for screen readers then."""
    return tag(
        "table",
        tag("thead", tag("tr", *head, role="row"), role="rowgroup"),
        tag("tbody", *body, role="rowgroup"),
        class_=f"cards {css}",
        role="table",
    )


def _heading(words: Child) -> Markup:
    return tag("th", words, scope="col", role="columnheader")


def _named(mark: Mark, policy: str, remark: str = "") -> Markup:
    return tag("th", mark.inline(), policy, tag("small", remark) if remark else "", scope="row", role="rowheader")


def _ranked(row: Standing, mark: Mark, cells: Mapping[str, tuple[Child, float]]) -> Markup:
    verdict = (
        "bound: it is told the truth" if row.rank is None else "" if row.is_within else "over the limit on average"
    )
    rank = tag("td", NOTHING if row.rank is None else str(row.rank), class_="rank", role="cell")
    values = [
        tag("td", shown, data_label=label, data_value="" if math.isnan(value) else value, role="cell")
        for label, (shown, value) in cells.items()
    ]
    css = None if row.is_within else "over"
    return tag("tr", rank, _named(mark, row.policy, verdict), *values, data_policy=row.policy, class_=css, role="row")


def _bar(name: str, value: float, most: float, form: str, mark: Mark) -> Markup:
    width = 100 * value / most if most > 0 else 0.0
    bar = tag("span", class_=f"bar {mark.css}", style=f"--share:{width:.1f}%")
    return tag("td", bar, tag("span", form.format(value), class_="number"), data_label=name, role="cell")


def _cells(row: Standing) -> dict[str, tuple[Child, float]]:
    """Return what is shown and what is sorted by, by column."""
    summary = row.summary
    better = row.better
    cells: dict[str, tuple[Child, float]] = {
        "energy saved": (_with_bounds(row.saved), row.saved.value),
        "middle half": (_with_bounds(row.middle), row.middle.value),
        "time lost": (_with_bounds(row.slower), row.slower.value),
        "EDP saved": _share(summary.mean_run_edp_saving),
        "runs over limit": _share(summary.run_violation_rate, 0),
        "by": _share(summary.mean_run_excess if summary.run_violation_rate else math.nan),
        "held pairs over": _share(summary.violation_rate, 0),
        "of oracle": (
            NOTHING if math.isnan(summary.oracle_ratio) else f"{summary.oracle_ratio:.2f}",
            summary.oracle_ratio,
        ),
        f"beats {RIVAL}": (NOTHING, math.nan) if better is None else (_chance(better), better.value),
    }
    return cells


def _share(value: float, digits: int = 1) -> tuple[str, float]:
    return percent(value, digits), value


def _with_bounds(interval: Interval) -> Markup:
    bounds = tag("small", f"{_number(interval.low)} to {_number(interval.high)}")
    return tag("span", percent(interval.value), bounds)


def _number(fraction: float) -> str:
    """Return a fraction in per cent without the sign of it, and never a negative zero."""
    return f"{round(100 * fraction, 1) + 0.0:.1f}"


def _chance(interval: Interval) -> Markup:
    return tag("span", f"{interval.value:.2f}", tag("small", f"{interval.low:.2f} to {interval.high:.2f}"))


def heat_map(standings: Standings, marks: Marks) -> Markup:
    """Return energy saved by workload and policy; a corner marks what broke the limit in most of its runs."""
    most = max(float(abs(scores.mean(axis=1)).max()) for scores in standings.saved.values()) or 1.0
    head = tag(
        "tr",
        tag("th", "workload", scope="col"),
        *(
            tag("th", mark.inline(), tag("span", policy, class_="name"), scope="col", title=policy, data_policy=policy)
            for policy, mark in marks.items()
        ),
    )
    body = [
        tag("tr", tag("th", workload, scope="row"), *(_heat(standings, policy, place, most) for policy in marks))
        for place, workload in enumerate(standings.workloads)
    ]
    return tag("table", tag("thead", head), tag("tbody", *body), class_="heat")


def _heat(standings: Standings, policy: str, place: int, most: float) -> Markup:
    saved, slower = (float(scores[policy][place].mean()) for scores in (standings.saved, standings.slower))
    is_over = float(standings.breaks[policy][place].mean()) > 0.5
    title = f"{standings.workloads[place]}, {policy}: {percent(saved)} saved, {percent(slower)} slower"
    classes = {"gain": saved >= 0, "loss": saved < 0, "strong": abs(saved) > 0.55 * most, "over": is_over}
    return tag(
        "td",
        tag("span", f"{round(100 * saved) + 0}"),
        tag("span", " over the limit", class_="unseen") if is_over else "",
        class_=" ".join(name for name, applies in classes.items() if applies),
        style=f"--heat:{100 * abs(saved) / most:.0f}%",
        title=title + (", over the limit" if is_over else ""),
        data_policy=policy,
    )
