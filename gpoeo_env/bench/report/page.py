"""The page: one HTML file with everything in it. A content policy forbids it to load or run anything else."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib.resources import files

from gpoeo_env.bench.config import EpisodesBlock
from gpoeo_env.bench.report.charts import legend, profiles, trade_off, violations
from gpoeo_env.bench.report.marks import marks_of
from gpoeo_env.bench.report.markup import Child, Markup, joined, tag
from gpoeo_env.bench.report.plot import NOTHING, percent
from gpoeo_env.bench.report.replayed import Replayed
from gpoeo_env.bench.report.standings import RIVAL, BlockResults, Results, Standings
from gpoeo_env.bench.report.tables import heat_map, ranking, search_cost
from gpoeo_env.bench.report.timeline import story_of, timeline
from gpoeo_env.policy import Purpose

__all__ = ["Chapter", "render_page"]

Chapter = tuple[BlockResults, Standings, Sequence[Replayed]]
"""A block, its figures, and the episodes that are shown window by window; perhaps none."""


def render_page(results: Results, chapters: Sequence[Chapter]) -> str:
    """Return the page.

    Args:
        results: the folder.
        chapters: what is shown of each of its blocks.
    """
    script = files(__package__).joinpath("page.js").read_text(encoding="utf-8")
    style = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    hashed = b64encode(sha256(script.encode()).digest()).decode()
    allowed = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hashed}'"
    title = results.manifest.title
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=allowed),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Markup(style)),
    )
    sections = [_chapter(index, chapter) for index, chapter in enumerate(chapters)]
    body = tag(
        "body",
        tag("header", tag("h1", title), _contents(chapters)),
        tag("main", *sections, _provenance(results)),
        tag("script", Markup(script)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _contents(chapters: Sequence[Chapter]) -> Markup:
    links = [
        tag("li", tag("a", block.block.name, href=f"#block-{index}")) for index, (block, _, _) in enumerate(chapters)
    ]
    links.append(tag("li", tag("a", "Where this comes from", href="#provenance")))
    return tag("nav", tag("ul", *links), aria_label="Contents")


def _chapter(index: int, chapter: Chapter) -> Markup:
    block, standings, episodes = chapter
    return tag(
        "section",
        tag("h2", block.block.name),
        *_introduction(block, standings),
        *_cards(block, standings),
        _player(index, episodes, block.asked) if episodes else "",
        class_="block",
        id=f"block-{index}",
    )


def _cards(block: BlockResults, standings: Standings) -> Iterator[Markup]:
    marks = marks_of({row.policy: row.rank is None for row in standings.policies.values()})
    ranks = {
        row.policy: f"{row.rank} {row.policy}" if row.rank else f"{row.policy} (bound)"
        for row in standings.policies.values()
    }
    yield _card(
        "Ranking",
        "Whole runs: measuring the reference, searching and settling are paid for. Policies that keep the limit on "
        "average come first, ordered by what the objective asks for. Small figures are 95 % intervals (bootstrap, "
        f"stratified by workload); “beats {RIVAL}” is the probability that a run saves more energy than one of {RIVAL} "
        "on the same workload; “middle half” is the interquartile mean; “of oracle” compares held pairs with the best "
        "single pair.",
        ranking(standings, marks),
    )
    yield _card(
        "Energy against time",
        "Up and to the left is better. Numbers are ranks, whiskers 95 % intervals; the dotted line is the Pareto "
        "front: policies that no other one beats in both.",
        trade_off(standings, marks, block.asked),
        legend(marks, ranks),
    )
    yield _card(
        "Performance profiles",
        "For each saving, the share of all runs that save more: a curve above another one is better there.",
        profiles(standings, marks),
        legend(marks),
    )
    yield _card(
        "The limit, workload by workload",
        "Filled dots are whole runs as measured, hollow ones the pair finally held, without noise; means over the "
        "seeds. Dots in the shaded part break the limit; those at its right edge lie beyond it.",
        violations(standings, marks, block.asked),
    )
    yield _card(
        "What the search costs",
        "Until a policy first holds a pair. Processor time is that of the policy alone.",
        search_cost(standings, marks),
    )
    corner = tag("span", class_="key corner")
    yield _card(
        "Workload by workload",
        joined(
            ["Energy saved by whole runs in per cent, mean over the seeds. ", corner, "over the limit in most runs."]
        ),
        heat_map(standings, marks),
        legend(marks),
    )


def _introduction(block: BlockResults, standings: Standings) -> Iterator[Markup]:
    asked, described = block.asked, block.block
    word = "Simulated: no GPU was measured" if described.is_simulated else "Measured data, replayed"
    yield tag("p", tag("span", word, class_=f"origin {'simulated' if described.is_simulated else 'measured'}"))
    bound = {"slowdown": " slower at most", "saving": " saved at least"}.get(asked.objective.limited_quantity or "")
    aim = f"objective {asked.objective.value}" + (f", {percent(asked.limit)}{bound}" if bound else "")
    facts = (
        f"{described.gpu_name}; {aim}. {len(standings.policies)} policies on {len(standings.workloads)} workloads "
        f"under {asked.seeds} {'seed' if asked.seeds == 1 else 'seeds'}, the same for all; each episode is the work of "
        f"{asked.budget_s:g} s at the driver's default, in windows of {asked.window_s:g} s."
    )
    yield tag("p", facts, class_="lead")
    if block.n_done < block.n_wanted:
        yield tag(
            "p",
            f"Not finished: {block.n_done} of {block.n_wanted} episodes were run. Shown are the workloads that every "
            "policy has met under every seed.",
            class_="partial",
        )
    if described.beside:
        yield tag("p", described.beside, class_="lead")


def _card(title: str, note: Child, *content: Child) -> Markup:
    return tag("section", tag("h3", title), tag("p", note, class_="note-text"), *content, class_="card")


def _player(index: int, episodes: Sequence[Replayed], asked: EpisodesBlock) -> Markup:
    shown = [episode for episode in episodes if not episode.failure]
    first = shown[0] if shown else episodes[0]
    content: list[Child] = [_controls(index, shown), *_figures(shown, asked)] if shown else []
    notes = [
        f"{each.policy} could not be run here: {each.failure}"
        if each.failure
        else f"{each.policy} does not come to what its row says: code or data have changed since."
        for each in episodes
        if not each.is_same
    ]
    return tag(
        "section",
        tag("h3", "An episode, window by window"),
        tag(
            "p",
            f"{first.workload} under seed {first.seed}, run again for this page. Shading says what the policy was "
            "doing: ",
            *(
                joined([tag("span", class_=f"key {purpose.value}"), purpose.value, " "])
                for purpose in (Purpose.REFERENCE, Purpose.PROFILE, Purpose.PROBE, Purpose.CONFIRM)
            ),
            "and none while it holds. Time and energy are as the policy saw them: against the reference that it "
            "measured.",
            class_="note-text",
        ),
        *(tag("p", note, class_="partial") for note in notes),
        *content,
        class_="card player",
    )


def _controls(index: int, shown: Sequence[Replayed]) -> Markup:
    names = [tag("option", each.policy, value=str(place)) for place, each in enumerate(shown)]
    fields = {
        "purpose": "doing",
        "reason": "because",
        "asked": "clocks asked for",
        "seen": "clocks in force",
        "power": "power",
        "slower": "time lost in this window",
        "saved": "energy saved in this window",
        "total": "energy saved so far",
    }
    data = json.dumps([story_of(each) for each in shown], ensure_ascii=False, separators=(",", ":"))
    return joined(
        [
            tag("script", Markup(data.replace("<", "\\u003c")), type="application/json"),
            tag(
                "div",
                tag("label", "policy ", tag("select", *names, name=f"policy-{index}")),
                tag("button", "Back", type="button", class_="back"),
                tag("button", "Play", type="button", class_="play"),
                tag("button", "Next", type="button", class_="next"),
                tag(
                    "input",
                    type="range",
                    min=0,
                    max=len(shown[0].steps) - 1,
                    value=0,
                    aria_label="window",
                ),
                class_="controls",
            ),
            tag(
                "div",
                tag("p", tag("strong", "", class_="where")),
                tag(
                    "dl",
                    *(joined([tag("dt", words), tag("dd", NOTHING, data_field=key)]) for key, words in fields.items()),
                ),
                class_="controls readout",
            ),
        ]
    )


def _figures(shown: Sequence[Replayed], asked: EpisodesBlock) -> list[Markup]:
    return [
        tag("div", tag("h4", each.policy), timeline(each, asked), class_="episode", data_episode=str(place))
        for place, each in enumerate(shown)
    ]


def _provenance(results: Results) -> Markup:
    manifest = results.manifest
    seeds = sorted({row.case.seed for block in results.blocks for row in block.rows})
    facts = {
        "started": manifest.started_utc,
        "seeds": ", ".join(map(str, seeds)),
        "episodes": str(sum(len(block.rows) for block in results.blocks)),
        "versions": ", ".join(f"{name} {number}" for name, number in manifest.versions.items()),
        "machine": ", ".join(f"{name} {value}" for name, value in manifest.machine.items()),
        "source digests": ", ".join(sorted({row.code[:12] for block in results.blocks for row in block.rows})),
    }
    return tag(
        "section",
        tag("h2", "Where this comes from"),
        tag(
            "p",
            "Every figure is computed from the rows of one folder; each row holds what is needed to run its episode "
            "again.",
            class_="lead",
        ),
        tag("dl", *(joined([tag("dt", name), tag("dd", value)]) for name, value in facts.items())),
        tag(
            "p",
            "To run a sample of rows again and compare: ",
            tag("code", f"gpoeo validate {results.folder} --sample 20"),
        ),
        tag("details", tag("summary", "The whole configuration"), tag("pre", json.dumps(manifest.config, indent=2))),
        class_="card",
        id="provenance",
    )
