"""Where commands print: results on stdout, messages and progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from gpoeo_env.runner.jsonl import plain

__all__ = ["print_json", "progress_bar", "stderr", "stdout"]


def stdout() -> Console:
    """Return a console for results."""
    return Console()


def stderr() -> Console:
    """Return a console for messages."""
    return Console(stderr=True)


def print_json(document: object) -> None:
    """Print one JSON document on stdout; dataclasses become objects, NaN becomes null."""
    sys.stdout.write(json.dumps(plain(document), indent=2, allow_nan=False, ensure_ascii=False) + "\n")


@contextmanager
def progress_bar(label: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar on stderr while the block runs; nothing is shown where stderr is not a terminal.

    Args:
        label: what is being done.
        total: number of steps.

    Yields:
        A function to call after each step.
    """
    console = stderr()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(label, total=total)
        yield lambda: progress.advance(task)
