"""Journals that nobody minds: what is believed of them, and what is done about them."""

from __future__ import annotations

import json
import logging
import os
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from gpoeo_env.device.guard.actuator import Setting
from gpoeo_env.device.guard.guard import Guard
from gpoeo_env.device.guard.processes import find_process
from gpoeo_env.device.guard.restoring import Outcome, Restored, restore
from gpoeo_env.testing.clock_file import ClockFile, read_clock_file
from tests.device.guard.controllers import Controller
from tests.device.guard.place import PAIR, Place, eventually
from tests.device.guard.test_guard import leave_locked

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")


def driver(gpu_uuid: str, _settings: Mapping[str, Setting]) -> ClockFile:
    """Stand in for the driver's own reset."""
    return ClockFile(Path(os.environ["GPOEO_TEST_GPU"]), gpu_uuid)


DRIVER = f"{__name__}:driver"


@pytest.fixture(autouse=True)
def _where_the_driver_finds_the_gpu(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPOEO_TEST_GPU", str(place.gpu))


def restored(place: Place, **options: Any) -> Restored:  # Any: passed on
    (one,) = restore(place.open(), driver_factory=DRIVER, **options)
    return one


def edit(place: Place, **fields: object) -> None:
    journal = json.loads(place.journal.read_text(encoding="utf-8"))
    place.journal.write_text(json.dumps(journal | fields), encoding="utf-8")


class TestStale:
    def test_clocks_are_given_back_and_the_journal_goes(self, place: Place) -> None:
        leave_locked(place)
        assert restored(place).outcome is Outcome.RESTORED
        assert place.locked() == {}
        assert not place.journal.exists()

    def test_a_second_time_there_is_nothing_to_do(self, place: Place) -> None:
        leave_locked(place)
        restored(place)
        assert restore(place.open()) == ()

    def test_a_stated_former_lock_is_restored(self, place: Place) -> None:
        leave_locked(place)
        edit(place, restore_to=[210, 1410])
        assert "SM clock to 210,1410 MHz" in restored(place).detail
        assert place.locked() == {"sm": (210, 1410)}

    def test_a_gpu_without_a_journal_needs_nothing(self, place: Place) -> None:
        leave_locked(place)
        assert restore(place.open(), ["GPU-2"]) == ()
        assert place.journal.exists()

    def test_what_fails_is_said_and_the_journal_stays(self, place: Place) -> None:
        leave_locked(place)
        place.fail("sm")
        failed = restored(place)
        assert (failed.outcome, failed.is_done) == (Outcome.FAILED, False)
        assert place.journal.exists()
        place.fail()
        assert restored(place).is_done

    def test_one_gpu_that_fails_does_not_keep_the_others(self, place: Place) -> None:
        leave_locked(place)
        (place.folder / "GPU-0.journal").symlink_to(place.gpu)
        failed, done = restore(place.open())
        assert (failed.gpu_uuid, failed.outcome, done.outcome) == ("GPU-0", Outcome.FAILED, Outcome.RESTORED)

    def test_after_a_reboot_the_journal_is_dropped_and_no_clock_touched(self, place: Place) -> None:
        leave_locked(place)
        edit(place, boot_id="an earlier one")
        calls = len(read_clock_file(place.gpu))
        assert restored(place).outcome is Outcome.OUTDATED
        assert not place.journal.exists()
        assert len(read_clock_file(place.gpu)) == calls

    def test_a_controller_drops_a_journal_of_an_earlier_boot_and_says_so(
        self, place: Place, caplog: pytest.LogCaptureFixture
    ) -> None:
        leave_locked(place)
        edit(place, boot_id="an earlier one")
        calls = len(read_clock_file(place.gpu))
        with caplog.at_level(logging.WARNING), Guard.open(place.actuator(), place.open()):
            assert not place.journal.exists()
        assert len(read_clock_file(place.gpu)) == calls
        assert "before the last boot" in caplog.text

    @pytest.mark.parametrize("text", ["", '{"version": 1, "gpu_', '{"version": 99}', "[]"])
    def test_a_torn_or_newer_journal_is_answered_by_the_drivers_default(self, place: Place, text: str) -> None:
        leave_locked(place)
        place.journal.write_text(text, encoding="utf-8")
        done = restored(place)
        assert done.outcome is Outcome.RESTORED
        assert "journal cannot be used" in done.detail
        assert place.locked() == {}

    def test_a_journal_about_another_gpu_is_not_followed(self, place: Place) -> None:
        leave_locked(place)
        edit(place, gpu_uuid="GPU-2", restore_to=[210, 1410])
        assert "is about GPU-2" in restored(place).detail
        assert place.locked() == {}

    def test_a_link_in_the_place_of_a_journal_is_refused(self, place: Place) -> None:
        leave_locked(place)
        elsewhere = place.root / "elsewhere"
        place.journal.rename(elsewhere)
        place.journal.symlink_to(elsewhere)
        refused = restored(place)
        assert refused.outcome is Outcome.FAILED
        assert "symbolic link" in refused.detail
        assert place.locked() != {}


class TestLiveControllers:
    def test_a_living_controller_is_left_alone_and_named(self, place: Place, start: Callable[..., Controller]) -> None:
        controller = start()
        controller.lock()
        left = restored(place)
        assert left.outcome is Outcome.IN_USE
        assert f"process {controller.pid}" in left.detail
        assert place.locked() != {}

    def test_force_asks_it_to_end_and_it_gives_back_itself(
        self, place: Place, start: Callable[..., Controller]
    ) -> None:
        controller = start()
        controller.lock()
        assert restore(place.open(), force=True) == ()
        assert controller.end()[0] == 143
        assert place.locked() == {}

    def test_force_kills_one_that_does_not_end(self, place: Place, start: Callable[..., Controller]) -> None:
        controller = start(before="import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)")
        controller.lock()
        restore(place.open(), force=True, patience_s=0.5)
        assert controller.end()[0] == 137
        assert place.locked() == {}
        assert not place.journal.exists()

    def test_force_believes_the_kernel_and_not_the_journal(self, place: Place) -> None:
        bystander = os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "30")
        process = find_process(bystander)
        assert process is not None
        leave_locked(place)
        edit(place, pid=bystander, pid_started=process.started)
        assert restored(place, force=True).is_done
        assert os.waitpid(bystander, os.WNOHANG) == (0, 0)
        os.kill(bystander, signal.SIGKILL)
        os.waitpid(bystander, 0)


