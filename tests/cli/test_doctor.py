from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Gpoeo
from tests.nvml_stand_in.fixtures import MakeStandIn
from tests.nvml_stand_in.gpus import AMPERE, hand_made
from tests.nvml_stand_in.live_run import Ended, LiveRun
from tests.nvml_stand_in.stand_in import (
    FUNCTION_NOT_FOUND,
    GPU_IS_LOST,
    NOT_SUPPORTED,
    VERSION_MISMATCH,
    StandIn,
)

TURING = 6
VGPU = 2
HOLDING = ("run", "--window", "0.5", "--policy", "fixed:sm_mhz=1800,mem_mhz=2000", "--no-log")
Doctor = Callable[..., Ended]


@pytest.fixture
def doctor(stand_in: StandIn, tmp_path: Path) -> Doctor:
    """Calls `gpoeo doctor` on `stand_in`, or on another one."""
    return lambda *arguments, on=stand_in: LiveRun(on, tmp_path, "doctor", *arguments).end()


def document(ended: Ended) -> dict[str, Any]:
    """Return what `--json` printed. `Any`: JSON."""
    parsed: dict[str, Any] = json.loads(ended.out)
    return parsed


def readings_of(ended: Ended) -> dict[str, float]:
    """Return what the first GPU reports, by signal."""
    return {reading["name"]: reading["value"] for reading in document(ended)["gpus"][0]["readings"]}


def fixes(ended: Ended) -> dict[str, str]:
    """Return the fix of every finding, by what was found."""
    found = document(ended)
    every = [*found["findings"], *(finding for gpu in found["gpus"] for finding in gpu["findings"])]
    return {f"{finding['subject']}: {finding['what']}": finding["fix"] for finding in every}


def test_a_healthy_gpu_is_described_and_nothing_is_set(doctor: Doctor, stand_in: StandIn) -> None:
    ended = doctor()
    assert ended.code == 0, ended
    for fact in (
        "driver      580.159.04, library 13.580.159.04",
        "GPU 0: NVIDIA H200 (Hopper), GPU-00000000-",
        "what `gpoeo run` takes without --gpu",
        "3 SM clocks from 600 to 1800 MHz; memory 2000, 3000 MHz",
        "sm_active 0.9",
        "counters  GPM",
        "clocks by this user",
        "replay and simulation ready; live: 1 to observe, 1 to control",
    ):
        assert fact in ended.out
    assert (stand_in.calls(), ended.err) == ([], "")


def test_what_is_read_is_what_the_gpu_does(doctor: Doctor) -> None:
    readings = readings_of(doctor("--json"))
    watts = 100 + 1800 / 10 + 3000 / 30
    assert readings["power_w"] == pytest.approx(watts)
    assert readings["energy_j"] == pytest.approx(watts, rel=0.2)  # J/s
    assert readings["dram_active"] == pytest.approx(0.3)


@pytest.mark.skipif(Path("/proc/driver/nvidia/version").exists(), reason="this machine has an NVIDIA driver")
def test_without_a_driver_replay_and_simulation_are_ready(gpoeo: Gpoeo) -> None:
    ended = gpoeo("doctor")
    assert ended.returncode == 0
    assert ended.stdout.endswith("replay and simulation ready; live: no NVIDIA driver found\n")
    assert "pass the GPU through" in ended.stdout


def test_an_old_pynvml_is_named_with_the_command_that_removes_it(stand_in: StandIn, tmp_path: Path) -> None:
    (tmp_path / "pynvml.py").write_text("def nvmlInit(): pass\n")
    run = LiveRun(stand_in, tmp_path, "doctor", environment={"PYTHONPATH": str(tmp_path)})
    ended = run.end()
    assert ended.code == 3
    assert "pip uninstall -y pynvml" in ended.out
    assert "AttributeError" not in ended.out + ended.err


def test_a_library_that_does_not_fit_the_driver_is_named_with_both_versions(doctor: Doctor, stand_in: StandIn) -> None:
    stand_in.state.library_version = b"13.590.44.01"
    ended = doctor("--json")
    assert ended.code == 3
    (what,) = fixes(ended)
    assert "590.44.01" in what
    assert "580.159.04" in what
    assert "reboot" in fixes(ended)[what]


def test_a_library_that_refuses_the_driver_is_a_problem(doctor: Doctor, stand_in: StandIn) -> None:
    stand_in.fail("nvmlInitWithFlags", VERSION_MISMATCH)
    ended = doctor()
    assert ended.code == 3
    assert "PROBLEM     driver: " in ended.out


