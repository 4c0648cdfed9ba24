"""NVML itself: loading it, and its error codes as our errors.

    with Nvml.open() as nvml:
        handle = nvml.call("nvmlDeviceGetHandleByIndex", 0)
        power_mw = nvml.ask("nvmlDeviceGetPowerUsage", handle)     # None where this GPU or driver has none

The bindings are `nvidia-ml-py`. An older distribution called `pynvml` installs a package of the same name that wins
the import and lacks half of the functions; it is recognised here and named, with the command that removes it.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Self

from gpoeo_env.errors import (
    DeviceError,
    DeviceFaultError,
    DeviceLostError,
    DriverMissingError,
    InstallationError,
    NotOfferedError,
    PermissionMissingError,
)

__all__ = ["ABSENT", "Nvml", "Versions", "driver_module_version", "load_bindings"]

REQUIRED = ("nvmlInitWithFlags", "nvmlDeviceGetFieldValues", "nvmlGpmMetricsGet", "nvmlDeviceSetGpuLockedClocks")
"""Functions of the bindings that the old distribution lacks, or that nothing works without."""
REPAIR = "pip uninstall -y pynvml; pip install --force-reinstall nvidia-ml-py"
KERNEL_MODULE = Path("/proc/driver/nvidia/version")

ABSENT = (NotOfferedError, PermissionMissingError)
"""Errors of a call that will not succeed later either: what it would have given is left out."""

_NOT_OFFERED = {
    "NOT_SUPPORTED",
    "FUNCTION_NOT_FOUND",
    "NOT_FOUND",
    "NO_DATA",
    "ARGUMENT_VERSION_MISMATCH",
    "DEPRECATED",
}
_LOST = {"GPU_IS_LOST", "RESET_REQUIRED"}
_NO_DRIVER = {"LIBRARY_NOT_FOUND", "DRIVER_NOT_LOADED"}
_ADVICE: dict[str, tuple[type[DeviceError | InstallationError], str]] = {
    **dict.fromkeys(_NOT_OFFERED, (NotOfferedError, "this GPU or driver does not offer it")),
    **dict.fromkeys(_LOST, (DeviceLostError, "the GPU needs a reset or a reboot; the kernel log (dmesg) has the Xid")),
    **dict.fromkeys(
        _NO_DRIVER,
        (
            DriverMissingError,
            "no NVIDIA driver found here; install or load it, in a container pass the GPU through; or try a simulated "
            "GPU: --device sim:rtx3080ti",
        ),
    ),
    "NO_PERMISSION": (
        PermissionMissingError,
        "setting clocks takes root, in a container CAP_SYS_ADMIN as well; or let the site's own command do it "
        "(actuator=command), or only look (gpoeo run --observe, actuator=observe)",
    ),
    "LIB_RM_VERSION_MISMATCH": (
        InstallationError,
        "the driver was upgraded under a running kernel module; reboot, or unload and load the module (in a container: "
        "restart it)",
    ),
    "INVALID_ARGUMENT": (DeviceError, "the driver refuses this value"),
}
"""What an NVML error becomes and what to do about it. Everything that is not listed is a fault that
re-initialising may cure (`DeviceFaultError`)."""


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions that must fit each other.

    Attributes:
        driver: of the kernel module; None = unknown.
        library: of ``libnvidia-ml.so.1``, for example 13.580.159.04; None = unknown.
        bindings: of nvidia-ml-py; None = unknown.
    """

    driver: str | None
    library: str | None
    bindings: str | None

    @property
    def do_fit(self) -> bool:
        """Whether driver and library are of one release; true where either is unknown."""
        return self.driver is None or self.library is None or self.library.endswith(self.driver)


