"""HTML and SVG as text that is escaped once, where it becomes markup.

tag("p", "energy & time", class_="note")  # <p class="note">energy &amp; time</p>
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

__all__ = ["Child", "Markup", "joined", "tag"]

VOID = {"meta", "input", "line", "path", "circle", "rect", "polyline"}
"""Elements without children; those of SVG close themselves."""


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Child = str | Markup
"""Text, which is escaped, or markup, which is not."""


def tag(name: str, /, *children: Child, **attributes: str | float | bool | None) -> Markup:
    """Return an element.

    Args:
        name: of the element.
        children: in order.
        attributes: a trailing underscore is dropped and the others become hyphens; None and False leave one out, True
            gives one without a value, a float is written with five digits.
    """
    shown = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID:
        return Markup(f"<{name}{shown}/>")
    return Markup(f"<{name}{shown}>{joined(children)}</{name}>")


def joined(children: Iterable[Child]) -> Markup:
    """Return children one after the other."""
    return Markup("".join(each if isinstance(each, Markup) else escape(each, quote=False) for each in children))


def _attribute(key: str, value: str | float | bool | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    text = f"{value:.5g}" if isinstance(value, float) else str(value)
    return f' {name}="{escape(text)}"'
