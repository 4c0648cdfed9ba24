"""What is installed: policies, devices, importers and trainers, found by entry point.

Ours are registered exactly as anybody else's. In the pyproject.toml of a plugin:

    [project.entry-points."gpoeo.policies"]
    mine = "my_package.my_module:build"

Afterwards ``load("gpoeo.policies", "mine")`` returns that ``build``, and ``gpoeo plugins`` lists it.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from gpoeo_env.errors import InstallationError, UnknownNameError, UsageError

__all__ = ["DEVICES", "IMPORTERS", "POLICIES", "TRAINERS", "Plugin", "load", "load_object", "plugins"]

POLICIES = "gpoeo.policies"
"""Factories ``build(config, sweeps=None) -> Policy``."""
DEVICES = "gpoeo.devices"
"""Factories ``build(argument, config) -> Device``."""
IMPORTERS = "gpoeo.importers"
"""Functions that turn somebody's files into a `SweepSet`."""
TRAINERS = "gpoeo.trainers"
"""Factories ``build() -> Trainer``, behind ``gpoeo fit``."""

PREFIX = "gpoeo."
_SINGULAR = {POLICIES: "policy", DEVICES: "device", IMPORTERS: "importer", TRAINERS: "trainer"}


@dataclass(frozen=True, slots=True, order=True)
class Plugin:
    """One registered thing.

    Attributes:
        group: entry-point group, for example "gpoeo.policies".
        name: what users write.
        value: ``module:attribute``.
        distribution: installed distribution that registers it.
        version: of that distribution.
    """

    group: str
    name: str
    value: str
    distribution: str
    version: str


def plugins(group: str | None = None) -> tuple[Plugin, ...]:
    """Return what is registered, sorted; nothing is imported.

    Args:
        group: one group; None = every group of this project.
    """
    groups = [group] if group is not None else [name for name in entry_points().groups if name.startswith(PREFIX)]
    return tuple(sorted({_plugin(point) for name in groups for point in entry_points(group=name)}))


def load(group: str, name: str) -> object:
    """Import what is registered under a name.

    Raises:
        UnknownNameError: nothing is; the message names the nearest.
        InstallationError: this package is not installed, the plugin cannot be imported, or two distributions claim
            the name.
    """
    registered = plugins(group)
    found = [plugin for plugin in registered if plugin.name == name]
    if not found:
        if not plugins():
            raise InstallationError(
                "nothing is registered, not even the built-in policies: gpoeo-env is on the path but not installed; "
                "run `pip install -e .` in its checkout"
            )
        raise UnknownNameError(_singular(group), name, [plugin.name for plugin in registered])
    if len(found) > 1:
        claims = " and ".join(f"{plugin.distribution} ({plugin.value})" for plugin in found)
        raise InstallationError(f"{_singular(group)} {name!r} is registered twice, by {claims}; uninstall one of them")
    plugin = found[0]
    try:
        return load_object(plugin.value)
    except (InstallationError, UnknownNameError) as error:
        raise InstallationError(
            f"{_singular(group)} {name!r} of {plugin.distribution} {plugin.version} cannot be loaded: {error}; "
            f"install {plugin.distribution} again or uninstall it"
        ) from error


def load_object(path: str) -> object:
    """Import ``module:attribute``.

    Raises:
        UsageError: the text is not of that form.
        InstallationError: the module cannot be imported.
        UnknownNameError: the module has no such attribute; the message names the nearest.
    """
    module_name, _, attribute = path.partition(":")
    if not module_name or not attribute:
        raise UsageError(f"{path!r} names nothing that can be imported; write module:attribute")
    try:
        found: object = import_module(module_name)
    except Exception as error:  # whatever a stranger's module raises while it is imported
        raise InstallationError(f"module {module_name!r}: {type(error).__name__}: {error}") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            public = [name for name in dir(found) if not name.startswith("_")]
            raise UnknownNameError(f"attribute of {module_name}", part, public)
        found = getattr(found, part)
    return found


def _plugin(point: EntryPoint) -> Plugin:
    distribution = point.dist
    name, version = ("unknown", "unknown") if distribution is None else (distribution.name, distribution.version)
    return Plugin(point.group, point.name, point.value, name, version)


def _singular(group: str) -> str:
    return _SINGULAR.get(group, f"{group} plugin")