def load_bindings() -> ModuleType:
    """Import the bindings.

    Raises:
        InstallationError: they are missing, or an old distribution of the same name is in their place.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # the deprecated distribution announces itself by one
            import pynvml  # noqa: PLC0415 - loaded where a GPU is opened, nowhere else
    except ImportError as error:
        raise InstallationError("the NVML bindings are missing; pip install nvidia-ml-py") from error
    absent = [name for name in REQUIRED if not hasattr(pynvml, name)]
    if absent:
        raise InstallationError(
            f"{pynvml.__file__} is the old pynvml package in the place of nvidia-ml-py: it has no "
            f"{', '.join(absent)}; repair it with: {REPAIR}"
        )
    module: ModuleType = pynvml
    return module


def driver_module_version(file: Path = KERNEL_MODULE) -> str | None:
    """Return the version of the loaded kernel module, without NVML; None where there is none."""
    try:
        found = re.search(r"\b(\d+\.\d+(?:\.\d+)?)\b", file.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    return found.group(1) if found else None


class Nvml:
    """NVML between its initialisation and its shutdown."""

    def __init__(self, bindings: ModuleType) -> None:
        """Take the bindings; `open` initialises NVML."""
        self._bindings = bindings
        self._names = {
            getattr(bindings, name): name.removeprefix("NVML_ERROR_")
            for name in dir(bindings)
            if name.startswith("NVML_ERROR_")
        }
        self._is_open = False

    @classmethod
    def open(cls) -> Nvml:
        """Load the bindings and initialise NVML; the caller closes it.

        Raises:
            InstallationError: bindings, library or driver are missing or do not fit each other.
            DeviceFaultError: the driver does not answer.
        """
        nvml = cls(load_bindings())
        nvml.initialise()
        return nvml

    @property
    def bindings(self) -> ModuleType:
        """The module, for its constants and structures."""
        return self._bindings

    def initialise(self) -> None:
        """Initialise NVML, anew if it is open: handles that were got before are void afterwards.

        Raises:
            InstallationError: library or driver are missing or do not fit each other.
            DeviceFaultError: the driver does not answer.
        """
        self.close()
        self.call("nvmlInit")
        self._is_open = True

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a function of NVML. `Any`: each function has its own arguments and its own answer.

        Raises:
            NotOfferedError: this GPU, driver or version of the bindings does not have it.
            PermissionMissingError: it takes more rights.
            DeviceLostError: the GPU is gone.
            InstallationError: there is no driver, or its parts do not fit each other.
            DeviceFaultError: the driver failed otherwise; re-initialising may help.
            DeviceError: the value was refused.
        """
        function = getattr(self._bindings, name, None)
        if function is None:
            raise NotOfferedError(f"{name}: this version of nvidia-ml-py does not have it; pip install -U nvidia-ml-py")
        try:
            return function(*arguments)
        except self._bindings.NVMLError as error:
            raise self._named(name, error.value) from error

    def ask(self, name: str, *arguments: Any) -> Any:
        """Call a function of NVML; None where it is not offered, or not to this user. `Any`: as `call`.

        Raises:
            GpoeoError: as `call`, but for `NotOfferedError` and `PermissionMissingError`.
        """
        try:
            return self.call(name, *arguments)
        except ABSENT:
            return None

    def is_offered(self, code: int) -> bool:
        """Tell whether a code that came with a single value is success.

        Raises:
            DeviceLostError, DeviceFaultError: the code means that.
        """
        if code == self._bindings.NVML_SUCCESS:
            return True
        error = self._named("a value", code)
        if isinstance(error, ABSENT):
            return False
        raise error

    def versions(self) -> Versions:
        """Return the versions; answers also where `initialise` failed."""
        library = _text(self._try("nvmlSystemGetNVMLVersion"))
        driver = _text(self._try("nvmlSystemGetDriverVersion")) if self._is_open else None
        try:
            bindings = metadata.version("nvidia-ml-py")
        except metadata.PackageNotFoundError:
            bindings = None
        return Versions(driver or driver_module_version(), library, bindings)

    def close(self) -> None:
        """Shut NVML down; calling it twice is fine."""
        if self._is_open:
            self._is_open = False
            self._try("nvmlShutdown")

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Shut down."""
        self.close()

    def _try(self, name: str) -> Any:
        """Call a function whose failure says nothing new."""
        try:
            return self.call(name)
        except (DeviceError, InstallationError):
            return None

    def _named(self, what: str, code: int) -> DeviceError | InstallationError:
        """Return our error for a code."""
        short = self._names.get(code, "an error that these bindings do not know")
        kind, advice = _ADVICE.get(short, (DeviceFaultError, "the driver library failed; it may help to open it anew"))
        if self._is_open and issubclass(kind, InstallationError):
            kind, advice = DeviceFaultError, "the driver was there a moment ago; see the kernel log (dmesg)"
        if short == "LIB_RM_VERSION_MISMATCH":
            found = self.versions()
            advice = f"library {found.library or 'unknown'}, kernel module {found.driver or 'unknown'}: {advice}"
        return kind(f"{what}: {short.lower().replace('_', ' ')} (NVML code {code}); {advice}")


def _text(value: object) -> str | None:
    """Return text that may come as bytes."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value if isinstance(value, str) else None
