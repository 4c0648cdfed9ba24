"""An actuator made of the site's own commands, for machines where users may run a blessed script and nothing else.

    sudo -n nvidia-smi -i {uuid} --lock-gpu-clocks={sm},{sm}

A template is split into words as a shell would, then each word is filled in and the program run without a shell, so
nothing that is filled in can become another word or another command.
"""

from __future__ import annotations

import shlex
import shutil
import string
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from gpoeo_env.device.guard.actuator import ActuatorDescription, ClockRange, Domain, Setting
from gpoeo_env.errors import ConfigError, DeviceError, PermissionMissingError

if TYPE_CHECKING:
    from gpoeo_env.clocks import ClockPair  # for types alone: it loads numpy, which the watchdog does without

__all__ = ["CommandActuator", "Commands", "rebuild"]

TIMEOUT_S = 30.0
"""A command that takes longer waits for a password or for the network."""
_BLANKS: Mapping[str, frozenset[str]] = {
    "lock_sm": frozenset({"uuid", "index", "sm", "low"}),
    "lock_memory": frozenset({"uuid", "index", "mem"}),
    "release_sm": frozenset({"uuid", "index"}),
    "release_memory": frozenset({"uuid", "index"}),
}
"""What may be filled into each template."""


@dataclass(frozen=True, slots=True)
class Commands:
    """Templates. They are kept in a journal that everybody on the machine can read: no passwords.

    Attributes:
        lock_sm: locks the SM clock to ``{sm}`` MHz; ``{low}`` is the lower bound, for a range.
        release_sm: gives it back to the driver.
        lock_memory: locks the memory clock to ``{mem}`` MHz; empty = it is left alone.
        release_memory: gives it back; empty as ``lock_memory``.
    """

    lock_sm: str
    release_sm: str
    lock_memory: str = ""
    release_memory: str = ""

    def __post_init__(self) -> None:
        """Check the templates.

        Raises:
            ConfigError: one is missing, cannot be split into words, or has a blank that nothing is known to fill.
        """
        if not self.lock_sm or not self.release_sm:
            raise ConfigError(
                "an actuator of commands needs both lock_sm and release_sm: what cannot be undone is not done"
            )
        if bool(self.lock_memory) != bool(self.release_memory):
            raise ConfigError("lock_memory and release_memory belong together; give both or neither")
        for name, template in asdict(self).items():
            _check(name, template)


class CommandActuator:
    """Runs the site's commands; an `Actuator`, and one that `LocksRanges`."""

    name = "command"

    def __init__(self, gpu_uuid: str, gpu_index: int, commands: Commands) -> None:
        """Take a GPU and the templates.

        Args:
            gpu_uuid: fills ``{uuid}``.
            gpu_index: fills ``{index}``, NVML's number.
            commands: the templates.
        """
        self.gpu_uuid = gpu_uuid
        self._gpu_index = gpu_index
        self._commands = commands

    @property
    def domains(self) -> tuple[Domain, ...]:
        """What `lock` sets."""
        return ("memory", "sm") if self._commands.lock_memory else ("sm",)

    @property
    def description(self) -> ActuatorDescription:
        """How another process builds it again."""
        return ActuatorDescription(
            "gpoeo_env.device.nvml.command:rebuild", {"gpu_index": self._gpu_index, **asdict(self._commands)}
        )

    def probe(self, restore_to: ClockRange | None = None) -> None:
        """Find out whether the commands work, by setting what is in force already; see `NvmlActuator.probe`.

        Raises:
            PermissionMissingError: a command fails; the message has what it said.
        """
        try:
            if restore_to is None:
                self.release_sm()
            else:
                self.lock_sm_range(restore_to)
            self.release_memory()
        except DeviceError as error:
            raise PermissionMissingError(
                f"{error}; run it by hand to see why (sudo must not ask for a password: NOPASSWD in sudoers, sudo -n "
                "here), or only look (gpoeo run --observe, actuator=observe)"
            ) from error

    def lock(self, pair: ClockPair) -> None:
        """Lock the memory clock, where there is a command for it, then the SM clock.

        Raises:
            DeviceError: a command fails.
        """
        if self._commands.lock_memory:
            self._run(self._commands.lock_memory, mem=pair.mem_mhz)
        self.lock_sm_range(ClockRange(pair.sm_mhz, pair.sm_mhz))

    def lock_sm_range(self, clocks: ClockRange) -> None:
        """Lock the SM clock to a range.

        Raises:
            DeviceError: the command fails.
        """
        self._run(self._commands.lock_sm, sm=clocks.high_mhz, low=clocks.low_mhz)

    def release_sm(self) -> None:
        """Give the SM clock back to the driver.

        Raises:
            DeviceError: the command fails.
        """
        self._run(self._commands.release_sm)

    def release_memory(self) -> None:
        """Give the memory clock back, where there is a command for it.

        Raises:
            DeviceError: the command fails.
        """
        if self._commands.release_memory:
            self._run(self._commands.release_memory)

    def _run(self, template: str, **clocks: int) -> None:
        blanks = {"uuid": self.gpu_uuid, "index": self._gpu_index, **clocks}
        words = [word.format_map(blanks) for word in shlex.split(template)]
        shown = shlex.join(words)
        try:
            done = subprocess.run(
                words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise DeviceError(f"`{shown}` has not ended after {TIMEOUT_S:g} s; does it wait for a password?") from error
        except OSError as error:
            raise DeviceError(f"`{shown}` cannot be run: {error.strerror}") from error
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise DeviceError(
                f"`{shown}` failed with exit code {done.returncode}: {said[-1] if said else 'no message'}"
            )


def rebuild(gpu_uuid: str, settings: Mapping[str, Setting]) -> CommandActuator:
    """Build the actuator in another process, from its description.

    Raises:
        ConfigError: the settings are not those of a description.
    """
    try:
        templates = {name: str(settings[name]) for name in _BLANKS}
        return CommandActuator(gpu_uuid, int(str(settings["gpu_index"])), Commands(**templates))
    except (KeyError, ValueError) as error:
        raise ConfigError(
            f"these are no settings of a command actuator: {error}; wanted gpu_index and {list(_BLANKS)}"
        ) from error


def _check(name: str, template: str) -> None:
    try:
        words = shlex.split(template)
        blanks = {
            str(blank)
            for word in words
            for _, blank, spec, how in string.Formatter().parse(word)
            if _is_blank(blank, spec, how)
        }
    except ValueError as error:
        raise ConfigError(f"{name}={template!r} cannot be read: {error}") from error
    unknown = blanks - _BLANKS[name]
    if unknown:
        raise ConfigError(
            f"{name}={template!r}: nothing fills {{{'}, {'.join(sorted(unknown))}}}; there are "
            f"{{{'}, {'.join(sorted(_BLANKS[name]))}}}"
        )
    if words and shutil.which(words[0]) is None:
        raise ConfigError(f"{name}={template!r}: there is no program {words[0]!r} here; write its whole path")


def _is_blank(name: str | None, spec: str | None, conversion: str | None) -> bool:
    """Tell a blank from plain text.

    Raises:
        ValueError: it is more than a name between braces.
    """
    if name is None:
        return False
    if not name.isidentifier() or spec or conversion:
        raise ValueError(f"write blanks as plain names in braces; {name!r} is more than that")
    return True
