"""The one folder of journals and locks that every user of the machine shares.

``/run/gpoeo`` belongs to root and is sticky like /tmp: everybody may put files there, and nobody but their owner and
root can remove or replace them. It is on a memory file system, so it vanishes with the locked clocks when the machine
boots. Everything goes through one open descriptor of the folder, and nothing through a link, so what was checked is
what is used:

* the folder is a real one, of root or of ourselves, and sticky where others may write;
* a file is a plain file with one name that only its owner can write, and the reader is told who that is: what strangers
  write is not to be acted on (see `stale`);
* a file appears whole or not at all, and is on disk before `Folder.write` returns.
"""

from __future__ import annotations

import errno
import logging
import os
import platform
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from gpoeo_env.errors import ArtefactError, UsageError

__all__ = ["FOLDER_VARIABLE", "SYSTEM_FOLDER", "Folder", "StoredText", "check_gpu_uuid"]

_LOG = logging.getLogger(__name__)

SYSTEM_FOLDER = Path("/run/gpoeo")
FOLDER_VARIABLE = "GPOEO_GUARD_DIR"
"""Names another folder; everybody who shares GPUs must then name the same one."""
LARGEST_FILE = 64 * 1024
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OPEN = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe in the place of a file must not block us


@dataclass(frozen=True, slots=True)
class StoredText:
    """What a file holds, and the user id of whoever wrote it."""

    text: str
    owner_uid: int

    @property
    def is_trusted(self) -> bool:
        """Whether root or we ourselves wrote it."""
        return self.owner_uid in {0, os.geteuid()}


