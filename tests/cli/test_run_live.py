"""`gpoeo run` on live GPUs, from outside: what an operator sees of it, and what it leaves behind."""

from __future__ import annotations

import json
import random
import re
import signal
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.nvml_stand_in.fixtures import MakeStandIn
from tests.nvml_stand_in.gpus import hand_made
from tests.nvml_stand_in.live_run import LiveRun, within
from tests.nvml_stand_in.stand_in import GPU_IS_LOST, NO_PERMISSION, StandIn

HOLDS = "fixed:sm_mhz=1800,mem_mhz=2000"
"""As fast as the driver's default on a GPU that is made by hand, at less power."""
IS_TOO_SLOW = "fixed:sm_mhz=600,mem_mhz=2000"
WINDOW = ("--window", "0.5")
PYTHON = sys.executable

POLICIES = """
from gpoeo_env.policy import Decision, Purpose

class Restless:
    \"\"\"Locks another pair in every window; both are as fast as the default.\"\"\"
    def reset(self, context):
        sm_mhz = context.clocks.top.sm_mhz
        self.actions = [a for a in range(1, len(context.clocks) + 1) if context.clocks.pair_of(a).sm_mhz == sm_mhz]
    def act(self, step):
        return Decision(self.actions[step.index % 2], purpose=Purpose.PROBE)

class Raising(Restless):
    def act(self, step):
        if step.index == 2:
            raise RuntimeError("a fault in a policy")
        return super().act(step)
"""

Start = Callable[..., LiveRun]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder but for the module ``of_tests``, whose policies can be named."""
    made = tmp_path / "folder"
    made.mkdir()
    (made / "of_tests.py").write_text(POLICIES)
    return made


@pytest.fixture
def start(stand_in: StandIn, folder: Path) -> Iterator[Start]:
    """Starts `gpoeo run` on `stand_in`, or on another one; what still runs in the end is killed."""
    runs = []

    def start(*arguments: str, on: StandIn = stand_in) -> LiveRun:
        runs.append(LiveRun(on, folder, "run", *WINDOW, *arguments))
        return runs[-1]

    yield start
    for run in runs:
        run.process.kill()
        run.process.communicate()


def windows_of(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of the only log there is, but for the first. `Any`: JSON."""
    (log,) = folder.glob("runs/*/windows.jsonl")
    return [json.loads(line) for line in log.read_text().splitlines()[1:]]


def resets_at_the_end(stand_in: StandIn, gpu: int = 0) -> int:
    """Return how often the SM clock was given back after the last lock; a reset before any shows that it may be."""
    names = [call.name for call in stand_in.calls(gpu)]
    last = max(index for index, name in enumerate(names) if name == "SetGpuLockedClocks")
    return names[last:].count("ResetGpuLockedClocks")


# The program


def test_a_program_is_started_controlled_and_its_exit_code_passed_on(stand_in: StandIn, start: Start) -> None:
    run = start("--policy", HOLDS, "--", PYTHON, "-c", "import time; time.sleep(4); print('trained'); exit(7)")
    run.wait_for_lock(1800)
    ended = run.end()
    assert (ended.code, ended.out) == (7, "trained\n")
    assert "ended         by the end of the program" in ended.err
    assert stand_in.locked() == (0, 0)


def test_a_short_program_is_run_though_nothing_could_be_measured(stand_in: StandIn, start: Start) -> None:
    ended = start("--policy", HOLDS, "--", PYTHON, "-c", "exit(3)").end()
    assert ended.code == 3
    assert stand_in.locked() == (0, 0)


def test_a_program_that_a_signal_ended_counts_as_a_shell_has_it(start: Start) -> None:
    assert start("--", PYTHON, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)").end().code == 139


def test_a_program_that_cannot_be_started_is_named_and_nothing_is_set(stand_in: StandIn, start: Start) -> None:
    ended = start("--", "no-such-program", "--token=secret").end()
    assert ended.code == 2
    assert "cannot start no-such-program: No such file or directory" in ended.err
    assert not any(call.mhz != (0, 0) for call in stand_in.calls())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_are_passed_on_to_the_program_which_decides_when_it_ends(
    stand_in: StandIn, start: Start, number: signal.Signals
) -> None:
    program = (
        f"import signal, time; heard = []; signal.signal({int(number)}, lambda number, frame: heard.append(number))\n"
        "while not heard: time.sleep(0.05)\n"
        "time.sleep(1.5); exit(40 + heard[0])"
    )
    run = start("--policy", HOLDS, "--", PYTHON, "-c", program)
    run.wait_for_lock(1800)
    run.signal(number)
    assert within(2.0, lambda: stand_in.locked() == (0, 0))
    assert run.process.poll() is None
    assert run.end().code == 40 + number


