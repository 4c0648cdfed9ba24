"""Every error that this project raises on purpose, in one tree.

    GpoeoError                          exit 1
    |- UsageError          ValueError   exit 2   a request that cannot be understood
    |  |- UnknownNameError LookupError  exit 2   a name that is not there; carries the nearest ones
    |  `- ConfigError                   exit 2   a setting that is wrong
    |- InstallationError   ImportError  exit 3   something that must be installed is missing or wrong
    |  `- DriverMissingError            exit 3   no NVIDIA driver
    |- ArtefactError       ValueError   exit 4   a file that cannot be used as it is
    |  |- TraceError                    exit 4   a trace, sweep or table
    |  `- ModelError                    exit 4   a model bundle
    `- DeviceError         RuntimeError exit 5   the device cannot do this
       |- ClockNotSupportedError ValueError  exit 5   a clock pair outside the table
       |- NotRecordedError LookupError  exit 5   replay was asked for something without a recording
       |- NotOfferedError               exit 5   this GPU or driver has no such function
       |- PermissionMissingError PermissionError  exit 5   it takes more rights
       |- DeviceFaultError              exit 5   the driver failed, and may come back
       `- DeviceLostError               exit 5   the GPU is gone

The message says what was wanted, what is there and what to do. Only ``gpoeo_env.cli`` turns an error into a
line on stderr and a process exit code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches
from typing import ClassVar

__all__ = [
    "ArtefactError",
    "ClockNotSupportedError",
    "ConfigError",
    "DeviceError",
    "DeviceFaultError",
    "DeviceLostError",
    "DriverMissingError",
    "GpoeoError",
    "InstallationError",
    "ModelError",
    "NotOfferedError",
    "NotRecordedError",
    "PermissionMissingError",
    "TraceError",
    "UnknownNameError",
    "UsageError",
    "nearest_names",
    "repeated",
]


class GpoeoError(Exception):
    """Base of everything raised on purpose."""

    exit_code: ClassVar[int] = 1

    def __str__(self) -> str:
        """Return the message alone (``KeyError`` and friends would quote it)."""
        return str(self.args[0]) if self.args else type(self).__name__


class UsageError(GpoeoError, ValueError):
    """A request that cannot be understood or contradicts itself."""

    exit_code = 2


class UnknownNameError(UsageError, LookupError):
    """A name that does not exist where it was looked up."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        """Build the message from what was wanted and what is there.

        Args:
            what: kind of thing, singular ("workload", "policy", "column").
            name: the name that was asked for.
            known: the names that exist.
        """
        self.what = what
        self.name = name
        self.known = tuple(known)
        super().__init__(f"unknown {what} {name!r}; {nearest_names(name, self.known)}")

    def __reduce__(self) -> tuple[type[UnknownNameError], tuple[str, str, tuple[str, ...]]]:
        """Pickle by what the constructor takes: the error crosses from a worker process to its parent."""
        return type(self), (self.what, self.name, self.known)


class ConfigError(UsageError):
    """A setting that is unknown, out of range or contradicts another."""


class InstallationError(GpoeoError, ImportError):
    """Something that must be installed is missing or is the wrong version."""

    exit_code = 3


class DriverMissingError(InstallationError):
    """This machine has no NVIDIA driver, or none that can be reached from here."""


class ArtefactError(GpoeoError, ValueError):
    """A file that cannot be used as it is."""

    exit_code = 4


class TraceError(ArtefactError):
    """A trace, sweep or source table that cannot be used as it is."""


class ModelError(ArtefactError):
    """A model bundle that is damaged, newer than this version, or made for other features."""


class DeviceError(GpoeoError, RuntimeError):
    """The device cannot do what was asked."""

    exit_code = 5


class ClockNotSupportedError(DeviceError, ValueError):
    """A clock pair that the device does not offer."""


class NotRecordedError(DeviceError, LookupError):
    """Replay was asked for something that was never recorded."""


class NotOfferedError(DeviceError):
    """This GPU, driver or library does not have what was asked for, and will not have it later either."""


class PermissionMissingError(DeviceError, PermissionError):
    """The device could do it, but not for this user."""


class DeviceFaultError(DeviceError):
    """The driver failed in a way that need not last; the state of the GPU is unknown."""


class DeviceLostError(DeviceError):
    """The device stopped answering and will not come back in this process."""


def nearest_names(name: str, known: Iterable[str], most: int = 3) -> str:
    """Return "did you mean ..." with the nearest known names, or a list of what there is.

    Example:
        >>> nearest_names("orcale", ["oracle", "default"])
        'did you mean oracle?'
    """
    names = sorted(set(known))
    if not names:
        return "there are none"
    by_folded_name = {other.casefold(): other for other in names}
    close = get_close_matches(name.casefold(), by_folded_name, n=most, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(by_folded_name[match] for match in close)}?"
    shown = ", ".join(names[:12])
    return f"there are: {shown}" + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def repeated(names: Iterable[str]) -> list[str]:
    """Return the names that are listed more than once, sorted, each one time.

    Example:
        >>> repeated(["b", "a", "b"])
        ['b']
    """
    return sorted(name for name, times in Counter(names).items() if times > 1)
