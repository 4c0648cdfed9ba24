"""The models that come with the package are those that the seed gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpoeo_env.sim.catalogue import load_gpu, packaged_gpu_names
from gpoeo_policies.gpoeo.shipped import shipped_gpus, shipped_model
from gpoeo_policies.gpoeo.shipping import BUNDLES, ship


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_every_catalogued_gpu_has_a_model() -> None:
    assert shipped_gpus() == {load_gpu(name).full_name: name for name in packaged_gpu_names()}
    for gpu_name in shipped_gpus():
        assert "dram_active" in shipped_model(gpu_name).feature_names


def test_models_are_rebuilt_bit_for_bit(tmp_path: Path) -> None:
    ship(tmp_path / "bundles", ["rtx3080ti"])

    rebuilt, there = contents(tmp_path / "bundles" / "rtx3080ti"), contents(BUNDLES / "rtx3080ti")
    assert [name for name in there if rebuilt.get(name) != there[name]] == []
    assert rebuilt.keys() == there.keys()


@pytest.mark.parametrize("name", packaged_gpu_names())
def test_a_model_is_small_enough_to_ship(name: str) -> None:
    assert sum(len(content) for content in contents(BUNDLES / name).values()) < 600_000