def test_the_command_line_of_the_program_is_written_nowhere(start: Start, folder: Path) -> None:
    run = start("--policy", HOLDS, "--", PYTHON, "-c", "import time; time.sleep(3)", "--token=hunter2-secret")
    run.wait_for_lock(1800)
    ended = run.end()
    written = b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
    guarded = b"".join(file.read_bytes() for file in folder.parent.glob("guard/*"))
    assert b"hunter2" not in written + guarded + ended.err.encode()
    assert len(windows_of(folder)) >= 2


# The end


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_without_a_program_a_signal_gives_the_clocks_back_once_within_two_seconds(
    stand_in: StandIn, start: Start, number: signal.Signals, code: int
) -> None:
    run = start("--policy", HOLDS)
    run.wait_for_lock(1800)
    run.signal(number)
    assert within(2.0, lambda: stand_in.locked() == (0, 0))
    ended = run.end()
    assert (ended.code, resets_at_the_end(stand_in)) == (code, 1)
    assert f"by {number.name}; the clocks are the driver's again" in ended.out


def test_the_control_ends_after_its_time(stand_in: StandIn, start: Start) -> None:
    ended = start("--policy", HOLDS, "--duration", "2", "--json").end()
    document = json.loads(ended.out)
    assert ended.code == 0
    assert document["ended_by"] == "the end of its time"
    assert document["totals"]["seconds"] == pytest.approx(2.0, abs=0.3)
    assert stand_in.locked() == (0, 0)


def test_a_fault_in_a_policy_gives_the_clocks_back_and_exits_with_1(stand_in: StandIn, start: Start) -> None:
    ended = start("--policy", "of_tests:Raising").end()
    assert ended.code == 1
    assert "a fault in a policy" in ended.err
    assert (stand_in.locked(), resets_at_the_end(stand_in)) == ((0, 0), 1)


def test_a_fault_in_a_policy_does_not_end_the_program(stand_in: StandIn, start: Start) -> None:
    program = "import time; time.sleep(6); exit(11)"
    run = start("--policy", "of_tests:Raising", "--", PYTHON, "-c", program)
    run.wait_for_lock()
    assert within(5.0, lambda: stand_in.locked() == (0, 0))
    assert run.process.poll() is None
    ended = run.end()
    assert ended.code == 11
    assert "a fault in a policy" in ended.err
    assert "goes on, and nobody controls its clocks" in ended.err