def run_by_journal(_gpu_uuid: str, settings: Mapping[str, Setting]) -> ClockFile:
    """Be what a stranger's journal names: leaves a trace if it is ever called."""
    Path(str(settings["trace"])).touch()
    raise AssertionError("a stranger's journal was followed")


@as_root
class TestStrangers:
    @pytest.fixture
    def place(self) -> Iterator[Place]:
        """A place that root shares with ordinary users."""
        with tempfile.TemporaryDirectory() as made:
            root = Path(made)
            root.chmod(0o755)
            (root / "guard").mkdir()
            (root / "guard").chmod(0o1777)
            yield Place(root)

    def test_root_resets_what_a_user_left_and_follows_nothing_that_the_journal_says(self, place: Place) -> None:
        leave_locked(place)
        trace = place.root / "trace"
        edit(place, factory=f"{__name__}:run_by_journal", settings={"trace": str(trace)}, restore_to=[210, 210])
        os.chown(place.journal, NOBODY, NOBODY)
        done = restored(place)
        assert done.outcome is Outcome.RESTORED
        assert "was not followed" in done.detail
        assert not trace.exists()
        assert place.locked() == {}

    def test_a_controller_of_root_does_not_follow_it_either(self, place: Place) -> None:
        leave_locked(place)
        edit(place, restore_to=[210, 210])
        os.chown(place.journal, NOBODY, NOBODY)
        with Guard.open(place.actuator(), place.open()):
            assert place.locked() == {}

    def test_a_user_is_sent_to_root_for_what_root_left(self, place: Place) -> None:
        leave_locked(place)
        os.seteuid(NOBODY)
        try:
            refused = restored(place)
        finally:
            os.seteuid(0)
        assert refused.outcome is Outcome.FAILED
        assert "left locked by root" in refused.detail
        assert "sudo gpoeo restore" in refused.detail
        assert place.journal.exists()

    def test_a_user_cannot_end_a_controller_of_root(self, place: Place, start: Callable[..., Controller]) -> None:
        controller = start()
        controller.lock()
        os.setresuid(NOBODY, NOBODY, 0)  # the real one, too: it is enough to signal a process
        try:
            refused = restored(place, force=True)
        finally:
            os.setresuid(0, 0, 0)
        assert "use sudo" in refused.detail
        assert eventually(lambda: controller.eval("guard.renew()") == "True")
        assert place.locked() == {"sm": (PAIR.sm_mhz, PAIR.sm_mhz), "memory": (PAIR.mem_mhz, PAIR.mem_mhz)}
