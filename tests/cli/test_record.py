"""`gpoeo record` from outside: on a stand-in GPU, in a process that is ended in every way there is."""

from __future__ import annotations

import json
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from gpoeo_env.trace.recording_store import read_recording_file
from tests.nvml_stand_in.live_run import GPOEO, LiveRun, within
from tests.nvml_stand_in.stand_in import GPU_IS_LOST, StandIn

PYTHON = sys.executable
OUTPUT = "train.recording.parquet"
JOURNAL = f"{OUTPUT}.journal"

Start = Callable[..., LiveRun]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder."""
    made = tmp_path / "folder"
    made.mkdir()
    return made


@pytest.fixture
def start(stand_in: StandIn, folder: Path) -> Iterator[Start]:
    """Starts `gpoeo record`; what still runs in the end is killed."""
    runs = []

    def start(*arguments: str) -> LiveRun:
        runs.append(LiveRun(stand_in, folder, "record", "-o", OUTPUT, *arguments))
        return runs[-1]

    yield start
    for run in runs:
        run.process.kill()
        run.process.communicate()


def wait_for_rows(folder: Path, n_bytes: int = 2000) -> None:
    journal = folder / JOURNAL
    assert within(30.0, lambda: journal.exists() and journal.stat().st_size > n_bytes)


def gpoeo(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*GPOEO, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=60)


def test_a_recording_has_the_power_the_energy_and_the_pace_and_sets_nothing(
    stand_in: StandIn, start: Start, folder: Path
) -> None:
    ended = start("--duration", "2", "--rate", "20").end()
    assert ended.code == 0, ended.err
    recording = read_recording_file(folder / OUTPUT)
    assert len(recording.t_s) == pytest.approx(41, abs=3)
    assert recording.duration_s == pytest.approx(2.0, abs=0.1)
    window = recording.window(recording.t_s[0], recording.t_s[-1])
    watts = 100 + 1800 / 10 + 3000 / 30
    power_w, energy_j = recording.column("power_w"), recording.column("energy_j")
    assert power_w is not None
    assert energy_j is not None
    assert np.nanmean(power_w) == pytest.approx(watts, rel=0.01)
    assert window.rate("energy_j") == pytest.approx(watts, rel=0.1)
    assert np.isfinite(energy_j[[0, -1]]).all()
    assert stand_in.calls() == []
    assert not (folder / JOURNAL).exists()
    assert "recorded" in ended.err


def test_a_program_is_recorded_to_its_end_and_its_exit_code_passed_on(start: Start, folder: Path) -> None:
    secret = "import time; time.sleep(1.5); print('trained'); exit(7) # token=hush"
    ended = start("--", PYTHON, "-c", secret).end()
    assert (ended.code, ended.out) == (7, "trained\n")
    assert read_recording_file(folder / OUTPUT).duration_s == pytest.approx(1.5, abs=1.0)
    assert b"hush" not in (folder / OUTPUT).read_bytes()


def test_a_program_that_cannot_be_started_leaves_no_file(start: Start, folder: Path) -> None:
    ended = start("--", "no-such-program").end()
    assert ended.code == 2
    assert "no-such-program" in ended.err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_in_order(start: Start, folder: Path, number: signal.Signals) -> None:
    run = start()
    wait_for_rows(folder)
    run.signal(number)
    assert run.end().code == 128 + number
    assert len(read_recording_file(folder / OUTPUT).t_s) >= 2


def test_ctrl_c_twice_loses_nothing(start: Start, folder: Path) -> None:
    run = start()
    wait_for_rows(folder)
    run.signal(signal.SIGINT)
    time.sleep(0.02)
    run.signal(signal.SIGINT)
    assert run.end().code == 130
    assert len(read_recording_file(folder / OUTPUT).t_s) >= 2


@pytest.mark.parametrize("chance", range(4))
def test_a_kill_at_any_moment_loses_no_row_that_was_there(start: Start, folder: Path, chance: int) -> None:
    run = start("--rate", "100")
    wait_for_rows(folder)
    time.sleep(random.Random(chance).uniform(0.0, 1.0))
    run.signal(signal.SIGKILL)
    assert run.end().code == 128 + signal.SIGKILL

    seen = gpoeo(folder, "trace", "info", "--json", JOURNAL)
    assert seen.returncode == 0, seen.stderr
    assert "cut off" in json.loads(seen.stdout)["provenance"]["source"]
    recovered = gpoeo(folder, "record", "--recover", "--json", "-o", OUTPUT)
    assert recovered.returncode == 0, recovered.stderr
    assert json.loads(recovered.stdout)["rows"] == json.loads(seen.stdout)["n_rows"]
    assert "cut off" in " ".join(gpoeo(folder, "trace", "info", OUTPUT).stdout.split())
    assert not (folder / JOURNAL).exists()


def test_what_a_killed_recorder_left_is_not_overwritten_but_on_purpose(start: Start, folder: Path) -> None:
    run = start()
    wait_for_rows(folder)
    run.signal(signal.SIGKILL)
    run.end()
    refused = start("--duration", "1").end()
    assert refused.code == 2
    assert "--recover" in refused.err
    assert start("--duration", "1", "--force").end().code == 0


def test_a_recording_in_progress_is_not_taken_over(start: Start, folder: Path) -> None:
    run = start()
    wait_for_rows(folder)
    for options in (("--duration", "1"), ("--force", "--duration", "1"), ("--recover",)):
        refused = start(*options).end()
        assert refused.code == 2, options
        assert "being written" in refused.err
    run.signal(signal.SIGINT)
    assert run.end().code == 130
    assert len(read_recording_file(folder / OUTPUT).t_s) >= 2


def test_an_existing_file_is_refused_without_force(start: Start, folder: Path) -> None:
    (folder / OUTPUT).write_text("precious")
    ended = start("--duration", "1").end()
    assert ended.code == 2
    assert "--force" in ended.err
    assert (folder / OUTPUT).read_text() == "precious"
    assert start("--duration", "1", "--force").end().code == 0


def test_a_lost_gpu_ends_it_and_keeps_what_was_seen(stand_in: StandIn, start: Start, folder: Path) -> None:
    run = start()
    wait_for_rows(folder)
    for name in ("nvmlDeviceGetFieldValues", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetUtilizationRates"):
        stand_in.fail(name, GPU_IS_LOST)
    ended = run.end()
    assert ended.code == 5, ended.err
    assert "ended by an error" in read_recording_file(folder / OUTPUT).provenance.source


def test_a_full_disk_ends_it_and_keeps_what_was_written(start: Start, folder: Path) -> None:
    run = start("--rate", "100", "--", PYTHON, "-c", "import time; time.sleep(3); exit(9)")
    resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, (12_000, 12_000))
    ended = run.end()
    assert ended.code == 9, ended.err
    assert "cannot write the journal" in ended.err
    assert "goes on, and nobody records" in ended.err
    if not (folder / OUTPUT).exists():  # there was no room for it, either
        assert "--recover" in ended.err
        assert gpoeo(folder, "record", "--recover", "-o", OUTPUT).returncode == 0
    assert len(read_recording_file(folder / OUTPUT).t_s) >= 2


def test_a_folder_that_is_not_there_is_named(start: Start, folder: Path) -> None:
    ended = start("-o", "nowhere/x.parquet").end()
    assert ended.code == 2
    assert "nowhere" in ended.err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--rate", "5"), "rate_hz"),
        (("--duration", "-1"), "--duration"),
        (("--gpu", "9"), "GPU"),
        (("--json", "--", "true"), "--json"),
        (("--recover", "--gpu", "0"), "--recover"),
        (("--recover",), "cut off"),
    ],
)
def test_wrong_arguments_are_said_before_anything_starts(
    start: Start, folder: Path, options: tuple[str, ...], word: str
) -> None:
    ended = start(*options).end()
    assert ended.code in {2, 4}
    assert word in ended.err
    assert "Traceback" not in ended.err
    assert list(folder.iterdir()) == []


def test_without_a_driver_that_is_what_is_said(folder: Path) -> None:
    ended = gpoeo(folder, "record", "-o", OUTPUT)
    assert ended.returncode == 3
    assert list(folder.iterdir()) == []
