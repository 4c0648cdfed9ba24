"""What a policy is doing and why, window by window, for people.

On a terminal a table of the last windows is redrawn in place; anywhere else every window is one plain line.
"""

from __future__ import annotations

import math
from collections import deque

from rich.console import Console, Group, JustifyMethod
from rich.live import Live
from rich.text import Text

from gpoeo_env.cli.tables import new_table, percent
from gpoeo_env.clocks import ClockPair
from gpoeo_env.policy import PolicyContext, Step

__all__ = ["LineView", "LiveView"]

SHOWN_WINDOWS = 14
"""Windows in the live table: with title and totals they fit a terminal of 24 lines."""


WIDE = 100
"""Columns of a terminal that has room for the clocks in force beside those asked for."""
_COLUMNS: dict[str, int | None] = {
    "#": 4,
    "purpose": 9,
    "asked": 10,
    "in force": 10,
    "W": 4,
    "slower": 7,
    "saved": 7,
    "why": None,
}
"""Widths; None = what is left."""
_NUMBERS = ("#", "W", "slower", "saved")


class LiveView:
    """An observer that redraws a table of the last windows."""

    def __init__(self, console: Console, title: str) -> None:
        """Remember where to draw.

        Args:
            console: a terminal.
            title: what is running, one line.
        """
        self._title = title
        self._steps: deque[Step] = deque(maxlen=SHOWN_WINDOWS)
        self._live = Live(console=console, refresh_per_second=8)

    def begin(self, context: PolicyContext, workload: str | None) -> None:  # noqa: ARG002 - the title says it
        """Start drawing."""
        self._live.start()

    def step(self, step: Step) -> None:
        """Show one more window."""
        self._steps.append(step)
        self._live.update(self._drawing(step))

    def end(self) -> None:
        """Leave the last drawing on the terminal."""
        self._live.stop()

    def _drawing(self, last: Step) -> Group:
        shown = _COLUMNS if self._live.console.width >= WIDE else [name for name in _COLUMNS if name != "in force"]
        table = new_table(Text(self._title), [], [])
        for name in shown:
            width = _COLUMNS[name]
            if width is None:
                table.add_column(name, no_wrap=True, overflow="ellipsis", ratio=1)
            else:
                justify: JustifyMethod = "right" if name in _NUMBERS else "left"
                table.add_column(name, no_wrap=True, width=width, justify=justify)
        for step in self._steps:
            cells = dict(zip(_COLUMNS, _cells(step), strict=True))
            table.add_row(*(Text(cells[name]) for name in shown))
        return Group(table, Text(_so_far(last)))


class LineView:
    """An observer that prints one line for each window."""

    def __init__(self, console: Console, title: str, *, every_window: bool = True) -> None:
        """Remember where to print.

        Args:
            console: anything; lines are not wrapped.
            title: what is running, one line.
            every_window: else only windows in which something is done that was not done in the window before.
        """
        self._console = console
        self._title = title
        self._every_window = every_window
        self._last_done: object = None

    def begin(self, context: PolicyContext, workload: str | None) -> None:  # noqa: ARG002 - the title says it
        """Print the title."""
        self._console.print(self._title, soft_wrap=True, markup=False, highlight=False)

    def step(self, step: Step) -> None:
        """Print one window."""
        done = (step.decision.action, step.decision.purpose, step.fault)
        if done == self._last_done and not self._every_window:
            return
        self._last_done = done
        index, purpose, asked, in_force, power, slower, saved, why = _cells(step)
        self._console.print(
            f"{index:>4}  {purpose:<9}  asked {asked:<10}  in force {in_force:<10}  {power:>6} W  "
            f"slower {slower:>7}  saved {saved:>7}  {why}",
            soft_wrap=True,
            markup=False,
            highlight=False,
        )

    def end(self) -> None:
        """Nothing is open."""


def _cells(step: Step) -> tuple[str, str, str, str, str, str, str, str]:
    """Return number, purpose, clocks asked for and in force, power, slowdown of the window, saving so far, reason."""
    measurement = step.measurement
    return (
        str(step.index),
        step.decision.purpose.value,
        _pair(step.pair, "driver"),
        _pair(measurement.observed, "-"),
        "-" if math.isnan(measurement.power_w) else f"{measurement.power_w:.0f}",
        "-" if measurement.ratios is None else percent(measurement.ratios.slowdown),
        percent(step.totals.saving),
        step.decision.reason,
    )


def _pair(pair: ClockPair | None, missing: str) -> str:
    return missing if pair is None else str(pair)


def _so_far(step: Step) -> str:
    totals = step.totals
    return (
        f"so far, search paid: {percent(totals.saving)} energy saved, {percent(totals.slowdown)} slower, "
        f"{totals.windows} windows, {totals.joules / 1000:.1f} kJ"
    )
