"""`gpoeo plugins`: what is installed, and from where."""

from __future__ import annotations

from itertools import groupby

from gpoeo_env.cli.options import JsonOption
from gpoeo_env.cli.output import print_json, stdout
from gpoeo_env.registry import Plugin
from gpoeo_env.registry import plugins as installed_plugins

__all__ = ["plugins"]


def plugins(json: JsonOption = False) -> None:
    """List installed policies, devices and importers.

    Each with the distribution that it comes from.
    """
    installed = installed_plugins()
    if json:
        print_json({"plugins": installed})
    else:
        stdout().print("\n".join(_lines(installed)), markup=False, highlight=False, soft_wrap=True)


def _lines(installed: tuple[Plugin, ...]) -> list[str]:
    """Return one aligned line a plugin, under its group; never wrapped, so that a pipe gets whole lines."""
    name, value = (max(len(getattr(plugin, part)) for plugin in installed) for part in ("name", "value"))
    lines = []
    for group, members in groupby(installed, key=lambda plugin: plugin.group):
        lines.append(group)
        lines.extend(f"  {one.name:<{name}}  {one.value:<{value}}  {one.distribution} {one.version}" for one in members)
    return lines
