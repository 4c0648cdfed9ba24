"""The page as a browser shows it, and what can be said of it without one."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from gpoeo_env.bench.report.page import render_page
from gpoeo_env.bench.report.replayed import replay_workload
from gpoeo_env.bench.report.standings import Results, load_results, standings_of
from tests.bench.report.browser import Browser

SECTIONS = {
    "Ranking",
    "Energy against time",
    "Performance profiles",
    "The limit, workload by workload",
    "What the search costs",
    "Workload by workload",
    "An episode, window by window",
}


@pytest.fixture(scope="module")
def page(results_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = load_results(results_folder)
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(_rendered(results), encoding="utf-8")
    return file


def _rendered(results: Results) -> str:
    block = results.blocks[0]
    standings = standings_of(block)
    episodes = list(replay_workload(block, standings, "compute", Path(results.manifest.folder)))
    return render_page(results, [(block, standings, episodes)])


class _Elements(HTMLParser):
    """Gathers what loads something, and checks that every element is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.loading: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {
            name for name, value in attrs if name in {"src", "srcset", "action"} or (tag, name) == ("link", "href")
        }
        self.loading += [tag] if names else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_every_element_is_closed_and_none_loads_anything(page: Path) -> None:
    elements = _Elements()
    elements.feed(page.read_text(encoding="utf-8"))
    assert elements.open == []
    assert elements.loading == []


def test_names_are_shown_as_they_are(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "<b>odd" not in text
    assert "&lt;b&gt;odd&lt;/b&gt; &amp; long" in text


def test_the_page_says_whether_a_gpu_was_measured(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "Measured data, replayed" in text
    assert "Simulated: no GPU was measured" not in text


@pytest.mark.parametrize("is_dark", [False, True])
@pytest.mark.parametrize("width", [375, 1280])
def test_the_page_fits_any_screen_and_asks_the_network_for_nothing(
    browser: Browser, page: Path, width: int, is_dark: bool
) -> None:
    browser.open(page, width=width, is_dark=is_dark)
    assert browser.value("document.documentElement.scrollWidth") == width
    assert browser.requests == [page.as_uri()]
    assert browser.problems == []
    shown = browser.value("[...document.querySelectorAll('h3')].map(each => each.textContent)")
    assert set(shown) >= SECTIONS


def test_text_keeps_its_size_on_a_phone(browser: Browser, page: Path) -> None:
    browser.open(page, width=375)
    heights = "[...document.querySelectorAll('text')].map(each => each.getBoundingClientRect().height)"
    assert browser.value(f"Math.min(...{heights}.filter(height => height > 0))") > 9


def test_a_heading_sorts_the_ranking(browser: Browser, page: Path) -> None:
    browser.open(page, width=1280)
    names = "[...document.querySelectorAll('.ranking tbody tr')].map(row => row.dataset.policy)"
    click = "document.querySelector('.ranking thead button').click()"
    browser.value(click)
    assert browser.value(names)[0] == "fixed:sm_mhz=900"  # it saves most, though it breaks the limit
    browser.value(click)
    assert browser.value(names)[0] == "default"
    assert browser.value("document.querySelector('.ranking th[aria-sort]').getAttribute('aria-sort')") == "ascending"


def test_an_episode_can_be_stepped_through(browser: Browser, page: Path) -> None:
    browser.open(page, width=1280)
    doing, where = (f"document.querySelector('{what}').textContent" for what in ("[data-field=purpose]", ".where"))
    assert browser.value(doing) == "reference"
    browser.value("document.querySelector('button.next').click()")
    assert browser.value(where).startswith("window 2 of ")
    assert browser.value(doing) == "hold"
    at = browser.value("document.querySelector('.episode:not([hidden]) .cursor').getAttribute('x1')")
    assert 0 < float(at.rstrip("%")) < 100


def test_another_policy_can_be_picked(browser: Browser, page: Path) -> None:
    browser.open(page, width=1280)
    browser.value("document.querySelector('select').value = '2'")
    browser.value("document.querySelector('select').dispatchEvent(new Event('change'))")
    shown = browser.value("[...document.querySelectorAll('.episode:not([hidden]) h4')].map(each => each.textContent)")
    assert shown == ["fixed:sm_mhz=900"]


def test_pointing_at_a_policy_brings_it_out(browser: Browser, page: Path) -> None:
    browser.open(page, width=1280)
    browser.value("document.querySelector('.legend [data-policy=default]').dispatchEvent(new Event('pointerenter'))")
    bright = "[...new Set([...document.querySelectorAll('[data-policy]:not(.faded)')].map(e => e.dataset.policy))]"
    assert browser.value(bright) == ["default"]
