"""Iteration marks from a Hugging Face ``Trainer``.

    from gpoeo_env.progress.huggingface import marks_callback

    trainer = Trainer(..., callbacks=[marks_callback()])

Importing this module does not import transformers; making the callback does.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from gpoeo_env.errors import InstallationError
from gpoeo_env.progress.marks import open_marks

__all__ = ["marks_callback"]


def marks_callback(path: str | Path | None = None) -> Any:  # a TrainerCallback, a type only known where it is installed
    """Return a ``TrainerCallback`` that marks every optimiser step, its accumulated micro-steps together.

    Args:
        path: as for `open_marks`.

    Raises:
        InstallationError: transformers is not installed.
    """

    class MarksCallback(_callback_class()):  # type: ignore[misc]  # the base is only known at run time
        """Marks optimiser steps."""

        def on_train_begin(self, *_: Any, **__: Any) -> None:
            self._marks = open_marks(path)

        def on_step_begin(self, *_: Any, **__: Any) -> None:
            self._marks.begin()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            self._marks.end()

        def on_train_end(self, *_: Any, **__: Any) -> None:
            self._marks.close()

    return MarksCallback()


def _callback_class() -> Any:
    try:
        return importlib.import_module("transformers").TrainerCallback
    except ImportError as error:
        raise InstallationError("marking a Trainer's steps needs transformers; pip install transformers") from error
