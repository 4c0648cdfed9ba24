"""Every ordinary end of a controlling process gives the clocks back itself, at once, and with the right exit code."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import pytest

from gpoeo_env.testing.clock_file import read_clock_file
from tests.device.guard.controllers import Controller
from tests.device.guard.place import Place

Start = Callable[..., Controller]
ENDS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


def given_back_by(place: Place) -> list[int]:
    """Return the process ids that released clocks, one for each call."""
    return [event.pid for event in read_clock_file(place.gpu) if event.clocks is None]


@pytest.mark.parametrize(("number", "code"), ENDS)
def test_a_signal_gives_back_once_within_two_seconds(
    place: Place, start: Start, number: signal.Signals, code: int
) -> None:
    controller = start()
    controller.lock()
    began_s = time.monotonic()
    controller.signal(number)
    assert controller.end()[0] == code
    assert time.monotonic() - began_s < 2
    assert place.locked() == {}
    assert given_back_by(place) == [controller.pid, controller.pid]
    assert not place.journal.exists()


@pytest.mark.parametrize(("number", "code"), ENDS)
def test_a_signal_in_the_middle_of_a_change_gives_back_after_it(
    place: Place, start: Start, number: signal.Signals, code: int
) -> None:
    controller = start(pause_s=0.3)
    controller.tell("exec", "guard.lock(ClockPair(1200, 5001))")
    while not place.locked():
        time.sleep(0.01)
    controller.signal(number)
    assert controller.end()[0] == code
    assert [event.domain for event in read_clock_file(place.gpu)] == ["sm", "memory", "memory", "sm"]


def test_an_error_gives_back_and_exits_with_1(place: Place, start: Start) -> None:
    controller = start()
    controller.lock()
    controller.tell("exec", "raise RuntimeError('as the test wishes')")
    assert controller.end()[0] == 1
    assert given_back_by(place) == [controller.pid, controller.pid]


def test_an_impatient_user_gets_the_same(place: Place, start: Start) -> None:
    controller = start()
    controller.lock()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
        controller.signal(number)
    assert controller.end()[0] in {130, 143}
    assert place.locked() == {}
    assert given_back_by(place) == [controller.pid, controller.pid]


def test_leaving_without_closing_gives_back(place: Place, start: Start) -> None:
    controller = start()
    controller.exec("guard.lock(ClockPair(1200, 5001)); kept = Guard.__exit__; Guard.__exit__ = lambda *_: None")
    assert controller.end()[0] == 0
    assert given_back_by(place) == [controller.pid, controller.pid]


def test_a_program_with_its_own_handler_goes_on_with_its_clocks_given_back(place: Place, start: Start) -> None:
    controller = start(before="import signal; signal.signal(signal.SIGTERM, lambda *_: print('heard', flush=True))")
    controller.lock()
    controller.signal(signal.SIGTERM)
    assert controller.says() == "heard"
    assert place.locked() == {}
    assert not place.journal.exists()
    assert controller.eval("1 + 1") == "2"


def test_under_nohup_a_lost_terminal_changes_nothing(place: Place, start: Start) -> None:
    controller = start(before="import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)")
    controller.lock()
    controller.signal(signal.SIGHUP)
    assert controller.eval("1 + 1") == "2"
    assert place.locked() != {}


def test_a_failure_to_give_back_is_said_in_the_end(place: Place, start: Start) -> None:
    controller = start()
    controller.lock()
    place.fail("sm")
    controller.signal(signal.SIGTERM)
    time.sleep(0.5)
    place.fail()
    code, messages = controller.end()
    assert code == 143
    assert "is not as it was: SM clock" in messages
    assert "run `gpoeo restore`" in messages
    assert place.locked() == {}  # its watchdog has tried again
