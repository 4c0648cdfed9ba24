"""Tables of results for people: percentages with one decimal, a dash where there is nothing to say."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from gpoeo_env.bench.aggregates import interquartile_mean, interval, probability_of_improvement, scores_of
from gpoeo_env.bench.result import EpisodeResult
from gpoeo_env.bench.stats import Summary, summarise
from gpoeo_env.objective import Objective

__all__ = [
    "aim",
    "count",
    "demo_table",
    "held_pair",
    "new_table",
    "percent",
    "ranking_table",
    "summary_table",
    "workload_table",
]


def percent(fraction: float, digits: int = 1) -> str:
    """Return a fraction as a percentage; a dash for NaN, and never a negative zero."""
    if math.isnan(fraction):
        return "-"
    return f"{round(100 * fraction, digits) + 0.0:.{digits}f} %"


def count(number: int, noun: str) -> str:
    """Return a number with its noun, which takes an s where it is not one."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def aim(objective: Objective, limit: float) -> str:
    """Say what a policy is to achieve: the objective, and its limit where it has one."""
    bound = {"slowdown": "slowdown at most", "saving": "saving at least"}.get(objective.limited_quantity or "")
    return f"objective {objective.value}" + (f", {bound} {percent(limit)}" if bound else "")


def new_table(title: str | Text, left: Sequence[str], right: Sequence[str]) -> Table:
    """Return an empty table with left-aligned columns (they fold) followed by right-aligned ones (they do not)."""
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=False,
        pad_edge=False,
    )
    for name in left:
        table.add_column(name, overflow="fold", min_width=8)
    for name in right:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def held_pair(results: Sequence[EpisodeResult]) -> str:
    """Return the pair most often held as SM/memory in MHz; released clocks are marked."""
    (sm_mhz, mem_mhz, is_released), _ = Counter(
        (result.sm_mhz, result.mem_mhz, result.is_released) for result in results
    ).most_common(1)[0]
    if sm_mhz is None:
        return "released"
    return f"{sm_mhz}/{mem_mhz}" + ("*" if is_released else "")


def summary_table(summary: Mapping[str, Summary]) -> Table:
    """Return one row for each policy."""
    table = new_table(
        "By policy",
        ["policy"],
        [
            "saving",
            "of\noracle",
            "slow-\ndown",
            "worst",
            "over\nlimit",
            "windows\nmeasured",
            "run\nsaved",
            "run\nslower",
        ],
    )
    for policy, row in summary.items():
        table.add_row(
            _label(policy, is_bound=row.is_bound),
            percent(row.mean_saving),
            "-" if math.isnan(row.oracle_ratio) else f"{row.oracle_ratio:.2f}",
            percent(row.mean_slowdown),
            percent(row.worst_slowdown),
            percent(row.violation_rate, 0),
            f"{row.mean_measurements:.1f}",
            percent(row.mean_run_saving),
            percent(row.mean_run_slowdown),
        )
    return table


def ranking_table(results: Sequence[EpisodeResult], rival: str = "gpoeo") -> Table:
    """Return whole runs, search paid, one row for each policy, the one that saves most first.

    Args:
        results: of policies that have met the same workloads under the same seeds.
        rival: the policy that every other one is compared with; no such column where it did not run.
    """
    saved = scores_of(results, lambda result: result.run_saving)
    summaries = summarise(results)
    figures = ["saved", "mid-half\n95 %", "slower", "over\nlimit", "by", "EDP\nsaved", "search\nkJ", "decision\nms"]
    compared = rival in saved and len(saved) > 1
    table = new_table(
        "Whole runs, search paid", ["policy"], [*figures, *([f"better than\n{rival}"] if compared else [])]
    )
    for policy in sorted(saved, key=lambda name: -summaries[name].mean_run_saving):
        row, middle = summaries[policy], interval(saved[policy], interquartile_mean)
        cells = [
            percent(row.mean_run_saving),
            f"{100 * middle.low:.1f}..{100 * middle.high:.1f}",
            percent(row.mean_run_slowdown),
            percent(row.run_violation_rate, 0),
            percent(row.mean_run_excess),
            percent(row.mean_run_edp_saving),
            f"{row.mean_search_joules / 1e3:.1f}",
            f"{row.mean_decision_ms:.2f}",
        ]
        if compared:
            chance = None if policy == rival else probability_of_improvement(saved[policy], saved[rival])
            cells.append("" if chance is None else f"{chance.value:.2f} [{chance.low:.2f}, {chance.high:.2f}]")
        table.add_row(_label(policy, is_bound=row.is_bound), *cells)
    return table


def workload_table(results: Sequence[EpisodeResult]) -> Table:
    """Return one row for each workload and policy, means over the seeds."""
    table = new_table(
        "By workload",
        ["workload", "policy", "held MHz"],
        ["saving", "oracle", "slow-\ndown", "over\nlimit", "windows\nmeasured"],
    )
    shown: str | None = None
    for (workload, policy), group in _groups(results):
        row = summarise(group)[policy]
        table.add_row(
            Text("" if workload == shown else workload),
            _label(policy, is_bound=row.is_bound),
            held_pair(group),
            percent(row.mean_saving),
            percent(sum(result.oracle_saving for result in group) / len(group)),
            percent(row.mean_slowdown),
            percent(row.violation_rate, 0),
            f"{row.mean_measurements:.1f}",
        )
        shown = workload
    return table


def demo_table(results: Sequence[EpisodeResult]) -> Table:
    """Return one row for each result: the whole run with its search paid, and the pair that was held."""
    table = new_table(
        "By workload",
        ["workload", "policy", "held MHz"],
        ["energy\nsaved", "run\nslower", "held pair\nslower", "windows\nmeasured"],
    )
    shown: str | None = None
    for result in results:
        table.add_row(
            Text("" if result.workload == shown else result.workload),
            _label(result.policy, is_bound=result.is_bound),
            held_pair([result]),
            percent(result.run_saving),
            percent(result.run_slowdown),
            percent(result.slowdown) + ("!" if result.violates else ""),
            str(result.measurements),
        )
        shown = result.workload
    return table


def _label(policy: str, *, is_bound: bool) -> Text:
    """Return a policy's name as it stands, without markup; a bound is called one."""
    return Text(f"{policy} (bound)" if is_bound else policy)


def _groups(results: Sequence[EpisodeResult]) -> Iterator[tuple[tuple[str, str], list[EpisodeResult]]]:
    groups: dict[tuple[str, str], list[EpisodeResult]] = {}
    for result in results:
        groups.setdefault((result.workload, result.policy), []).append(result)
    yield from groups.items()