class Folder:
    """An open, checked folder."""

    def __init__(self, path: Path, descriptor: int) -> None:
        """Take a folder that `at` has opened and checked."""
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def shared(cls, system_folder: Path = SYSTEM_FOLDER) -> Self:
        """Open the folder of this machine, made if need be.

        That is the one which the environment names, else the system's. Where that cannot be made, it is a folder of
        this user alone, and a warning says that other users cannot see what is locked.

        Raises:
            ArtefactError: the folder is not safe to use.
        """
        named = os.environ.get(FOLDER_VARIABLE)
        if named:
            return cls.at(Path(named))
        with suppress(FileExistsError, PermissionError, FileNotFoundError):
            system_folder.mkdir(mode=0o700)
            if os.geteuid() == 0:
                system_folder.chmod(0o1777)
        if system_folder.is_dir() and os.access(system_folder, os.R_OK | os.W_OK | os.X_OK, effective_ids=True):
            return cls.at(system_folder)
        own = _folder_of_this_user()
        _LOG.warning(
            "other users cannot see which GPUs are in use: %s cannot be written, so %s is used; "
            "have root run `install -d -m 1777 %s`",
            system_folder,
            own,
            system_folder,
        )
        return cls.at(own)

    @classmethod
    def every(cls) -> list[Self]:
        """Open all folders in which journals of this user may lie: the machine's, and this user's where there is one.

        Raises:
            ArtefactError: as `shared`.
        """
        folders = [cls.shared()]
        own = _folder_of_this_user()
        if own.is_dir() and not own.samefile(folders[0].path):
            folders.append(cls.at(own))
        return folders

    @classmethod
    def at(cls, path: Path) -> Self:
        """Open a folder, made for this user alone if it is not there.

        Raises:
            ArtefactError: it is no folder, or others could change what is in it.
        """
        with _explained(path, "opened"):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        problem = _problem_of_folder(os.fstat(descriptor))
        if problem:
            os.close(descriptor)
            raise ArtefactError(f"the folder {path} {problem}; remove it, or have root do so")
        return cls(path, descriptor)

    def read(self, name: str) -> StoredText | None:
        """Return a file's text; None where there is no such file.

        Raises:
            ArtefactError: the file is a link, a pipe or too large, or others than its owner could have written it.
        """
        try:
            with _explained(self.path / name, "read"):
                descriptor = os.open(name, os.O_RDONLY | _OPEN, dir_fd=self._descriptor)
        except FileNotFoundError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            facts = os.fstat(descriptor)
            problem = _problem_of_file(facts)
            if problem:
                raise ArtefactError(f"{self.path / name} {problem}; it is not used: find out whose it is and remove it")
            return StoredText(file.read(LARGEST_FILE).decode("utf-8", "replace"), facts.st_uid)

    def write(self, name: str, text: str) -> None:
        """Put a file in place, whole and on disk; an older one is replaced.

        Raises:
            ArtefactError: it cannot be written; what was there before is unchanged.
        """
        temporary = f".{name}.{os.urandom(8).hex()}"
        with _explained(self.path / name, "written"):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN
            descriptor = os.open(temporary, flags, 0o600, dir_fd=self._descriptor)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(text.encode())
                    file.flush()
                    os.fchmod(descriptor, 0o644)
                    os.fsync(descriptor)
                os.rename(temporary, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=self._descriptor)
                raise
            os.fsync(self._descriptor)

    def remove(self, name: str) -> None:
        """Remove a file, and what a killed `write` of ours may have left beside it; harmless where there is none.

        Raises:
            ArtefactError: it is somebody else's.
        """
        with _explained(self.path / name, "removed"), suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._descriptor)
        for left in self._all_names():
            if left.startswith(f".{name}."):
                with suppress(OSError):  # of another user: theirs to remove
                    os.unlink(left, dir_fd=self._descriptor)
        os.fsync(self._descriptor)

    def names(self, suffix: str) -> list[str]:
        """Return the names of files with a suffix, without it, sorted."""
        found = [name for name in self._all_names() if name.endswith(suffix) and not name.startswith(".")]
        return sorted(name.removesuffix(suffix) for name in found)

    def open_for_lock(self, name: str) -> int:
        """Open an empty file that all users can lock, made if need be; return its descriptor.

        The file is never written, so it may be anybody's, and it is never removed: whoever holds a lock on a removed
        file and whoever makes it anew would both believe to be alone.
        """
        with _explained(self.path / name, "opened"):
            try:
                # Without O_CREAT: the kernel may forbid even root to "create" a stranger's file in a sticky folder.
                descriptor = os.open(name, os.O_RDONLY | _OPEN, dir_fd=self._descriptor)
            except FileNotFoundError:
                with suppress(FileExistsError):  # somebody was faster: theirs is as good
                    made = os.open(name, os.O_RDONLY | os.O_CREAT | os.O_EXCL | _OPEN, 0o600, dir_fd=self._descriptor)
                    os.fchmod(made, 0o644)  # whatever the umask says, others must be able to open it
                    os.close(made)
                descriptor = os.open(name, os.O_RDONLY | _OPEN, dir_fd=self._descriptor)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise ArtefactError(f"{self.path / name} is no plain file; remove it, or have root do so")
        return descriptor

    def _all_names(self) -> list[str]:
        with os.scandir(self._descriptor) as entries:
            return [entry.name for entry in entries]

    def close(self) -> None:
        """Close the folder; calling it twice is fine."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def check_gpu_uuid(gpu_uuid: str) -> str:
    """Return a GPU's UUID if it can be a file name.

    Raises:
        UsageError: it holds anything but letters, digits and hyphens.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]{0,99}", gpu_uuid):
        raise UsageError(f"{gpu_uuid!r} is no GPU UUID; the driver names GPUs like GPU-1a2b3c4d-...: see nvidia-smi -L")
    return gpu_uuid


def _folder_of_this_user() -> Path:
    """Return a folder that outlives a log-out; one a machine, because home folders are shared between machines."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "gpoeo" / f"guard-{platform.node() or 'localhost'}"


def _problem_of_folder(facts: os.stat_result) -> str | None:
    if facts.st_uid not in {0, os.geteuid()}:
        return f"belongs to user {facts.st_uid}, neither to root nor to you"
    if facts.st_mode & _OTHERS_WRITE and not facts.st_mode & stat.S_ISVTX:
        return "can be changed by others (it is writable for them and not sticky)"
    return None


def _problem_of_file(facts: os.stat_result) -> str | None:
    if not stat.S_ISREG(facts.st_mode):
        return "is no plain file"
    if facts.st_nlink != 1:
        return "has a second name (a hard link)"
    if facts.st_mode & _OTHERS_WRITE:
        return "can be written by others"
    if facts.st_size > LARGEST_FILE:
        return f"is larger than {LARGEST_FILE} bytes"
    return None


@contextmanager
def _explained(path: Path, done: str) -> Iterator[None]:
    """Turn an `OSError` about a path into an `ArtefactError`; a file that is missing or there stays that error."""
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except OSError as error:
        what = "it is a symbolic link" if error.errno == errno.ELOOP else error.strerror
        raise ArtefactError(f"{path} cannot be {done}: {what}; make room, or see whose it is") from error
