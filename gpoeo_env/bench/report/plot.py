"""A plot whose geometry is in percentages: it fills any width, and its text keeps the size of the page's.

SVG takes percentages as coordinates of everything but paths; these are drawn in a nested unit square whose lines keep
their width.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.bench.report.markup import Child, Markup, joined, tag

__all__ = ["NOTHING", "Axis", "Plot", "percent", "round_values"]

NOTHING = "\N{EN DASH}"
"""Shown where there is nothing to say."""


def percent(fraction: float, digits: int = 1) -> str:
    """Return a fraction as a percentage; a dash for NaN, and never a negative zero."""
    return NOTHING if math.isnan(fraction) else f"{round(100 * fraction, digits) + 0.0:.{digits}f}\N{NO-BREAK SPACE}%"


def round_values(low: float, high: float, most: int) -> list[float]:
    """Return round values in a range, at most ``most`` + 1 of them, in steps of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [index * step for index in range(first, math.floor(high / step + 1e-9) + 1)]


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of values.

    Attributes:
        low, high: its ends.
        label: what it shows, with the unit.
        show: writes a value beside a tick.
    """

    low: float
    high: float
    label: str
    show: Callable[[float], str] = "{:g}".format

    @classmethod
    def over(
        cls,
        values: Sequence[float] | NDArray[np.float64],
        label: str,
        show: Callable[[float], str] = "{:g}".format,
        room: float = 0.06,
    ) -> Axis:
        """Span the finite values with some room at both ends; a range of no width gets one."""
        finite = [float(value) for value in values if math.isfinite(value)] or [0.0]
        low, high = min(finite), max(finite)
        width = (high - low) or max(abs(high), 1.0) * 0.1
        return cls(low - room * width, high + room * width, label, show)

    def at(self, value: float) -> float:
        """Return where a value lies, 0..1 between the ends."""
        return (value - self.low) / (self.high - self.low)


class Plot:
    """A drawing on two axes; things drawn later lie above."""

    def __init__(self, x: Axis, y: Axis, title: str, *, css: str = "", description: str = "") -> None:
        """Begin with grid and labels.

        Args:
            x: from left to right.
            y: from bottom to top; without a label it has no grid.
            title: names the drawing for people who do not see it.
            css: classes of the frame.
            description: what it shows, in a sentence, for the same people.
        """
        self.x, self.y = x, y
        self._head = joined([tag("title", title), *([tag("desc", description)] if description else [])])
        self._css = f"plot {css}".strip()
        self._parts: list[Markup] = []
        for value in round_values(x.low, x.high, 6):
            self.line((value, y.low), (value, y.high), "grid")
            self.text(value, y.low, x.show(value), "tick x", dy=18)
        for value in round_values(y.low, y.high, 5) if y.label else ():
            self.line((x.low, value), (x.high, value), "grid")
            self.text(x.low, value, y.show(value), "tick y", dx=-7, dy=4)

    def line(self, start: tuple[float, float], end: tuple[float, float], css: str) -> None:
        """Draw a straight line."""
        self._parts.append(
            tag("line", class_=css, x1=self._x(start[0]), y1=self._y(start[1]), x2=self._x(end[0]), y2=self._y(end[1]))
        )

    def curve(self, xs: Sequence[float], ys: Sequence[float], css: str, dash: str | None = None) -> None:
        """Draw straight lines through points; NaN leaves a gap."""
        run: list[str] = []
        for x, y in [*zip(xs, ys, strict=True), (math.nan, math.nan)]:
            if math.isfinite(x) and math.isfinite(y):
                run.append(f"{self.x.at(x):.4f},{1 - self.y.at(y):.4f}")
            elif run:
                line = tag("polyline", points=" ".join(run), class_=f"curve {css}", stroke_dasharray=dash)
                self._parts.append(
                    tag("svg", line, viewBox="0 0 1 1", preserveAspectRatio="none", width="100%", height="100%")
                )
                run = []

    def area(self, x: tuple[float, float], y: tuple[float, float], css: str, title: str = "") -> None:
        """Fill a rectangle."""
        left, right = (min(1.0, max(0.0, self.x.at(value))) for value in x)
        bottom, top = (min(1.0, max(0.0, self.y.at(value))) for value in y)
        place = {"x": left, "y": 1 - top, "width": right - left, "height": top - bottom}
        rect = tag("rect", class_=css, **{key: f"{100 * value:.2f}%" for key, value in place.items()})
        self._parts.append(tag("g", tag("title", title), rect) if title else rect)

    def symbol(self, x: float, y: float, symbol: Markup) -> None:
        """Put a symbol that was drawn around the origin."""
        self._parts.append(tag("svg", symbol, x=self._x(x), y=self._y(y), class_="at"))

    def text(self, x: float, y: float, words: Child, css: str, *, dx: float = 0, dy: float = 0) -> None:
        """Write, ``dx`` and ``dy`` pixels right of and below a point."""
        text = tag("text", words, class_=css, dx=f"{dx:g}", dy=f"{dy:g}")
        self._parts.append(tag("svg", text, x=self._x(x), y=self._y(y), class_="at"))

    def group(self, css: str, policy: str, draw: Callable[[], None]) -> None:
        """Draw something that belongs to a policy, so that the page can bring it out."""
        before, self._parts = self._parts, []
        draw()
        self._parts = [*before, tag("g", *self._parts, class_=css, data_policy=policy)]

    def render(self) -> Markup:
        """Return the drawing with its axis labels."""
        drawing = tag("svg", self._head, *self._parts, role="img", class_="frame")
        return tag(
            "div",
            tag("div", self.y.label, class_="label y", aria_hidden="true"),
            drawing,
            tag("div", self.x.label, class_="label x", aria_hidden="true"),
            class_=self._css,
        )

    def _x(self, value: float) -> str:
        return f"{100 * self.x.at(value):.2f}%"

    def _y(self, value: float) -> str:
        return f"{100 * (1 - self.y.at(value)):.2f}%"
