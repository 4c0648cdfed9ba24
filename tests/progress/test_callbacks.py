"""The callbacks, with stand-ins for the libraries that call them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gpoeo_env.errors import InstallationError
from gpoeo_env.progress import huggingface, lightning
from gpoeo_env.progress.marks import read_marks


class BareTrainerCallback:
    """As in transformers: every event does nothing, and gets (args, state, control, **more)."""

    def on_init_end(self, args: Any, state: Any, control: Any, **more: Any) -> None: ...

    def on_log(self, args: Any, state: Any, control: Any, **more: Any) -> None: ...


class BareCallback:
    """As in Lightning: every hook does nothing, and gets (trainer, module, ...)."""

    state_key = "bare"

    def on_validation_start(self, trainer: Any, module: Any) -> None: ...


@pytest.fixture
def transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("transformers")
    module.TrainerCallback = BareTrainerCallback  # type: ignore[attr-defined]  # a module takes any name
    monkeypatch.setitem(sys.modules, "transformers", module)


def install_lightning(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for parent in ("lightning", "lightning.pytorch", "pytorch_lightning"):
        monkeypatch.setitem(sys.modules, parent, None)
    if name == "lightning.pytorch":
        monkeypatch.setitem(sys.modules, "lightning", ModuleType("lightning"))
    module = ModuleType(name)
    module.Callback = BareCallback  # type: ignore[attr-defined]  # a module takes any name
    monkeypatch.setitem(sys.modules, name, module)


def train_like_transformers(callback: Any, steps: int) -> None:
    """Fire the events in the order of `Trainer.train`, by name as its handler does."""
    events = ["on_init_end", "on_train_begin"]
    events += ["on_step_begin", "on_step_end", "on_log"] * steps
    for event in [*events, "on_train_end"]:
        getattr(callback, event)("args", "state", "control", model=None, optimizer=None)


def train_like_lightning(callback: Any, batches: int) -> None:
    callback.on_train_start("trainer", "module")
    for index in range(batches):
        callback.on_train_batch_start("trainer", "module", "batch", index)
        callback.on_train_batch_end("trainer", "module", "outputs", "batch", index)
    callback.on_validation_start("trainer", "module")
    callback.on_train_end("trainer", "module")


@pytest.mark.usefixtures("transformers")
def test_a_trainer_marks_its_steps(tmp_path: Path) -> None:
    train_like_transformers(huggingface.marks_callback(tmp_path / "marks"), steps=4)
    assert read_marks(tmp_path / "marks").iterations.sum() == 4


@pytest.mark.usefixtures("transformers")
def test_the_callback_is_of_the_kind_that_a_trainer_takes() -> None:
    assert isinstance(huggingface.marks_callback(), BareTrainerCallback)


@pytest.mark.parametrize("package", ["lightning.pytorch", "pytorch_lightning"])
def test_a_lightning_trainer_marks_its_batches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, package: str) -> None:
    install_lightning(monkeypatch, package)
    callback = lightning.marks_callback(tmp_path / "marks")
    assert isinstance(callback, BareCallback)
    train_like_lightning(callback, batches=3)
    assert read_marks(tmp_path / "marks").iterations.sum() == 3


@pytest.mark.usefixtures("transformers")
def test_nothing_is_written_before_training_begins(tmp_path: Path) -> None:
    huggingface.marks_callback(tmp_path / "marks")
    assert not (tmp_path / "marks").exists()


@pytest.mark.parametrize("module", [huggingface, lightning])
def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, module: Any) -> None:
    for name in ("transformers", "lightning", "lightning.pytorch", "pytorch_lightning"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InstallationError, match="pip install"):
        module.marks_callback()