def test_a_journal_that_was_left_is_named_and_restore_clears_it(
    stand_in: StandIn, doctor: Doctor, tmp_path: Path
) -> None:
    run = LiveRun(stand_in, tmp_path, *HOLDING)
    run.wait_for_lock(1800)
    both = (run.process.pid, watchdog_of(run.process.pid))
    for number in (signal.SIGSTOP, signal.SIGKILL):  # stopped first, neither acts on the end of the other
        for pid in both:
            os.kill(pid, number)
    run.end()

    told = doctor()
    assert told.code == 5
    assert "clocks may still be locked" in told.out
    assert "fix       gpoeo restore" in told.out
    assert stand_in.locked()[0] == 1800  # a doctor does not operate

    assert LiveRun(stand_in, tmp_path, "restore").end().code == 0
    assert stand_in.locked() == (0, 0)
    assert "nothing to restore" in LiveRun(stand_in, tmp_path, "restore").end().out
    assert doctor().code == 0


def test_a_living_controller_is_named_and_is_no_problem(stand_in: StandIn, doctor: Doctor, tmp_path: Path) -> None:
    run = LiveRun(stand_in, tmp_path, *HOLDING)
    run.wait_for_lock(1800)
    told = doctor()
    run.signal(signal.SIGTERM)
    run.end()
    assert told.code == 0
    assert f"controlled by process {run.process.pid}" in told.out


@pytest.mark.parametrize(
    ("gpu", "what", "fix"),
    [
        (hand_made(is_mig=True), "no control: it is cut into MIG instances", "turn MIG off"),
        (hand_made(is_persistent=False), "persistence mode is off", "nvidia-smi -i 0 -pm 1"),
        (hand_made(architecture=AMPERE, has_gpm=False), "no counters: GPM needs Hopper or newer", "dcgm_url"),
        (hand_made(has_gpm=False), "no counters: the driver does not offer GPM", "update the driver"),
        (hand_made(architecture=TURING), "its memory clock cannot be locked", ""),
        (hand_made(architecture=4), "its SM clock cannot be locked", "observe"),
        (hand_made(virtualization=VGPU), "no control: it is a vGPU", "replay and simulation"),
    ],
)
def test_what_a_gpu_cannot_do_is_said_with_what_to_do(
    make_stand_in: MakeStandIn, doctor: Doctor, gpu: Any, what: str, fix: str
) -> None:
    ended = doctor("--json", on=make_stand_in(gpu))
    found = next(((text, cure) for text, cure in fixes(ended).items() if what in text), None)
    assert found is not None, fixes(ended)
    assert fix in " ".join(found)
    assert ended.code == 0


def test_a_vgpu_that_reports_nothing_is_for_replay_only(make_stand_in: MakeStandIn, doctor: Doctor) -> None:
    gpus = make_stand_in(hand_made(virtualization=VGPU))
    for name in ("nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetFieldValues"):
        gpus.fail(name, NOT_SUPPORTED)
    ended = doctor(on=gpus)
    assert "no control, no energy" in ended.out
    assert "replay and simulation work" in ended.out


def test_a_function_that_is_missing_costs_a_line_not_the_rest(doctor: Doctor, stand_in: StandIn) -> None:
    stand_in.fail("nvmlDeviceGetTotalEnergyConsumption", FUNCTION_NOT_FOUND)
    ended = doctor("--json")
    assert ended.code == 0
    assert any("does not report energy_j" in what for what in fixes(ended))
    assert readings_of(ended)["power_w"] > 0


def test_a_lost_gpu_is_a_problem_and_the_others_are_described(make_stand_in: MakeStandIn, doctor: Doctor) -> None:
    gpus = make_stand_in(*[hand_made()] * 2)
    gpus.fail("nvmlDeviceGetTotalEnergyConsumption", GPU_IS_LOST, gpu=0)
    ended = doctor("--json", on=gpus)
    assert ended.code == 5
    assert [bool(gpu["readings"]) for gpu in document(ended)["gpus"]] == [False, True]


def test_a_setting_of_cuda_that_names_no_gpu_is_a_problem(stand_in: StandIn, tmp_path: Path) -> None:
    ended = LiveRun(stand_in, tmp_path, "doctor", environment={"CUDA_VISIBLE_DEVICES": "GPU-ffff"}).end()
    assert ended.code == 2
    assert "PROBLEM     CUDA_VISIBLE_DEVICES: " in ended.out


def watchdog_of(pid: int) -> int:
    """Return the only process that a controller without a program has started: its watchdog."""
    (child,) = [
        int(child)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in (task / "children").read_text(encoding="ascii").split()
    ]
    return child
