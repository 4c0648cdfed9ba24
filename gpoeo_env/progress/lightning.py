"""Iteration marks from a Lightning ``Trainer``.

    from gpoeo_env.progress.lightning import marks_callback

    trainer = Trainer(callbacks=[marks_callback()])

Importing this module does not import Lightning; making the callback does.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from gpoeo_env.errors import InstallationError
from gpoeo_env.progress.marks import open_marks

__all__ = ["marks_callback"]

PACKAGES = ("lightning.pytorch", "pytorch_lightning")
"""The one package under its two names; a callback must come from the one whose Trainer runs."""


def marks_callback(path: str | Path | None = None, package: str | None = None) -> Any:  # a Callback, see above
    """Return a ``Callback`` that marks every training batch.

    Args:
        path: as for `open_marks`.
        package: where the Trainer comes from; None = the first of ``lightning.pytorch`` and ``pytorch_lightning`` that
            is installed.

    Raises:
        InstallationError: Lightning is not installed.
    """

    class MarksCallback(_callback_class(package)):  # type: ignore[misc]  # the base is only known at run time
        """Marks training batches."""

        def on_train_start(self, *_: Any, **__: Any) -> None:
            self._marks = open_marks(path)

        def on_train_batch_start(self, *_: Any, **__: Any) -> None:
            self._marks.begin()

        def on_train_batch_end(self, *_: Any, **__: Any) -> None:
            self._marks.end()

        def on_train_end(self, *_: Any, **__: Any) -> None:
            self._marks.close()

    return MarksCallback()


def _callback_class(package: str | None) -> Any:
    for name in (package,) if package else PACKAGES:
        try:
            return importlib.import_module(name).Callback
        except ImportError:
            continue
    wanted = package or " or ".join(PACKAGES)
    raise InstallationError(f"marking a Trainer's batches needs {wanted}; pip install lightning")
