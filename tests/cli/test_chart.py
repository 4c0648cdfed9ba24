"""The chart of plain characters."""

from __future__ import annotations

import pytest

from gpoeo_env.cli.chart import Point, scatter


def plot_lines(chart: str) -> list[str]:
    return [line for line in chart.splitlines() if "|" in line]


def test_the_chart_is_plain_ascii_and_fits_the_width() -> None:
    chart = scatter([Point(0.03, 0.2, "A"), Point(0.08, -0.05, "b")], limit=0.05, width=60)

    assert chart.isascii()
    assert max(len(line) for line in chart.splitlines()) <= 60


def test_the_limit_is_drawn_and_named() -> None:
    chart = scatter([Point(0.0, 0.1, "A")], limit=0.05)

    assert "limit 5 %" in chart
    assert all(":" in line for line in plot_lines(chart))


def test_a_point_left_of_the_limit_is_drawn_left_of_it() -> None:
    chart = scatter([Point(0.03, 0.2, "A"), Point(0.07, 0.1, "B")], limit=0.05)
    line_of = {mark: next(line for line in plot_lines(chart) if mark in line) for mark in "AB"}

    assert line_of["A"].index("A") < line_of["A"].index(":")
    assert line_of["B"].index("B") > line_of["B"].index(":")


def test_more_saving_is_higher() -> None:
    lines = plot_lines(scatter([Point(0.0, 0.2, "A"), Point(0.0, 0.1, "B")], limit=0.05))

    assert [mark for line in lines for mark in "AB" if mark in line] == ["A", "B"]


def test_marks_on_one_spot_are_all_shown() -> None:
    chart = scatter([Point(0.01, 0.1, mark) for mark in "ABCDE"], limit=0.05)

    assert all(chart.count(mark) == 1 for mark in "ABCDE")


@pytest.mark.parametrize("points", [[], [Point(0.0, 0.0, "A")], [Point(-0.4, -0.3, "A")], [Point(9.0, 0.999, "A")]])
def test_any_range_can_be_drawn(points: list[Point]) -> None:
    chart = scatter(points, limit=0.0)

    assert all(point.mark in chart for point in points)
    assert "0 %" in chart
