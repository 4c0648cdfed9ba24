from __future__ import annotations

from pathlib import Path

import pytest

from gpoeo_env.errors import DeviceError
from gpoeo_env.runner.doctor.findings import Level, as_finding
from gpoeo_env.runner.doctor.machine import find_wsl, why_not_this_user

FULL = "Name:\tgpoeo\nCapEff:\t000001ffffffffff\n"
DOCKER = "Name:\tgpoeo\nCapEff:\t00000000a80425fb\n"


def status(folder: Path, text: str) -> Path:
    (folder / "status").write_text(text)
    return folder / "status"


def test_root_may_set_clocks(tmp_path: Path) -> None:
    assert why_not_this_user(status(tmp_path, FULL), uid=0) is None


def test_root_of_a_plain_container_may_not_and_is_told_the_capability(tmp_path: Path) -> None:
    refusal = why_not_this_user(status(tmp_path, DOCKER), uid=0)
    assert refusal is not None
    assert "--cap-add SYS_ADMIN" in refusal


def test_another_user_may_not(tmp_path: Path) -> None:
    assert "not by this user" in (why_not_this_user(status(tmp_path, FULL), uid=1000) or "")


@pytest.mark.parametrize("text", ["", "Name:\tgpoeo\n"])
def test_where_capabilities_cannot_be_read_none_is_missing(tmp_path: Path, text: str) -> None:
    assert why_not_this_user(status(tmp_path, text), uid=0) is None
    assert why_not_this_user(tmp_path / "absent", uid=0) is None


def test_linux_inside_windows_is_told_where_its_clocks_are_set(tmp_path: Path) -> None:
    kernel = tmp_path / "version"
    kernel.write_text("Linux version 5.15.167.4-microsoft-standard-WSL2 (root@a) #1 SMP\n")
    (finding,) = find_wsl(kernel)
    assert finding.level is Level.NOTE
    assert "from Windows" in finding.fix


@pytest.mark.parametrize("text", ["Linux version 6.8.0-40-generic (buildd@x)\n", None])
def test_plain_linux_is_not_worth_a_word(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "version").write_text(text)
    assert find_wsl(tmp_path / "version") == []


def test_the_end_of_an_error_is_what_to_do() -> None:
    finding = as_finding("GPU 0", DeviceError("it failed; twice; reboot"))
    assert (finding.what, finding.fix, finding.exit_code) == ("it failed; twice", "reboot", 5)
    assert as_finding("GPU 0", DeviceError("it failed")).what == "it failed"
