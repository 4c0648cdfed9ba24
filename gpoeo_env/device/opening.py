"""From a spec to a device: ``sim:rtx3080ti,noise=0.02``, ``replay:curves.sweep.parquet``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from gpoeo_env.config import Spec
from gpoeo_env.device.base import Device
from gpoeo_env.registry import DEVICES, load

__all__ = ["DeviceFactory", "build_device", "open_device"]

DeviceFactory = Callable[[str | None, Mapping[str, Any]], Device]
"""What an entry point of the group ``gpoeo.devices`` names: ``build(argument, config)``. `Any`: the device's own
settings model checks the values."""


def open_device(spec: str) -> Device:
    """Open a device; the caller closes it.

    Args:
        spec: ``KIND[:ARGUMENT][,key=value...]``; ``gpoeo plugins`` lists the kinds.

    Raises:
        UnknownNameError: there is no such kind of device, GPU or workload; the message names the nearest.
        ConfigError: a setting is unknown or out of range.
        ArtefactError: a recording cannot be read.
        InstallationError: the device cannot be loaded.
    """
    wanted = Spec.parse(spec)
    return build_device(wanted.name, wanted.argument, wanted.settings)


def build_device(kind: str, argument: str | None, settings: Mapping[str, Any]) -> Device:
    """Open a device from the parts of its spec; the caller closes it. `Any`: the device's model checks the settings.

    Raises:
        GpoeoError: as `open_device`.
    """
    build = cast("DeviceFactory", load(DEVICES, kind))
    return build(argument, settings)
