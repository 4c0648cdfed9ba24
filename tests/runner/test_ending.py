"""Signals that end a run; a terminal's Ctrl-C reaches the program by itself and must not reach it twice."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time

import pytest

from gpoeo_env.errors import UsageError
from gpoeo_env.runner.command import Command
from gpoeo_env.runner.ending import Ended, ended_by_signals

COUNTS_CTRL_C = """
import signal, time
heard = []
signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
print("ready", flush=True)
until = time.monotonic() + 20
while not heard and time.monotonic() < until: time.sleep(0.02)
time.sleep(0.5)
print(f"heard {len(heard)}", flush=True)
"""
PASSES_ON = f"""
import sys
from gpoeo_env.runner.command import Command
from gpoeo_env.runner.ending import Ended, ended_by_signals, is_from_terminal

command = Command.start([sys.executable, "-c", {COUNTS_CTRL_C!r}])
def pass_on(number):
    if not is_from_terminal(number):
        command.send(number)
with ended_by_signals(pass_on):
    try:
        command.wait()
    except Ended:
        command.wait()
"""


def said_until(terminal: int, word: str) -> str:
    """Return what was printed on a terminal until a word came."""
    said, until_s = "", time.monotonic() + 30
    while word not in said and time.monotonic() < until_s:
        said += os.read(terminal, 1000).decode()
    return said


def test_ctrl_c_in_a_terminal_reaches_the_program_once() -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", PASSES_ON])
    try:
        said_until(terminal, "ready")
        os.write(terminal, b"\x03")
        assert "heard 1" in said_until(terminal, "heard")
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


def test_without_a_terminal_a_signal_is_passed_on() -> None:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", PASSES_ON]
    with subprocess.Popen(command, stdout=pipe, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "heard 1\n"


def test_the_first_signal_ends_and_every_one_is_heard() -> None:
    heard: list[int] = []
    with ended_by_signals(heard.append):
        with pytest.raises(Ended) as end:
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGHUP)  # raises nothing: the run is ending already
    assert (end.value.number, heard) == (signal.SIGTERM, [signal.SIGTERM, signal.SIGHUP])


def test_afterwards_everything_is_as_before() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with ended_by_signals(lambda _number: None):
        assert signal.getsignal(signal.SIGTERM) not in before
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_a_program_is_waited_for_with_patience() -> None:
    command = Command.start([sys.executable, "-c", "import time; time.sleep(30)"])
    with pytest.raises(TimeoutError, match=r"still runs after 0\.1 s"):
        command.wait(0.1)
    assert command.poll() is None
    command.send(signal.SIGKILL)
    assert command.wait(10) == 137
    command.send(signal.SIGKILL)  # to nobody


def test_a_file_that_is_no_program_is_named_without_its_arguments() -> None:
    with pytest.raises(UsageError, match=r"^cannot start passwd: Permission denied; ") as refused:
        Command.start(["/etc/passwd", "--token=secret"])
    assert "secret" not in str(refused.value)
