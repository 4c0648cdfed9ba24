"""The live view, on a console that believes to be a terminal and on one that is none."""

from __future__ import annotations

import math
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from gpoeo_env.cli.views import SHOWN_WINDOWS, LineView, LiveView
from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.objective import Objective
from gpoeo_env.policy import Decision, PolicyContext, Purpose, Step
from gpoeo_env.records import Features, Measurement, Progress, Ratios, Spread, Totals

PAIR = ClockPair(1200, 5000)
CONTEXT = PolicyContext(ClockTable([PAIR]), Objective.ENERGY, 0.05, PAIR, "a gpu", 10.0, 0)


def a_step(index: int, reason: str = "a [reason] of some length", ratios: Ratios | None = None) -> Step:
    return Step(
        index=index,
        decision=Decision(1, purpose=Purpose.PROBE, reason=reason),
        pair=PAIR if index else None,
        measurement=Measurement(
            duration_s=10.0,
            energy_j=1500.0,
            energy_source="counter",
            power_w=150.0 if ratios else math.nan,
            progress=Progress(1.0, 0.01, "work_counter"),
            ratios=ratios,
            spread=Spread(0.01, 0.01),
            features=Features((), np.empty(0)),
            observed=ClockPair(1185, 5000) if index else None,
        ),
        reference=None,
        totals=Totals(
            seconds=110.0, joules=8000.0, reference_seconds=100.0, reference_joules=10000.0, windows=index + 1
        ),
        saved_frac=0.0,
        excess=0.0,
    )


def shown(view_class: type[LineView] | type[LiveView], steps: list[Step], *, width: int = 80) -> str:
    out = StringIO()
    terminal = view_class is LiveView
    console = Console(file=out, force_terminal=terminal, width=width, color_system=None, legacy_windows=False)
    view = view_class(console, "a policy on a workload")
    view.begin(CONTEXT, "a workload")
    for step in steps:
        view.step(step)
    view.end()
    return out.getvalue()


@pytest.mark.parametrize(("width", "has_room"), [(80, False), (120, True)])
def test_the_table_shows_every_number_in_full(width: int, *, has_room: bool) -> None:
    row = shown(LiveView, [a_step(123, ratios=Ratios(1.03, 0.85))], width=width).splitlines()[-3]

    for part in ("123", "probe", "1200/5000", "150", "3.0 %", "20.0 %"):
        assert part in row
    assert ("1185/5000" in row) is has_room


def test_a_line_says_what_and_why() -> None:
    title, line = shown(LineView, [a_step(1, ratios=Ratios(1.03, 0.85))]).splitlines()

    assert title == "a policy on a workload"
    assert line.split("  ")[-1] == "a [reason] of some length"
    for part in ("probe", "asked 1200/5000", "in force 1185/5000", "150 W", "slower   3.0 %", "saved  20.0 %"):
        assert part in line


def test_square_brackets_of_strangers_are_shown_as_they_stand() -> None:
    assert "[/bold]" in shown(LiveView, [a_step(1, reason="[/bold]")], width=120)


def test_what_is_unknown_is_a_dash() -> None:
    _, line = shown(LineView, [a_step(0)]).splitlines()

    assert "asked driver" in line
    assert "in force -" in line
    assert "- W" in line
    assert "slower       -" in line


def test_a_window_is_one_line_however_narrow_the_console_is() -> None:
    assert len(shown(LineView, [a_step(0), a_step(1)], width=20).splitlines()) == 3


def test_the_table_keeps_the_last_windows_and_the_totals() -> None:
    drawn = shown(LiveView, [a_step(index, reason=f"number-{index}") for index in range(30)])
    last = drawn[drawn.rindex("a policy on a workload") :]

    assert [index for index in range(30) if f"number-{index}\n" in last.replace(" ", "")] == list(
        range(30 - SHOWN_WINDOWS, 30)
    )
    assert "so far, search paid: 20.0 % energy saved, 10.0 % slower, 30 windows, 8.0 kJ" in last


def test_the_table_fits_a_terminal_of_80_by_24() -> None:
    drawn = shown(LiveView, [a_step(index, reason="long " * 40) for index in range(30)])
    last = drawn[drawn.rindex("a policy on a workload") :].splitlines()

    assert len(last) <= 24
    assert all(len(line) <= 80 for line in last)


def test_a_view_can_end_twice() -> None:
    view = LiveView(Console(file=StringIO(), force_terminal=True), "title")
    view.begin(CONTEXT, None)

    view.end()
    view.end()
