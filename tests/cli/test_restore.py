"""`gpoeo restore`, on a GPU that is a file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gpoeo_env.clocks import ClockPair
from gpoeo_env.device.guard.controller_lock import ControllerLock
from gpoeo_env.device.guard.folder import FOLDER_VARIABLE, Folder
from gpoeo_env.device.guard.journal import Journal, journal_name
from gpoeo_env.device.guard.processes import Process
from gpoeo_env.testing.clock_file import ClockFile, locked_clocks
from tests.cli.conftest import Gpoeo

GPUS = ("GPU-1a", "GPU-1b")


@pytest.fixture
def guard_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of journals, for this process and for the commands that it starts."""
    path = tmp_path / "guard"
    monkeypatch.setenv(FOLDER_VARIABLE, str(path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return path


def leave_locked(folder: Path, *gpus: str) -> None:
    """Do what a controller does that is killed together with its watchdog."""
    for gpu in gpus:
        actuator = ClockFile(folder.with_name(f"{gpu}.log"), gpu)
        journal = Journal.of(actuator, Process(4711, 1, "ann", "train"), pair="1200/5001", restore_to=None)
        Folder.at(folder).write(journal_name(gpu), journal.to_text())
        actuator.lock(ClockPair(1200, 5001))


def locked(folder: Path) -> list[str]:
    return [gpu for gpu in GPUS if locked_clocks(folder.with_name(f"{gpu}.log"))]


def test_without_a_journal_it_says_that_there_is_nothing_to_do(gpoeo: Gpoeo, guard_folder: Path) -> None:
    done = gpoeo("restore")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "nothing to restore: no journal says that clocks are locked\n"
    assert not guard_folder.joinpath("GPU-1a.lock").exists()


def test_it_restores_every_gpu_and_says_whose_clocks_those_were(gpoeo: Gpoeo, guard_folder: Path) -> None:
    leave_locked(guard_folder, *GPUS)
    done = gpoeo("restore", "--all")
    assert (done.returncode, done.stderr) == (0, "")
    said = "clocks given back: memory clock, SM clock (left by process 4711 (train, of user ann), which has ended)"
    assert done.stdout == f"GPU-1a: {said}\nGPU-1b: {said}\n"
    assert locked(guard_folder) == []


def test_a_second_call_has_nothing_to_do(gpoeo: Gpoeo, guard_folder: Path) -> None:
    leave_locked(guard_folder, "GPU-1a")
    gpoeo("restore")
    done = gpoeo("restore")
    assert (done.returncode, done.stdout.split(":")[0]) == (0, "nothing to restore")


def test_one_gpu_is_named_by_the_beginning_of_its_uuid(gpoeo: Gpoeo, guard_folder: Path) -> None:
    leave_locked(guard_folder, *GPUS)
    assert gpoeo("restore", "--gpu", "gpu-1a").returncode == 0
    assert locked(guard_folder) == ["GPU-1b"]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("--gpu", "GPU-1"), "could be GPU-1a or GPU-1b"),
        (("--gpu", "0"), "nvidia-smi -L"),
        (("--gpu", "GPU-1a", "--all"), "contradict"),
    ],
)
def test_what_names_no_single_gpu_is_refused(
    gpoeo: Gpoeo, guard_folder: Path, arguments: tuple[str, ...], hint: str
) -> None:
    leave_locked(guard_folder, *GPUS)
    done = gpoeo("restore", *arguments)
    assert done.returncode == 2
    assert hint in done.stderr
    assert locked(guard_folder) == list(GPUS)


def test_a_living_controller_is_refused_by_name_and_the_others_are_restored(gpoeo: Gpoeo, guard_folder: Path) -> None:
    leave_locked(guard_folder, *GPUS)
    lock = ControllerLock.take(Folder.at(guard_folder), "GPU-1a")
    done = gpoeo("restore")
    lock.release()
    assert done.returncode == 5
    assert f"GPU-1a is controlled by process {os.getpid()}" in done.stderr
    assert locked(guard_folder) == ["GPU-1a"]


def test_machines_get_one_document(gpoeo: Gpoeo, guard_folder: Path) -> None:
    leave_locked(guard_folder, "GPU-1a")
    (one,) = json.loads(gpoeo("restore", "--json").stdout)["gpus"]
    assert (one["uuid"], one["outcome"]) == ("GPU-1a", "restored")
    assert json.loads(gpoeo("restore", "--json").stdout) == {"gpus": []}


def test_journals_of_a_users_own_folder_are_found_beside_the_shared_one(
    gpoeo: Gpoeo, guard_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE)
    own = Folder.shared(tmp_path / "no" / "folder").path
    monkeypatch.setenv(FOLDER_VARIABLE, str(guard_folder))
    leave_locked(own, "GPU-1a")
    assert "GPU-1a: clocks given back" in gpoeo("restore").stdout