def test_a_lost_gpu_ends_the_run_with_5(stand_in: StandIn, start: Start) -> None:
    run = start("--policy", HOLDS)
    run.wait_for_lock(1800)
    for name in ("nvmlDeviceGetFieldValues", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetUtilizationRates"):
        stand_in.fail(name, GPU_IS_LOST)
    ended = run.end()
    assert ended.code == 5
    assert "the GPU is lost" in ended.err


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_no_clock_locked(make_stand_in: MakeStandIn, start: Start) -> None:
    n_at_once, n_rounds = 4, 5
    gpus = make_stand_in(*[hand_made()] * n_at_once)
    moments = random.Random(5)
    for _ in range(n_rounds):
        runs = [start("--policy", "of_tests:Restless", "--gpu", str(gpu), on=gpus) for gpu in range(n_at_once)]
        for gpu, run in enumerate(runs):
            run.wait_for_lock(gpu=gpu)
        kill_at_s = [time.monotonic() + moments.uniform(0.0, 1.5) for _ in runs]
        for moment_s, run in sorted(zip(kill_at_s, runs, strict=True), key=lambda pair: pair[0]):
            time.sleep(max(0.0, moment_s - time.monotonic()))
            run.signal(signal.SIGKILL)
        assert within(5.0, lambda: all(gpus.locked(gpu) == (0, 0) for gpu in range(n_at_once)))
        for run in runs:
            assert run.end().code == 137  # its stderr ends with the watchdog, which is silent about what went well


# What is never done


def test_observing_sets_nothing(stand_in: StandIn, start: Start, folder: Path) -> None:
    ended = start("--observe", "--duration", "2").end()
    assert ended.code == 0
    assert stand_in.calls() == []
    assert {window["decision"]["action"] for window in windows_of(folder)} == {0}


def test_a_dry_run_says_what_would_be_locked_and_sets_nothing(stand_in: StandIn, start: Start) -> None:
    ended = start("--dry-run", "--policy", HOLDS, "--duration", "2").end()
    assert ended.code == 0
    assert "would lock 1800/2000 MHz" in ended.out
    assert stand_in.calls() == []


def test_without_rights_it_is_refused_before_the_program_starts(stand_in: StandIn, start: Start, folder: Path) -> None:
    for name in ("nvmlDeviceSetGpuLockedClocks", "nvmlDeviceResetGpuLockedClocks"):
        stand_in.fail(name, NO_PERMISSION)
    ended = start("--", PYTHON, "-c", "open('started', 'w')").end()
    assert ended.code == 5
    assert all(way in ended.err for way in ("root", "CAP_SYS_ADMIN", "command", "--observe"))
    assert not (folder / "started").exists()


def test_a_second_controller_is_refused_with_the_owners_process(stand_in: StandIn, start: Start) -> None:
    first = start("--policy", HOLDS)
    first.wait_for_lock(1800)
    second = start("--policy", IS_TOO_SLOW).end()
    assert second.code == 5
    assert str(first.process.pid) in second.err
    assert stand_in.locked()[0] == 1800


def test_a_lower_clock_than_allowed_is_not_offered(start: Start) -> None:
    ended = start("--policy", IS_TOO_SLOW, "--min-sm-mhz", "1200").end()
    assert ended.code == 5
    assert "600" in ended.err


def test_a_pair_that_breaks_the_limit_is_left_after_one_window(start: Start, folder: Path) -> None:
    ended = start("--policy", IS_TOO_SLOW, "--duration", "4").end()
    assert ended.code == 0
    pairs = [window["pair"] and window["pair"]["sm_mhz"] for window in windows_of(folder)]
    assert pairs.count(600) == 1
    assert pairs[-1] is None
    assert "broke the limit" in ended.out


# What is seen


def test_every_window_is_a_line_with_the_reason(start: Start) -> None:
    ended = start("--policy", HOLDS, "--duration", "3").end()
    assert "measure the driver's default" in ended.out
    assert "fixed by configuration" in ended.out
    assert re.search(r"energy saved +\d+\.\d %", ended.out)


def test_the_first_lock_says_how_to_undo_it_by_hand(start: Start) -> None:
    err = start("--policy", HOLDS, "--duration", "2").end().err
    assert "gpoeo restore" in err
    assert "nvidia-smi" in err


def test_metrics_are_served_on_loopback(start: Start) -> None:
    run = start("--policy", HOLDS, "--metrics-port", "0", "--duration", "6")
    run.wait_for_lock(1800)
    port = served_by(run.process.pid)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        text = answer.read().decode()
    assert "gpoeo_power_watts" in text
    run.end()


def served_by(pid: int) -> int:
    """Return the TCP port on which a process listens at 127.0.0.1."""
    rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    inodes = {str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()}
    (port,) = [
        int(row[1].split(":")[1], 16)
        for row in rows
        if row[3] == "0A" and row[1].startswith("0100007F") and f"socket:[{row[9]}]" in inodes
    ]
    return port


# Several GPUs


def test_the_gpus_of_one_job_are_one_device(make_stand_in: MakeStandIn, start: Start, folder: Path) -> None:
    gpus = make_stand_in(*[hand_made()] * 8)
    run = start("--gpu", "all", "--policy", HOLDS, "--duration", "5", on=gpus)
    for gpu in range(8):
        run.wait_for_lock(1800, gpu)
    ended = run.end()
    assert ended.code == 0, ended.err
    assert [gpus.locked(gpu) for gpu in range(8)] == [(0, 0)] * 8
    held = [window for window in windows_of(folder) if window["pair"]]
    watts = 100 + 1800 / 10 + 2000 / 30
    assert held[-1]["measurement"]["power_w"] == pytest.approx(8 * watts, rel=0.03)


def test_a_kill_gives_the_clocks_of_every_gpu_back(make_stand_in: MakeStandIn, start: Start) -> None:
    gpus = make_stand_in(*[hand_made()] * 8)
    run = start("--gpu", "all", "--policy", HOLDS, on=gpus)
    for gpu in range(8):
        run.wait_for_lock(1800, gpu)
    run.signal(signal.SIGKILL)
    assert within(5.0, lambda: all(gpus.locked(gpu) == (0, 0) for gpu in range(8)))


def test_when_one_gpu_of_a_group_is_lost_the_others_are_given_back(make_stand_in: MakeStandIn, start: Start) -> None:
    gpus = make_stand_in(*[hand_made()] * 3)
    run = start("--gpu", "0,1,2", "--policy", HOLDS, on=gpus)
    for gpu in range(3):
        run.wait_for_lock(1800, gpu)
    for name in ("nvmlDeviceGetFieldValues", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetUtilizationRates"):
        gpus.fail(name, GPU_IS_LOST, gpu=1)
    assert run.end().code == 5
    assert [gpus.locked(gpu) for gpu in (0, 2)] == [(0, 0)] * 2
