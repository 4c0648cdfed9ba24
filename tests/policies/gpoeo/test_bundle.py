"""A model on disk: exact when it comes back, one line when it cannot."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpoeo_env.errors import ModelError
from gpoeo_env.records import Features
from gpoeo_env.trace.sweep import Sweep, SweepSet
from gpoeo_policies.gpoeo.boosting import BoostingSettings
from gpoeo_policies.gpoeo.bundle import _checksum, load_model, save_model
from gpoeo_policies.gpoeo.models import EnergyTimeModel

MEMBERS = tuple(f"{target}-{index}" for target in ("energy", "time") for index in range(BoostingSettings().members))


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
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [*(f"{name}.txt" for name in MEMBERS), "model.json"]
    )
    description = json.loads((folder / "model.json").read_text())
    assert description["feature_names"] == ["power_w", "sm_active", "dram_active"]
    assert description["schema_version"] == 2
    assert set(description["sha256"]) == set(MEMBERS)


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
        (lambda folder: (folder / "time-0.txt").unlink(), "time-0.txt cannot be read"),
        (rewrite("model.json", lambda text: text[: len(text) // 2]), "model.json is damaged"),
        (rewrite("model.json", lambda _: "[1, 2]"), "does not describe a model"),
        (rewrite("energy-0.txt", lambda text: text.replace("0.1", "0.2", 1)), "its checksum is not the one"),
        (rewrite("energy-0.txt", lambda text: text[:100]), "its checksum is not the one"),
        (change("schema_version", 3), "schema version 3 and this version reads 2; update gpoeo-env"),
        (change("schema_version", 1), "schema version 1 and this version reads 2; fit the model again"),
        (change("schema_version", "1"), "schema version '1'"),
        (change("sha256", None), "its checksum does not fit"),
        (change("feature_names", ["power_w", "dram_active", "sm_active"]), "its checksum does not fit"),
        (change("error_patterns", []), "its checksum does not fit"),
        (forge("settings", {"depth": 3}), "is damaged"),
        (forge("error_patterns", [[[0.0]]]), "is damaged"),
        (forge("feature_names", 7), "is damaged"),
        (forge("power_law", {"static_w": 30.0}), "is damaged"),
    ],
)
def test_damage_is_one_line_that_names_the_file(folder: Path, damage: Callable[[Path], None], message: str) -> None:
    damage(folder)

    with pytest.raises(ModelError, match=message) as caught:
        load_model(folder)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_bundle_of_150_workloads_at_600_pairs_is_small_enough_to_ship(
    large_sweeps: tuple[Sweep, ...], tmp_path: Path
) -> None:
    save_model(EnergyTimeModel(folds=2).fit(large_sweeps), tmp_path / "model")

    assert sum(path.stat().st_size for path in (tmp_path / "model").iterdir()) <= 500_000


def test_the_last_bits_of_a_sweep_do_not_reach_its_bundle(sweeps: SweepSet, tmp_path: Path) -> None:
    other_cpu = [
        replace(sweep, seconds=sweep.seconds * (1 + 1e-13), joules=sweep.joules * (1 - 1e-13))
        for sweep in sweeps.sweeps
    ]
    for name, some in (("here", sweeps.sweeps), ("there", other_cpu)):
        save_model(EnergyTimeModel(BoostingSettings(rounds=20)).fit(some), tmp_path / name)

    for path in (tmp_path / "here").iterdir():
        assert path.read_bytes() == (tmp_path / "there" / path.name).read_bytes()
