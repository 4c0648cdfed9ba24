"""Compile the stand-in for ``libnvidia-ml.so.1``."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Collection
from pathlib import Path

import pytest

__all__ = ["build_library"]

SOURCE = Path(__file__).with_name("nvml_stand_in.c")
SONAME = "libnvidia-ml.so.1"


def build_library(folder: Path, missing: Collection[str] = ()) -> Path:
    """Compile the library into a folder, and return the folder: what ``LD_LIBRARY_PATH`` has to name.

    Args:
        folder: exists.
        missing: functions that the library shall not have, as one of an old driver.
    """
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("no gcc here: the stand-in for the NVML library cannot be compiled")
    exports = folder / "exports.map"
    hidden = "".join(f"{name}; " for name in missing)
    exports.write_text("{ global: nvml*; " + (f"local: {hidden}" if hidden else "") + "};\n", encoding="utf-8")
    options = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", f"-Wl,-soname,{SONAME}"]
    command = [
        compiler,
        *options,
        f"-Wl,--version-script={exports}",
        "-o",
        str(folder / SONAME),
        str(SOURCE),
        "-lm",
        "-lpthread",
    ]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return folder
