"""A colour, a shape and a dash for each policy: whoever cannot tell the colours apart tells the shapes.

Colours are those of Okabe and Ito (2008) without the yellow, which is too pale for a line; `page.css` holds them.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpoeo_env.bench.report.markup import Markup, tag

__all__ = ["Mark", "marks_of"]

N_COLOURS = 7
SHAPES = (
    "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",  # circle
    "M-4.5-4.5h9v9h-9z",  # square
    "M0-6L5.6 4.2H-5.6z",  # triangle
    "M0-6.2L5.4 0L0 6.2L-5.4 0z",  # diamond
    "M0 6L5.6-4.2H-5.6z",  # triangle, upside down
    "M-2-6h4v4h4v4h-4v4h-4v-4h-4v-4h4z",  # plus
    "M0-6.5L1.9-2L6.5-1.8L2.9 1.2L4.1 5.8L0 3.2L-4.1 5.8L-2.9 1.2L-6.5-1.8L-1.9-2z",  # star
    "M-5.5 0L-2.8-4.8H2.8L5.5 0L2.8 4.8H-2.8z",  # hexagon
)
DASHES = ("", "7 3", "2 3", "9 3 2 3")


@dataclass(frozen=True, slots=True)
class Mark:
    """How a policy looks in every chart.

    Attributes:
        index: its number; colour and shape repeat together after 56 only.
        is_bound: it was told the truth: drawn hollow.
    """

    index: int
    is_bound: bool = False

    @property
    def css(self) -> str:
        """Classes that give the colour, filled or hollow."""
        return f"c{self.index % N_COLOURS}" + (" bound" if self.is_bound else "")

    @property
    def dash(self) -> str | None:
        """SVG dash pattern of a line; None = solid."""
        return DASHES[(self.index + self.index // N_COLOURS) % len(DASHES)] or None

    def symbol(self, title: str = "") -> Markup:
        """Return the symbol around the origin of an SVG."""
        path = tag("path", d=SHAPES[self.index % len(SHAPES)], class_=f"mark {self.css}")
        return tag("g", tag("title", title), path) if title else path

    def inline(self) -> Markup:
        """Return the symbol for a line of text; it says nothing that the text beside it does not."""
        return tag("svg", self.symbol(), class_="inline", viewBox="-8 -8 16 16", aria_hidden="true")


def marks_of(policies: dict[str, bool]) -> dict[str, Mark]:
    """Return a mark by policy.

    Args:
        policies: whether it is a bound, by name, in the order in which marks are given.
    """
    return {name: Mark(index, is_bound) for index, (name, is_bound) in enumerate(policies.items())}
