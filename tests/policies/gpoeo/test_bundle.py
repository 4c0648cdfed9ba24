"""A model on disk: exact when it comes back, one line when it cannot."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpoeo_env.errors import ModelError
from gpoeo_env.records import Features
from gpoeo_env.trace.sweep import SweepSet
from gpoeo_policies.gpoeo.bundle import _checksum, load_model, save_model
from gpoeo_policies.gpoeo.models import EnergyTimeModel


@pytest.fixture
def folder(model: EnergyTimeModel, tmp_path: Path) -> Path:
    save_model(model, tmp_path / "a" / "model")
    return tmp_path / "a" / "model"


def test_a_model_comes_back_exactly(model: EnergyTimeModel, folder: Path, sweeps: SweepSet) -> None:
    sweep = sweeps.named("work0")
    features = Features.of({"power_w": 200.0, "sm_active": 0.5, "dram_active": 0.1})
    before = model.predict(features, sweep.clocks, sweep.reference)
    after = load_model(folder).predict(features, sweep.clocks, sweep.reference)

    np.testing.assert_array_equal(after.mean, before.mean)
    np.testing.assert_array_equal(after.covariance, before.covariance)


def test_a_bundle_is_text(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == ["energy.txt", "model.json", "time.txt"]
    description = json.loads((folder / "model.json").read_text())
    assert description["feature_names"] == ["power_w", "sm_active", "dram_active"]
    assert description["schema_version"] == 1
    assert set(description["sha256"]) == {"time", "energy"}


def test_nothing_is_overwritten(model: EnergyTimeModel, folder: Path) -> None:
    with pytest.raises(ModelError, match="exists already"):
        save_model(model, folder)


def test_a_folder_that_cannot_be_made_is_one_line(model: EnergyTimeModel, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ModelError, match="cannot write the model"):
        save_model(model, tmp_path / "file" / "model")


def change(key: str, value: object) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        path = folder / "model.json"
        description = json.loads(path.read_text())
        path.write_text(json.dumps({**description, key: value}))

    return damage


def forge(key: str, value: object) -> Callable[[Path], None]:
    """Change a value and the checksum with it: what another program might write."""

    def damage(folder: Path) -> None:
        path = folder / "model.json"
        description = {**json.loads(path.read_text()), key: value}
        path.write_text(json.dumps({**description, "checksum": _checksum(description)}))

    return damage


def rewrite(name: str, text: Callable[[str], str]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (folder / name).write_text(text((folder / name).read_text()))

    return damage


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "model.json").unlink(), "has no model.json"),
        (lambda folder: (folder / "time.txt").unlink(), "time.txt cannot be read"),
        (rewrite("model.json", lambda text: text[: len(text) // 2]), "model.json is damaged"),
        (rewrite("model.json", lambda _: "[1, 2]"), "does not describe a model"),
        (rewrite("energy.txt", lambda text: text.replace("0.1", "0.2", 1)), "its checksum is not the one"),
        (rewrite("energy.txt", lambda text: text[:100]), "its checksum is not the one"),
        (change("schema_version", 2), "schema version 2 and this version reads up to 1"),
        (change("schema_version", "1"), "schema version '1'"),
        (change("sha256", None), "its checksum does not fit"),
        (change("feature_names", ["power_w", "dram_active", "sm_active"]), "its checksum does not fit"),
        (change("errors", []), "its checksum does not fit"),
        (forge("settings", {"depth": 3}), "is damaged"),
        (forge("errors", [[[0.0]]]), "is damaged"),
        (forge("feature_names", 7), "is damaged"),
    ],
)
def test_damage_is_one_line_that_names_the_file(folder: Path, damage: Callable[[Path], None], message: str) -> None:
    damage(folder)

    with pytest.raises(ModelError, match=message) as caught:
        load_model(folder)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)
