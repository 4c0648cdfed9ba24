from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from gpoeo_env.device.guard.controller_lock import ControllerLock, holder_of
from gpoeo_env.errors import DeviceError
from tests.device.guard.controllers import Controller
from tests.device.guard.place import GPU, Place

HOLD = """
import fcntl, os, subprocess, sys
descriptor = os.open(sys.argv[1], os.O_RDONLY)
fcntl.flock(descriptor, fcntl.LOCK_EX)
heir = subprocess.Popen(["sleep", sys.argv[2]], pass_fds=[descriptor], stdout=subprocess.DEVNULL)
print("held", flush=True)
"""
"""Ends at once and leaves the lock to a child, as a killed controller leaves it to its watchdog."""


def test_the_owner_is_named_without_its_arguments(place: Place, start: Callable[..., Controller]) -> None:
    owner = start()
    with pytest.raises(
        DeviceError, match=rf"controlled by process {owner.pid} \(python[\w.]*, of user \w+\)"
    ) as refused:
        ControllerLock.take(place.open(), GPU)
    assert str(place.gpu) not in str(refused.value)


def test_a_free_gpu_has_no_holder(place: Place) -> None:
    assert holder_of(place.open(), GPU) is None


def test_the_holder_is_the_one_that_the_kernel_names(place: Place) -> None:
    lock = ControllerLock.take(place.open(), GPU)
    assert holder_of(place.open(), GPU) == os.getpid()
    lock.release()


def test_after_its_release_the_gpu_is_free(place: Place) -> None:
    lock = ControllerLock.take(place.open(), GPU)
    lock.release()
    lock.release()
    ControllerLock.take(place.open(), GPU).release()


def test_other_gpus_are_free(place: Place) -> None:
    held = ControllerLock.take(place.open(), GPU)
    ControllerLock.take(place.open(), "GPU-2").release()
    held.release()


def hold_for(place: Place, seconds: float) -> None:
    """Let a process take the lock and end, while its child keeps it."""
    os.close(place.open().open_for_lock(f"{GPU}.lock"))
    command = [sys.executable, "-I", "-c", HOLD, str(place.folder / f"{GPU}.lock"), str(seconds)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def test_a_watchdog_that_is_still_busy_is_waited_for(place: Place) -> None:
    hold_for(place, 0.5)
    ControllerLock.take(place.open(), GPU, wait_s=10).release()


def test_a_watchdog_that_takes_too_long_is_named_as_such(place: Place) -> None:
    hold_for(place, 1.0)
    with pytest.raises(DeviceError, match="has ended, and its watchdog is still giving"):
        ControllerLock.take(place.open(), GPU, wait_s=0.1)


def test_a_living_owner_is_not_waited_for(place: Place, start: Callable[..., Controller]) -> None:
    start()
    began_s = time.monotonic()
    with pytest.raises(DeviceError, match="is controlled by process"):
        ControllerLock.take(place.open(), GPU, wait_s=10)
    assert time.monotonic() - began_s < 2
