"""Options that several commands share, and what they mean together."""

from __future__ import annotations

from typing import Annotated

import typer

from gpoeo_env.errors import UsageError
from gpoeo_env.objective import Objective

__all__ = [
    "DEFAULT_LIMIT",
    "INTERRUPTED",
    "JsonOption",
    "MaxSlowdownOption",
    "MinSavingOption",
    "ObjectiveOption",
    "limit_of",
]

DEFAULT_LIMIT = 0.05
INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 + SIGINT, as shells have it."""

ObjectiveOption = Annotated[
    str, typer.Option("--objective", metavar="NAME", help="What to achieve: energy, performance, edp or ed2p.")
]
MaxSlowdownOption = Annotated[
    float | None,
    typer.Option(
        "--max-slowdown",
        metavar="FRACTION",
        help=f"Limit of the objective energy; 0.05 means 5 %.  [default: {DEFAULT_LIMIT}]",
        show_default=False,
    ),
]
MinSavingOption = Annotated[
    float | None,
    typer.Option(
        "--min-saving",
        metavar="FRACTION",
        help=f"Limit of the objective performance.  [default: {DEFAULT_LIMIT}]",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]


def limit_of(objective: Objective, *, max_slowdown: float | None, min_saving: float | None) -> float:
    """Return the limit that goes with an objective; `DEFAULT_LIMIT` where none was given.

    Raises:
        UsageError: a limit was given that the objective does not have.
        ConfigError: it is out of its range.
    """
    given = {"slowdown": max_slowdown, "saving": min_saving}
    limit = given.pop(objective.limited_quantity or "", None)
    options = {"slowdown": "--max-slowdown", "saving": "--min-saving"}
    for quantity, value in given.items():
        if value is not None:
            takes = options.get(objective.limited_quantity or "", "no limit")
            raise UsageError(
                f"{options[quantity]} does not go with --objective {objective.value}, which takes {takes}; "
                "leave it out or choose another objective"
            )
    return objective.check_limit(DEFAULT_LIMIT if limit is None else limit)
