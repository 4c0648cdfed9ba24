"""The machine below the GPUs: bindings, driver, and whether this process may set clocks at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from gpoeo_env.device.nvml.library import Nvml, Versions, load_bindings
from gpoeo_env.errors import DeviceError, DriverMissingError, InstallationError
from gpoeo_env.runner.doctor.findings import Finding, Level, as_finding

__all__ = ["find_wsl", "open_driver", "why_not_this_user"]

CAP_SYS_ADMIN = 21
"""Bit of capabilities(7) that the driver asks for in a container."""
OTHER_WAYS = (
    "run as root (sudo), let the site's own command set clocks (--device nvml:0,actuator=command,...), or observe"
)


def open_driver() -> tuple[Nvml | None, Versions | None, list[Finding]]:
    """Open NVML, and say why not where that fails.

    Returns:
        NVML, which the caller closes, or None; versions, as far as there are bindings; findings.
    """
    try:
        nvml = Nvml(load_bindings())
    except InstallationError as error:
        return None, None, [as_finding("bindings", error)]
    try:
        nvml.initialise()
    except DriverMissingError:
        what = "no NVIDIA driver found"
        fix = "for live GPUs: install or load the driver; in a container, pass the GPU through (docker run --gpus all)"
        return None, nvml.versions(), [Finding("driver", Level.NOTE, what, fix)]
    except (InstallationError, DeviceError) as error:
        return None, nvml.versions(), [as_finding("driver", error)]
    versions = nvml.versions()
    return nvml, versions, [] if versions.do_fit else [_misfit(versions)]


def find_wsl(kernel: Path = Path("/proc/version")) -> list[Finding]:
    """Say where Linux runs inside Windows, whose driver owns the clocks."""
    text = ""
    with suppress(OSError):
        text = kernel.read_text(encoding="utf-8", errors="replace")
    if "microsoft" not in text.lower():
        return []
    what = "this is WSL: the driver of Windows owns the clocks, and they cannot be set from here"
    fix = "observe here (gpoeo run --observe), and set clocks from Windows: nvidia-smi -lgc as administrator"
    return [Finding("machine", Level.NOTE, what, fix)]


def why_not_this_user(status: Path = Path("/proc/self/status"), uid: int | None = None) -> str | None:
    """Say why the driver will refuse this process clock changes; None = it will not, as far as can be told.

    Only trying tells for certain, and a run does so before it starts anything.
    """
    if (os.geteuid() if uid is None else uid) != 0:
        return "not by this user: the driver lets root set clocks"
    if not _has_capability(status, CAP_SYS_ADMIN):
        return "not in this container: root lacks the capability SYS_ADMIN here (docker run --cap-add SYS_ADMIN)"
    return None


def _has_capability(status: Path, bit: int) -> bool:
    """Read the effective capabilities from proc(5); where they cannot be read, none is missing."""
    with suppress(OSError):
        for line in status.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("CapEff:"):
                return bool(int(line.split()[1], 16) >> bit & 1)
    return True


def _misfit(versions: Versions) -> Finding:
    what = f"the library is {versions.library} and the kernel module {versions.driver}: they are of two releases"
    fix = "reboot, or unload and load the kernel module; in a container, restart it"
    return Finding("driver", Level.PROBLEM, what, fix, InstallationError.exit_code)
