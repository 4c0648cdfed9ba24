"""What is escaped, and what is not."""

from __future__ import annotations

from gpoeo_env.bench.report.markup import Markup, joined, tag


def test_text_is_escaped_and_markup_is_not() -> None:
    assert tag("p", "a < b & c", Markup("<br>")) == "<p>a &lt; b &amp; c<br></p>"


def test_an_attribute_cannot_end_early() -> None:
    assert tag("p", title='"><script>') == '<p title="&quot;&gt;&lt;script&gt;"></p>'


def test_attributes_are_named_as_html_names_them() -> None:
    assert tag("input", class_="a", aria_label="b", hidden=True, checked=False, value=None) == (
        '<input class="a" aria-label="b" hidden/>'
    )


def test_joined_markup_is_escaped_once() -> None:
    assert tag("p", joined(["&", tag("b", "&")])) == "<p>&amp;<b>&amp;</b></p>"
