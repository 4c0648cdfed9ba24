"""The cache of fitted models: it saves time and never changes a result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpoeo_env.records import Features
from gpoeo_env.trace.sweep import SweepSet
from gpoeo_policies.gpoeo.boosting import BoostingSettings
from gpoeo_policies.gpoeo.models import EnergyTimeModel
from gpoeo_policies.gpoeo.training import cache_folder, fitted_model

QUICK = BoostingSettings(rounds=20)
FEATURES = Features.of({"power_w": 200.0, "sm_active": 0.5, "dram_active": 0.1})


def prediction(model: EnergyTimeModel, sweeps: SweepSet) -> list[list[float]]:
    sweep = sweeps.sweeps[0]
    return model.predict(FEATURES, sweep.clocks, sweep.reference).mean.tolist()  # type: ignore[no-any-return]


def test_a_second_fit_comes_from_the_cache(sweeps: SweepSet, monkeypatch: pytest.MonkeyPatch) -> None:
    first = fitted_model(sweeps.sweeps, QUICK)
    monkeypatch.delattr(EnergyTimeModel, "fit")

    assert prediction(fitted_model(sweeps.sweeps, QUICK), sweeps) == prediction(first, sweeps)


def test_other_sweeps_or_settings_are_another_model(sweeps: SweepSet) -> None:
    fitted_model(sweeps.sweeps, QUICK)
    fitted_model(sweeps.sweeps[1:], QUICK)
    fitted_model(sweeps.sweeps, replace(QUICK, rounds=21))
    first = sweeps.sweeps[0]
    changed = replace(first, seconds=np.where(np.arange(len(first.clocks)) == 3, 2.0, first.seconds))
    fitted_model((changed, *sweeps.sweeps[1:]), QUICK)
    fitted_model((replace(first, reference=first.clocks.pairs[0]), *sweeps.sweeps[1:]), QUICK)

    assert len(list(cache_folder().iterdir())) == 5


def test_a_damaged_cache_costs_a_fit_and_nothing_else(sweeps: SweepSet) -> None:
    first = fitted_model(sweeps.sweeps, QUICK)
    for path in cache_folder().glob("*/time-0.txt"):
        path.write_text("damaged")

    assert prediction(fitted_model(sweeps.sweeps, QUICK), sweeps) == prediction(first, sweeps)


def test_a_damaged_cache_is_mended(sweeps: SweepSet, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted_model(sweeps.sweeps, QUICK)
    for path in cache_folder().glob("*/time-0.txt"):
        path.write_text("damaged")
    mended = fitted_model(sweeps.sweeps, QUICK)
    monkeypatch.delattr(EnergyTimeModel, "fit")

    assert prediction(fitted_model(sweeps.sweeps, QUICK), sweeps) == prediction(mended, sweeps)


def test_a_cache_that_cannot_be_written_is_gone_without(sweeps: SweepSet, own_cache: Path) -> None:
    own_cache.write_text("a file where the folder should be")

    assert prediction(fitted_model(sweeps.sweeps, QUICK), sweeps)
