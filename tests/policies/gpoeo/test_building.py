"""From settings to a policy, and what is refused on the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpoeo_env.clocks import ClockTable
from gpoeo_env.device.opening import open_device
from gpoeo_env.device.replay import ReplayDevice
from gpoeo_env.env.control import ControlLoop
from gpoeo_env.errors import ConfigError, ModelError, UsageError
from gpoeo_env.policy import build_policy
from gpoeo_env.trace.sweep import SweepSet
from gpoeo_policies.gpoeo.building import ModelStart, ShippedStart, UninformedStart, build
from gpoeo_policies.gpoeo.bundle import save_model
from gpoeo_policies.gpoeo.models import EnergyTimeModel
from gpoeo_policies.gpoeo.policy import GpoeoPolicy

CLOCKS = ClockTable.from_product(range(600, 1801, 100), [2500, 5000])


def test_the_entry_point_builds_the_policy(sweeps: SweepSet) -> None:
    policy = build_policy("gpoeo,confidence=0.8", sweeps.sweeps)

    assert isinstance(policy, GpoeoPolicy)
    assert isinstance(policy.predictor, ModelStart)
    assert policy.settings.confidence == 0.8


def test_a_saved_model_is_used(model: EnergyTimeModel, tmp_path: Path) -> None:
    save_model(model, tmp_path / "model")
    policy = build({"model": str(tmp_path / "model")})

    assert isinstance(policy.predictor, ModelStart)
    assert policy.predictor.model.feature_names == model.feature_names


def test_without_a_model_and_sweeps_the_one_for_the_gpu_is_used() -> None:
    with ControlLoop(open_device("sim:rtx3080ti")) as loop:
        loop.begin(seed=0)
        context = loop.context
    policy = build({})
    policy.reset(context)

    assert isinstance(policy.predictor, ShippedStart)
    assert "sm_active" in policy.predictor.model.feature_names


def test_a_gpu_without_a_model_is_told_the_ways_out(sweeps: SweepSet) -> None:
    with ControlLoop(ReplayDevice(sweeps)) as loop:
        loop.begin(seed=0)
        context = loop.context
    with pytest.raises(UsageError, match=r"no model for 'a made-up gpu'.*gpoeo,model=FOLDER.*gpoeo,start=top"):
        build({}).reset(context)


def test_a_missing_model_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no model in"):
        build({"model": str(tmp_path / "nowhere")})


def test_the_top_start_probes_the_top_pair_first() -> None:
    predictor = build({"start": "top"}).predictor

    assert isinstance(predictor, UninformedStart)
    assert CLOCKS.pair_of(predictor.first_probe(CLOCKS, seed=0)) == CLOCKS.top


def test_the_random_start_probes_a_pair_that_the_seed_chose() -> None:
    predictor = build({"start": "random"}).predictor
    drawn = [predictor.first_probe(CLOCKS, seed) for seed in (*range(8), *range(8))]

    assert drawn[:8] == drawn[8:]
    assert len(set(drawn)) > 3
    assert all(action is not None and 1 <= action < CLOCKS.n_actions for action in drawn)


def test_a_model_beside_a_start_without_one_is_a_contradiction() -> None:
    with pytest.raises(UsageError, match="start=top uses no model"):
        build({"start": "top", "model": "somewhere"})


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"confidense": 0.9}, "did you mean confidence"),
        ({"confidence": 1.5}, "confidence"),
        ({"start": "bottom"}, "start"),
        ({"max_probes": 0}, "max_probes"),
    ],
)
def test_wrong_settings_are_named(config: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build(config)
