"""Scalars for TensorBoard, which is loaded only where somebody writes some."""

from __future__ import annotations

import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gpoeo_env.errors import InstallationError

__all__ = ["ScalarLog", "is_installed"]


def is_installed() -> bool:
    """Tell whether TensorBoard is there; costs nothing."""
    return find_spec("tensorboard") is not None


class ScalarLog:
    """An event file that TensorBoard shows; written in the background, flushed every few seconds."""

    def __init__(self, folder: Path) -> None:
        """Open a new event file.

        Args:
            folder: made where it is missing.

        Raises:
            InstallationError: TensorBoard is not installed.
            OSError: the file cannot be made.
        """
        try:
            from tensorboard.compat.proto import event_pb2, summary_pb2  # noqa: PLC0415 - takes a second, and is optional
            from tensorboard.summary.writer.event_file_writer import EventFileWriter  # noqa: PLC0415 - as above
        except ImportError as error:
            raise InstallationError(
                f"scalars need TensorBoard, which cannot be loaded ({error}); pip install 'gpoeo-env[learn]'"
            ) from error
        self._event, self._summary = event_pb2.Event, summary_pb2.Summary
        self._writer: Any = EventFileWriter(str(folder))  # `Any`: tensorboard has no type hints

    def add(self, tag: str, value: float, step: int) -> None:
        """Write one value.

        Args:
            tag: its name; what stands before a slash is its group.
            value: NaN leaves a gap in the curve.
            step: its place on the axis.
        """
        summary = self._summary(value=[self._summary.Value(tag=tag, simple_value=value)])
        self._writer.add_event(self._event(wall_time=time.time(), step=step, summary=summary))

    def close(self) -> None:
        """Write what is left; calling it twice is fine."""
        self._writer.close()
