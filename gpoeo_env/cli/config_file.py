"""`--config FILE`: the options of a command from a TOML file; what stands on the command line wins."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpoeo_env.config import load_toml
from gpoeo_env.errors import ConfigError, nearest_names

__all__ = ["ConfigOption"]


def _take_defaults(context: typer.Context, path: Path | None) -> Path | None:
    """Make the file's values the defaults of the other options.

    Raises:
        ConfigError: the file cannot be read, or sets something that the command does not have.
    """
    if path is None:
        return None
    known = {option.name for option in context.command.params if option.name not in (None, "config")}
    values = load_toml(path)
    for name in values:
        if name not in known:
            raise ConfigError(f"{path}: unknown setting {name!r}; {nearest_names(name, map(str, known))}")
    context.default_map = {**(context.default_map or {}), **values}
    return path


ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="TOML file with values for these options, by their long names with _ for -; the command line wins.",
        show_default=False,
        is_eager=True,
        callback=_take_defaults,
    ),
]
