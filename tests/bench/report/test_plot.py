"""Where things end up on a plot."""

from __future__ import annotations

import math
import re

import pytest

from gpoeo_env.bench.report.marks import marks_of
from gpoeo_env.bench.report.plot import Axis, Plot, percent, round_values


def test_ticks_are_round_and_inside() -> None:
    assert round_values(0.013, 0.47, 5) == pytest.approx([0.1, 0.2, 0.3, 0.4])


def test_a_percentage_is_never_a_negative_zero() -> None:
    assert percent(-0.0001) == "0.0\N{NO-BREAK SPACE}%"


def test_an_axis_over_equal_values_has_a_width() -> None:
    axis = Axis.over([3.0, 3.0, math.nan], "x")
    assert axis.low < 3.0 < axis.high


def test_the_vertical_axis_points_up() -> None:
    plot = Plot(Axis(0, 4, "x"), Axis(0, 2, "y"), "title")
    plot.line((1.0, 0.5), (4.0, 2.0), "wanted")
    assert '<line class="wanted" x1="25.00%" y1="75.00%" x2="100.00%" y2="0.00%"/>' in plot.render()


def test_a_curve_has_a_gap_where_nothing_is_known() -> None:
    plot = Plot(Axis(0, 4, "x"), Axis(0, 1, "y"), "title")
    plot.curve([0, 1, 2, 3, 4], [0, 1, math.nan, 1, 0], "wanted")
    assert re.findall(r'points="([^"]*)"', plot.render()) == [
        "0.0000,1.0000 0.2500,0.0000",
        "0.7500,0.0000 1.0000,1.0000",
    ]


def test_no_two_of_many_policies_look_alike() -> None:
    marks = marks_of({f"policy {index}": False for index in range(30)})
    assert len({(mark.css, mark.symbol()) for mark in marks.values()}) == 30
