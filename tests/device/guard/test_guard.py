from __future__ import annotations

import logging
import os
import threading
import time
from pathlib import Path

import pytest

from gpoeo_env.device.guard.actuator import ActuatorDescription, ClockRange
from gpoeo_env.device.guard.controller_lock import ControllerLock
from gpoeo_env.device.guard.guard import Guard
from gpoeo_env.device.guard.journal import Journal
from gpoeo_env.device.guard.processes import find_process
from gpoeo_env.errors import ArtefactError, DeviceError, GpoeoError, UsageError
from gpoeo_env.testing.clock_file import ClockFile, read_clock_file
from tests.device.guard.place import GPU, PAIR, Place

FORMER = ClockRange(210, 1410)


def journal_in(place: Place) -> Journal:
    return Journal.from_text(place.journal.read_text(encoding="utf-8"))


class TestLocking:
    def test_clocks_are_set(self, place: Place, guard: Guard) -> None:
        guard.lock(PAIR)
        assert place.locked() == {"sm": (1200, 1200), "memory": (5001, 5001)}

    def test_every_change_finds_a_journal_and_a_watchdog(self, place: Place, guard: Guard) -> None:
        guard.lock(PAIR)
        guard.release()
        guard.lock(PAIR)
        assert place.every_lock_had_a_journal()
        assert guard.watchdog_pid is not None
        assert find_process(guard.watchdog_pid) is not None

    def test_the_journal_says_who_set_what(self, place: Place, guard: Guard) -> None:
        guard.lock(PAIR)
        journal = journal_in(place)
        assert (journal.gpu_uuid, journal.pair, journal.owner.pid) == (GPU, "1200/5001", os.getpid())
        assert (journal.actuator, journal.domains) == ("clock-file", ("sm", "memory"))

    def test_without_a_journal_no_clock_is_set(self, place: Place, guard: Guard) -> None:
        place.journal.mkdir()
        with pytest.raises(ArtefactError, match="cannot be written"):
            guard.lock(PAIR)
        place.journal.rmdir()
        assert read_clock_file(place.gpu) == []

    def test_without_a_watchdog_no_clock_is_set(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        with Guard.open(place.actuator(), place.open()) as guard:
            monkeypatch.setattr("sys.executable", "/nonexistent/python")
            with pytest.raises(DeviceError, match="no watchdog can be started"):
                guard.lock(PAIR)
            assert read_clock_file(place.gpu) == []

    def test_what_a_failing_actuator_set_half_way_is_given_back(self, place: Place) -> None:
        with Guard.open(place.actuator(), place.open()) as guard:
            place.fail("memory")
            with pytest.raises(DeviceError, match="as the test wishes"):
                guard.lock(PAIR)
            assert place.locked() == {"sm": (1200, 1200)}
            place.fail()
        assert place.locked() == {}
        assert not place.journal.exists()

    def test_the_first_change_tells_how_to_undo_it_by_hand_and_later_ones_nothing(self, place: Place) -> None:
        told: list[str] = []
        with Guard.open(place.actuator(), place.open(), tell=told.append) as guard:
            guard.lock(PAIR)
            guard.release()
            guard.lock(PAIR)
        (words,) = told
        assert "`gpoeo restore`" in words
        assert f"`nvidia-smi -i {GPU} --reset-memory-clocks && nvidia-smi -i {GPU} --reset-gpu-clocks`" in words
        assert "the driver's default will be restored" in words
        assert "--restore-to" in words

    def test_only_observing_starts_no_watchdog_and_writes_no_journal(self, place: Place, guard: Guard) -> None:
        assert guard.renew()
        assert guard.watchdog_pid is None
        assert not place.journal.exists()


class TestGivingBack:
    def test_releasing_gives_all_to_the_driver_and_ends_the_journal(self, place: Place, guard: Guard) -> None:
        guard.lock(PAIR)
        guard.release()
        assert place.locked() == {}
        assert not place.journal.exists()

    def test_a_failing_release_is_said_and_keeps_the_journal(self, place: Place, guard: Guard) -> None:
        guard.lock(PAIR)
        place.fail("sm")
        with pytest.raises(DeviceError, match=r"SM clock: .* run `gpoeo restore`"):
            guard.release()
        assert place.journal.exists()
        place.fail()

    def test_leaving_the_block_gives_back(self, place: Place) -> None:
        with Guard.open(place.actuator(), place.open()) as guard:
            guard.lock(PAIR)
        assert place.locked() == {}
        assert not place.journal.exists()

    def test_an_error_in_the_block_gives_back(self, place: Place) -> None:
        def control() -> None:
            with Guard.open(place.actuator(), place.open()) as guard:
                guard.lock(PAIR)
                raise KeyError

        with pytest.raises(KeyError):
            control()
        assert place.every_lock_had_a_journal()
        assert place.locked() == {}

    def test_closing_twice_restores_once(self, place: Place) -> None:
        guard = Guard.open(place.actuator(), place.open())
        guard.lock(PAIR)
        guard.close()
        calls = len(read_clock_file(place.gpu))
        guard.close()
        assert len(read_clock_file(place.gpu)) == calls

    def test_closing_what_never_set_a_clock_touches_nothing(self, place: Place) -> None:
        Guard.open(place.actuator(), place.open()).close()
        assert read_clock_file(place.gpu) == []

    def test_the_watchdog_ends_with_the_guard(self, place: Place) -> None:
        with Guard.open(place.actuator(), place.open()) as guard:
            guard.lock(PAIR)
            watchdog = guard.watchdog_pid
        assert watchdog is not None
        assert find_process(watchdog) is None

    def test_after_closing_nothing_can_be_set(self, place: Place) -> None:
        guard = Guard.open(place.actuator(), place.open())
        guard.close()
        with pytest.raises(DeviceError, match="open the device again"):
            guard.lock(PAIR)

    def test_if_one_clock_cannot_be_restored_the_other_is_and_the_journal_stays(self, place: Place) -> None:
        guard = Guard.open(place.actuator(), place.open())
        guard.lock(PAIR)
        place.fail("memory")
        with pytest.raises(DeviceError, match=f"{GPU} is not as it was: memory clock"):
            guard.close()
        assert place.locked() == {"memory": (5001, 5001)}
        assert place.journal.exists()
        guard._watch._discard()  # this process lives on; it would go on trying

    def test_a_stated_former_lock_is_restored_in_the_end(self, place: Place) -> None:
        with Guard.open(place.actuator(), place.open(), restore_to=FORMER) as guard:
            guard.lock(PAIR)
        assert place.locked() == {"sm": (210, 1410)}

    def test_with_a_former_lock_even_releasing_is_a_change_that_is_journalled(self, place: Place) -> None:
        with Guard.open(place.actuator(), place.open(), restore_to=FORMER) as guard:
            guard.release()
            assert place.locked() == {}
            assert journal_in(place).restore_to == FORMER
            assert guard.watchdog_pid is not None
        assert place.locked() == {"sm": (210, 1410)}


class TestOpening:
    def test_a_second_controller_is_refused(self, place: Place, guard: Guard) -> None:
        with pytest.raises(DeviceError, match=f"controlled by process {os.getpid()}"):
            Guard.open(place.actuator(), place.open())
        assert guard.gpu_uuid == GPU

    def test_after_the_end_of_one_the_next_can_begin(self, place: Place) -> None:
        for _ in range(2):
            with Guard.open(place.actuator(), place.open()) as guard:
                guard.lock(PAIR)

    def test_what_an_earlier_one_left_is_given_back_first(self, place: Place, caplog: pytest.LogCaptureFixture) -> None:
        leave_locked(place, restore_to=FORMER)
        with caplog.at_level(logging.WARNING), Guard.open(place.actuator(), place.open()):
            assert place.locked() == {"sm": (210, 1410)}
            assert not place.journal.exists()
        assert "left clocks" in caplog.text

    def test_what_cannot_be_given_back_refuses_the_next_one(self, place: Place) -> None:
        leave_locked(place)
        place.fail("sm")
        with pytest.raises(DeviceError, match="cannot be used before it is restored"):
            Guard.open(place.actuator(), place.open())
        ControllerLock.take(place.open(), GPU).release()
        assert place.journal.exists()

    def test_a_former_lock_that_the_actuator_cannot_set_is_refused_at_once(self, place: Place) -> None:
        with pytest.raises(UsageError, match="cannot restore to 210,1410"):
            Guard.open(Fixed(place), place.open(), restore_to=FORMER)

    def test_an_actuator_that_cannot_be_built_again_is_refused_at_once(self, place: Place) -> None:
        with pytest.raises(GpoeoError, match="no_such_module"):
            Guard.open(Fixed(place), place.open())
        assert not place.folder.joinpath(f"{GPU}.lock").exists()


class TestOtherProcessesAndThreads:
    def test_a_forked_child_neither_sets_nor_gives_back(self, place: Place, guard: Guard) -> None:
        guard.lock(PAIR)
        calls = len(read_clock_file(place.gpu))
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                guard.lock(PAIR)
            except DeviceError:
                guard.close()
                code = 0
            os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert len(read_clock_file(place.gpu)) == calls

    def test_a_forked_child_does_not_keep_the_gpu_from_others(self, place: Place) -> None:
        guard = Guard.open(place.actuator(), place.open())
        pid = os.fork()
        if pid == 0:
            time.sleep(30)
            os._exit(0)
        try:
            guard.close()
            ControllerLock.take(place.open(), GPU, wait_s=5).release()
        finally:
            os.kill(pid, 9)
            os.waitpid(pid, 0)

    def test_a_thread_can_control(self, place: Place) -> None:
        def control() -> None:
            with Guard.open(place.actuator(), place.open()) as guard:
                guard.lock(PAIR)

        thread = threading.Thread(target=control)
        thread.start()
        thread.join()
        assert place.every_lock_had_a_journal()
        assert place.locked() == {}


class Fixed(ClockFile):
    """Neither sets ranges nor can be built again."""

    name = "fixed"
    lock_sm_range = None  # type: ignore[assignment]

    def __init__(self, place: Place) -> None:
        super().__init__(place.gpu, GPU)

    @property
    def description(self) -> ActuatorDescription:
        return ActuatorDescription("no_such_module:build")


def leave_locked(place: Place, restore_to: ClockRange | None = None) -> None:
    """Do what a controller does that is killed together with its watchdog."""
    actuator, owner = place.actuator(), find_process(os.getppid())
    assert owner is not None
    journal = Journal.of(actuator, owner, pair=str(PAIR), restore_to=restore_to)
    folder = place.open()
    folder.write(Path(place.journal).name, journal.to_text())
    folder.close()
    actuator.lock(PAIR)
