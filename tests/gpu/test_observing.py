"""What can be tried on a real GPU without setting anything."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gpoeo_env.device.nvml.device import NvmlDevice
from gpoeo_env.device.nvml.opening import NvmlSettings, open_device, selected_gpus
from gpoeo_env.errors import DeviceError, InstallationError
from gpoeo_env.signals import POWER

pytestmark = pytest.mark.gpu

GPOEO = [sys.executable, "-c", "from gpoeo_env.cli.main import main; main()"]
LOAD = """
import torch
a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
print("ready", flush=True)
while True:
    for _ in range(50):
        a @ a
    torch.cuda.synchronize()
"""


@pytest.fixture
def device() -> Iterator[NvmlDevice]:
    """The first GPU, to look at only."""
    try:
        found = selected_gpus("0")
    except InstallationError as error:
        pytest.skip(f"no NVIDIA GPU: {error}")
    with open_device(found[0].uuid, NvmlSettings(actuator="observe")) as device:
        yield device


@pytest.fixture
def load(device: NvmlDevice) -> Iterator[None]:  # noqa: ARG001 (without a GPU there is nothing to load)
    """Keeps the GPU busy."""
    pytest.importorskip("torch")
    with subprocess.Popen([sys.executable, "-c", LOAD], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield
        process.kill()


def gpoeo(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*GPOEO, *args], capture_output=True, text=True, check=False)


def test_doctor_knows_the_gpu(device: NvmlDevice) -> None:
    answer = gpoeo("doctor", "--json")
    seen = json.loads(answer.stdout)
    assert any(gpu["name"] == device.info.gpu_name for gpu in seen["gpus"])


@pytest.mark.usefixtures("load")
def test_a_busy_gpu_shows_power_clocks_and_work(device: NvmlDevice) -> None:
    device.begin(0)
    device.observe(2.0)
    window = device.observe(5.0)
    names = [signal.name for signal in window.signals]
    power = window.values[:, names.index(POWER.name)]
    assert np.nanmin(power) > 50
    assert window.observed in list(device.clocks)
    if "sm_active" in names:  # GPM: Hopper and newer
        assert np.nanmean(window.values[:, names.index("sm_active")]) > 0.5
    assert device.missed_ticks == 0


def test_observing_refuses_to_lock(device: NvmlDevice) -> None:
    device.begin(0)
    with pytest.raises(DeviceError, match="only observes"):
        device.set_clocks(device.clocks.top)


@pytest.mark.usefixtures("load")
def test_a_run_that_observes_passes_its_programs_exit_code_on(tmp_path: Path) -> None:
    program = [sys.executable, "-c", "import sys, time; time.sleep(4); sys.exit(7)"]
    ended = gpoeo("run", "--gpu", "0", "--observe", "--window", "1", "--log", str(tmp_path), "--", *program)
    assert ended.returncode == 7, ended.stderr
    assert len((tmp_path / "windows.jsonl").read_text().splitlines()) > 1
