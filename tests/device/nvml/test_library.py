from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gpoeo_env
from gpoeo_env.device.nvml.gpu import every_gpu
from gpoeo_env.device.nvml.library import Nvml, Versions, driver_module_version
from gpoeo_env.errors import DeviceFaultError, DeviceLostError, GpoeoError, InstallationError, NotOfferedError
from tests.device.nvml.scenes import OBSERVE, told_by
from tests.nvml_stand_in.fixtures import Elsewhere, MakeStandIn
from tests.nvml_stand_in.library import build_library
from tests.nvml_stand_in.stand_in import DRIVER_NOT_LOADED, GPU_IS_LOST, UNKNOWN, VERSION_MISMATCH, StandIn

OPEN_NVML = "from gpoeo_env.device.nvml.library import Nvml; Nvml.open()"


def outcome_of(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    wrapped = f"""
import sys
from gpoeo_env.errors import GpoeoError
try:
    {code}
except GpoeoError as error:
    print(error)
    sys.exit(error.exit_code)
"""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", wrapped],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def versions() -> Versions:
    with Nvml.open() as nvml:
        return nvml.versions()


def power_of_the_first() -> int:
    with Nvml.open() as nvml:
        return int(nvml.call("nvmlDeviceGetPowerUsage", nvml.call("nvmlDeviceGetHandleByIndex", 0)))


def names_after_revival() -> list[str]:
    with Nvml.open() as nvml:
        every_gpu(nvml)
        nvml.initialise()
        return [gpu.name for gpu in every_gpu(nvml)]


def call_what_no_bindings_have() -> None:
    with Nvml.open() as nvml:
        nvml.call("nvmlDeviceGetMoodOfTheDay")


def test_the_package_imports_where_every_warning_is_an_error() -> None:
    done = outcome_of("import gpoeo_env, gpoeo_env.device.nvml.opening")
    assert (done.returncode, done.stderr) == (0, "")


def test_an_old_pynvml_that_wins_the_import_is_named_with_its_cure(tmp_path: Path) -> None:
    package = tmp_path / "pynvml"
    package.mkdir()
    old = "import warnings\nwarnings.warn('The pynvml package is deprecated.', FutureWarning)\ndef nvmlInit(): pass\n"
    (package / "__init__.py").write_text(old, encoding="utf-8")
    done = outcome_of(OPEN_NVML, PYTHONPATH=str(tmp_path))
    assert done.returncode == 3
    assert "pip uninstall -y pynvml" in done.stdout
    assert "nvmlGpmMetricsGet" in done.stdout


def test_without_a_driver_the_error_says_so_and_its_exit_code_is_that_of_an_installation() -> None:
    done = outcome_of(OPEN_NVML, LD_LIBRARY_PATH="")
    if done.returncode == 0:
        pytest.skip("this machine has an NVIDIA driver")
    assert done.returncode == 3
    assert "no NVIDIA driver found" in done.stdout


def test_a_library_that_does_not_fit_the_kernel_module_is_named_with_its_version(
    elsewhere: Elsewhere, stand_in: StandIn
) -> None:
    stand_in.fail("nvmlInitWithFlags", VERSION_MISMATCH)
    with pytest.raises(InstallationError, match=r"library 13\.580\.159\.04, kernel module .*: .*reboot"):
        elsewhere(versions)


def test_versions_of_driver_library_and_bindings_are_told(elsewhere: Elsewhere) -> None:
    found: Versions = elsewhere(versions)
    assert (found.driver, found.library, found.do_fit) == ("580.159.04", "13.580.159.04", True)
    assert found.bindings is not None


def test_versions_of_two_releases_do_not_fit(elsewhere: Elsewhere, stand_in: StandIn) -> None:
    stand_in.state.library_version = b"12.570.86.15"
    assert not elsewhere(versions).do_fit


def test_the_version_of_the_kernel_module_is_read_without_nvml(tmp_path: Path) -> None:
    file = tmp_path / "version"
    file.write_text("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\n", "utf-8")
    assert driver_module_version(file) == "580.159.04"
    assert driver_module_version(tmp_path / "absent") is None


@pytest.mark.parametrize(
    ("function", "code", "error"),
    [
        ("nvmlDeviceGetPowerUsage", GPU_IS_LOST, DeviceLostError),
        ("nvmlDeviceGetPowerUsage", UNKNOWN, DeviceFaultError),
        ("nvmlDeviceGetPowerUsage", 12345, DeviceFaultError),
        ("nvmlDeviceGetPowerUsage", DRIVER_NOT_LOADED, DeviceFaultError),
        ("nvmlInit", DRIVER_NOT_LOADED, InstallationError),
    ],
)
def test_an_error_code_becomes_an_error_of_ours_that_names_the_call(
    elsewhere: Elsewhere, stand_in: StandIn, function: str, code: int, error: type[GpoeoError]
) -> None:
    stand_in.fail("nvmlInitWithFlags" if function == "nvmlInit" else function, code)
    with pytest.raises(error, match=rf"{function}: .*NVML code {code}"):
        elsewhere(power_of_the_first)


def test_a_function_that_the_bindings_do_not_have_is_not_offered(elsewhere: Elsewhere) -> None:
    with pytest.raises(NotOfferedError, match="pip install -U nvidia-ml-py"):
        elsewhere(call_what_no_bindings_have)


def test_nvml_can_be_initialised_anew(elsewhere: Elsewhere) -> None:
    assert elsewhere(names_after_revival) == ["NVIDIA H200"]


def test_a_driver_without_a_symbol_is_as_one_that_does_not_offer_it(make_stand_in: MakeStandIn, tmp_path: Path) -> None:
    missing = ("nvmlGpmQueryDeviceSupport", "nvmlDeviceGetFieldValues", "nvmlDeviceGetTotalEnergyConsumption")
    old_driver = make_stand_in(library=build_library(tmp_path, missing))
    with old_driver.process() as process:
        told = process.call(told_by, OBSERVE)
    assert {"energy_j", "power_instant_w", "sm_active"} & {signal.name for signal in told.signals} == set()
    assert "power_w" in {signal.name for signal in told.signals}


def test_the_bindings_are_imported_in_one_module_alone() -> None:
    root = Path(gpoeo_env.__path__[0])
    importers = [
        file.relative_to(root).as_posix()
        for file in root.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import) and any(name.name == "pynvml" for name in node.names)
    ]
    assert importers == ["device/nvml/library.py"]
