"""Controllers that cannot give anything back themselves: killed, suspended, hanging."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable

import pytest

from gpoeo_env.device.guard.processes import find_process
from gpoeo_env.device.guard.restoring import Outcome, restore
from gpoeo_env.testing.clock_file import read_clock_file
from tests.device.guard.controllers import Controller
from tests.device.guard.place import GPU, PAIR, Place, eventually

Start = Callable[..., Controller]
KEEP_BUSY = "for step in range(10**6): guard.lock(ClockPair(300 + step % 1000, 5001)) if step % 7 else guard.release()"


def test_clocks_of_a_killed_controller_are_given_back(place: Place, start: Start) -> None:
    controller = start()
    controller.lock()
    controller.signal(signal.SIGKILL)
    assert eventually(lambda: place.locked() == {})
    assert eventually(lambda: not place.journal.exists())
    code, messages = controller.end()
    assert code == 137
    assert f"process {controller.pid} has ended without giving the clocks of {GPU} back" in messages


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_nothing_locked(place: Place, start: Start) -> None:
    moments = random.Random(5)
    slowest_s = 0.0
    for _ in range(20):
        controller = start(pause_s=0.003)
        controller.tell("exec", KEEP_BUSY)
        time.sleep(moments.uniform(0.0, 0.3))
        controller.signal(signal.SIGKILL)
        killed_s = time.monotonic()
        controller.process.wait()
        assert eventually(lambda: place.locked() == {} and not place.journal.exists())
        slowest_s = max(slowest_s, time.monotonic() - killed_s)
        controller.end()  # ends when the watchdog has: it holds the other end of stderr
        assert place.locked() == {}
    assert place.every_lock_had_a_journal()
    assert slowest_s < 5


def test_a_stated_former_lock_is_restored_after_a_kill(place: Place, start: Start) -> None:
    controller = start(restore_to="210,1410")
    controller.lock()
    controller.signal(signal.SIGKILL)
    assert eventually(lambda: place.locked() == {"sm": (210, 1410)})


def test_after_a_kill_the_next_controller_waits_for_the_watchdog(place: Place, start: Start) -> None:
    controller = start()
    controller.lock()
    controller.signal(signal.SIGKILL)
    successor = start()
    assert place.locked() == {}
    successor.lock()
    time.sleep(0.5)
    assert place.locked() == {"sm": (1200, 1200), "memory": (5001, 5001)}


def test_the_watchdog_outlives_the_terminal_and_requests_to_end(place: Place, start: Start) -> None:
    controller = start()
    controller.lock()
    watchdog = controller.watchdog()
    assert os.getsid(watchdog) == watchdog != os.getsid(controller.pid)
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        os.kill(watchdog, number)
    time.sleep(0.3)
    controller.signal(signal.SIGKILL)
    assert eventually(lambda: place.locked() == {})


def test_the_watchdog_is_small_and_holds_none_of_the_controllers_files(start: Start) -> None:
    controller = start(before="held = open(os.devnull)")
    controller.lock()
    folder = f"/proc/{controller.watchdog()}"
    with open(f"{folder}/status", encoding="ascii") as status:  # noqa: PTH123 - beside the listing of the same folder
        memory_kb = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    files = {os.readlink(f"{folder}/fd/{number}") for number in os.listdir(f"{folder}/fd")}  # noqa: PTH115, PTH208
    assert memory_kb < 32_000
    assert len(files) == 5, files  # /dev/null, stderr, the socket, the lock and the folder


class TestLostLease:
    def test_a_suspended_controller_loses_its_clocks(self, place: Place, start: Start) -> None:
        controller = start(lease_s=1.0)
        controller.lock()
        controller.signal(signal.SIGSTOP)
        assert eventually(lambda: place.locked() == {})
        assert place.journal.exists()

    def test_it_notices_and_locks_again(self, place: Place, start: Start) -> None:
        controller = start(lease_s=1.0)
        controller.lock()
        controller.signal(signal.SIGSTOP)
        assert eventually(lambda: place.locked() == {})
        controller.signal(signal.SIGCONT)
        assert eventually(lambda: controller.eval("guard.renew()") == "False")
        controller.lock()
        assert controller.eval("guard.renew()") == "True"
        assert place.locked() == {"sm": (1200, 1200), "memory": (5001, 5001)}

    def test_after_that_a_kill_is_still_answered(self, place: Place, start: Start) -> None:
        controller = start(lease_s=1.0)
        controller.lock()
        controller.signal(signal.SIGSTOP)
        assert eventually(lambda: place.locked() == {})
        controller.signal(signal.SIGCONT)
        controller.lock()
        controller.signal(signal.SIGKILL)
        assert eventually(lambda: place.locked() == {} and not place.journal.exists())

    def test_a_kill_while_suspended_removes_the_journal(self, place: Place, start: Start) -> None:
        controller = start(lease_s=1.0)
        controller.lock()
        controller.signal(signal.SIGSTOP)
        assert eventually(lambda: place.locked() == {})
        controller.signal(signal.SIGKILL)
        assert eventually(lambda: not place.journal.exists())

    def test_suspended_in_the_middle_of_a_change_it_may_set_clocks_late_but_never_without_a_journal(
        self, place: Place, start: Start
    ) -> None:
        controller = start(lease_s=1.0, pause_s=0.4)
        controller.tell("exec", "guard.lock(ClockPair(1200, 5001))")
        assert eventually(lambda: "sm" in place.locked())
        controller.signal(signal.SIGSTOP)
        assert eventually(lambda: place.locked() == {})
        controller.signal(signal.SIGCONT)
        assert controller.says() == "done"
        assert place.locked() == {"memory": (5001, 5001)}
        assert place.every_lock_had_a_journal()
        controller.signal(signal.SIGKILL)
        assert eventually(lambda: place.locked() == {} and not place.journal.exists())

    def test_a_control_loop_that_hangs_loses_its_clocks(self, place: Place, start: Start) -> None:
        controller = start(lease_s=0.8, patience_s=0.5)
        controller.lock()
        controller.tell("exec", "time.sleep(60)")
        assert eventually(lambda: place.locked() == {})

    def test_a_loop_that_renews_keeps_them(self, place: Place, start: Start) -> None:
        controller = start(lease_s=0.8, patience_s=0.5)
        controller.lock()
        controller.exec("for _ in range(25): time.sleep(0.1); guard.renew()")
        assert [event.clocks for event in read_clock_file(place.gpu)] == [(1200, 1200), (5001, 5001)]


class TestWatchdogKilled:
    def test_the_controller_starts_another(self, place: Place, start: Start) -> None:
        controller = start()
        controller.lock()
        first = controller.watchdog()
        os.kill(first, signal.SIGKILL)
        assert eventually(lambda: controller.watchdog() != first and find_process(controller.watchdog()) is not None)
        controller.signal(signal.SIGKILL)
        assert eventually(lambda: place.locked() == {})

    def test_one_that_was_killed_just_now_is_replaced_before_clocks_are_set(self, place: Place, start: Start) -> None:
        controller = start()
        controller.lock()
        first = controller.watchdog()
        controller.exec(f"os.kill({first}, 9); guard.lock(ClockPair(900, 5001))")
        assert controller.watchdog() != first
        assert place.locked()["sm"] == (900, 900)

    def test_one_that_is_suspended_is_replaced(self, place: Place, start: Start) -> None:
        controller = start()
        controller.lock()
        first = controller.watchdog()
        os.kill(first, signal.SIGSTOP)
        assert eventually(lambda: controller.watchdog() != first, within_s=8)
        assert find_process(first) is None
        assert place.locked() == {"sm": (1200, 1200), "memory": (5001, 5001)}

    def test_killed_together_they_leave_a_journal_that_restore_clears(self, place: Place, start: Start) -> None:
        controller = start()
        controller.lock()
        watchdog = controller.watchdog()
        controller.signal(signal.SIGSTOP)
        os.kill(watchdog, signal.SIGKILL)
        controller.signal(signal.SIGKILL)
        assert eventually(lambda: find_process(controller.pid) is None and find_process(watchdog) is None)
        assert place.locked() == {"sm": (PAIR.sm_mhz, PAIR.sm_mhz), "memory": (PAIR.mem_mhz, PAIR.mem_mhz)}
        (done,) = restore(place.open())
        assert done.outcome is Outcome.RESTORED
        assert f"process {controller.pid}" in done.detail
        assert place.locked() == {}
        assert restore(place.open()) == ()


def test_a_watchdog_that_cannot_restore_goes_on_trying(place: Place, start: Start) -> None:
    controller = start()
    controller.lock()
    place.fail("memory")
    controller.signal(signal.SIGKILL)
    assert eventually(lambda: place.locked() == {"memory": (5001, 5001)})
    time.sleep(0.2)
    assert place.journal.exists()
    place.fail()
    assert eventually(lambda: place.locked() == {} and not place.journal.exists())


def test_a_watchdog_with_nothing_to_give_back_ends_in_silence(place: Place, start: Start) -> None:
    controller = start()
    controller.exec("guard.lock(ClockPair(1200, 5001)); guard.release()")
    watchdog, calls = controller.watchdog(), len(read_clock_file(place.gpu))
    controller.signal(signal.SIGKILL)
    assert eventually(lambda: find_process(watchdog) is None)
    assert len(read_clock_file(place.gpu)) == calls
