from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from gpoeo_env.device.guard.exits import ExitSignals


class Exits:
    """Counts its calls."""

    def __init__(self) -> None:
        self.calls = 0
        self.signals = ExitSignals(self.note)

    def note(self) -> None:
        self.calls += 1


@pytest.fixture
def exits() -> Iterator[Exits]:
    made = Exits()
    made.signals.install()
    yield made
    made.signals.uninstall()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_an_unhandled_signal_exits_as_a_shell_has_it(exits: Exits, number: signal.Signals, code: int) -> None:
    with pytest.raises(SystemExit) as left:
        signal.raise_signal(number)
    assert (left.value.code, exits.calls) == (code, 1)


def test_ctrl_c_stays_a_keyboard_interrupt(exits: Exits) -> None:
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert exits.calls == 1


def test_a_handler_that_was_there_before_is_called_after() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _frame: heard.append(number))
    made = Exits()
    made.signals.install()
    try:
        signal.raise_signal(signal.SIGTERM)
    finally:
        made.signals.uninstall()
        signal.signal(signal.SIGTERM, before)
    assert (heard, made.calls) == ([signal.SIGTERM], 1)


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    made = Exits()
    made.signals.install()
    try:
        signal.raise_signal(signal.SIGHUP)
    finally:
        made.signals.uninstall()
        signal.signal(signal.SIGHUP, before)
    assert made.calls == 0


def test_a_signal_waits_until_a_change_is_complete(exits: Exits) -> None:
    calls_within = []

    def change() -> None:
        with exits.signals.held():
            signal.raise_signal(signal.SIGTERM)
            calls_within.append(exits.calls)

    with pytest.raises(SystemExit):
        change()
    assert (calls_within, exits.calls) == ([0], 1)


def test_a_second_signal_does_not_interrupt_the_answer_to_the_first() -> None:
    steps = []

    def slowly() -> None:
        steps.append("begin")
        signal.raise_signal(signal.SIGTERM)
        steps.append("end")

    signals = ExitSignals(slowly)
    signals.install()
    try:
        with pytest.raises(SystemExit):
            signal.raise_signal(signal.SIGTERM)
    finally:
        signals.uninstall()
    assert steps == ["begin", "end"]


def test_two_guards_both_answer_one_signal() -> None:
    first, second = Exits(), Exits()
    first.signals.install()
    second.signals.install()
    try:
        with pytest.raises(SystemExit):
            signal.raise_signal(signal.SIGTERM)
    finally:
        second.signals.uninstall()
        first.signals.uninstall()
    assert (first.calls, second.calls) == (1, 1)


def test_a_handler_that_somebody_put_on_top_stays() -> None:
    made = Exits()
    before = signal.getsignal(signal.SIGTERM)
    made.signals.install()
    try:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        made.signals.uninstall()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_uninstalled_everything_is_as_before() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    made = Exits()
    made.signals.install()
    made.signals.uninstall()
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_another_thread_handles_no_signals() -> None:
    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=Exits().signals.install)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_forked_child_gives_nothing_back(exits: Exits) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            signal.raise_signal(signal.SIGTERM)
        except SystemExit:
            os._exit(exits.calls)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
