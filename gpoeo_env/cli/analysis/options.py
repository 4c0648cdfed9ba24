"""What the commands that look into a recording share: their options, and how they are checked."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from gpoeo_env.errors import InstallationError, UsageError
from gpoeo_env.trace.logs import read_recording
from gpoeo_env.trace.recording import Recording

__all__ = ["FileArgument", "FromOption", "MarksOption", "PlotOption", "ToOption", "check_plot", "read_stretch"]

PLOT_SUFFIXES = (".png", ".svg", ".pdf")

FileArgument = Annotated[Path, typer.Argument(help="Recording, or CSV log of a GPU.", show_default=False)]
FromOption = Annotated[
    float | None,
    typer.Option(
        "--from", metavar="S", help="Leave out the rows before this time of the recording.", show_default=False
    ),
]
ToOption = Annotated[
    float | None,
    typer.Option("--to", metavar="S", help="Leave out the rows after this time of the recording.", show_default=False),
]
MarksOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Iterations as the program itself marked them: CSV start_s,end_s,kind, or a file of "
        "gpoeo_env.progress.marks.",
        show_default=False,
    ),
]
PlotOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Draw the series, the decision and its evidence (.png, .svg or .pdf; overwritten if it exists).",
        show_default=False,
    ),
]


def read_stretch(file: Path, from_s: float | None, to_s: float | None) -> Recording:
    """Read a recording and cut it.

    Raises:
        TraceError: the file cannot be used.
        UsageError: fewer than two rows are left.
    """
    recording = read_recording(file)
    if from_s is None and to_s is None:
        return recording
    return recording.between(-math.inf if from_s is None else from_s, math.inf if to_s is None else to_s)


def check_plot(path: Path | None) -> None:
    """Check that a plot can be drawn, before anything is computed for it.

    Raises:
        UsageError: the name has no suffix of a picture, or its folder does not exist.
        InstallationError: matplotlib is not installed.
    """
    if path is None:
        return
    if path.suffix.lower() not in PLOT_SUFFIXES:
        raise UsageError(f"--plot {path}: cannot tell the kind of picture; name a file {' or '.join(PLOT_SUFFIXES)}")
    if not path.parent.is_dir():
        raise UsageError(f"--plot {path}: there is no folder {path.parent}; make it, or name another file")
    if find_spec("matplotlib") is None:
        raise InstallationError("--plot needs matplotlib, which is not installed; pip install 'gpoeo-env[report]'")
