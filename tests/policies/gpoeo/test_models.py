"""The boosted models: what physics demands of them, and what they refuse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from gpoeo_env.clocks import ClockPair
from gpoeo_env.errors import ModelError
from gpoeo_env.records import Features
from gpoeo_env.trace.sweep import Sweep, SweepSet
from gpoeo_policies.gpoeo.boosting import BoostingSettings
from gpoeo_policies.gpoeo.models import EnergyTimeModel

QUICK = BoostingSettings(rounds=10)


def with_counter(sweep: Sweep, name: str, values: NDArray[np.float64]) -> Sweep:
    return replace(
        sweep, counter_names=(*sweep.counter_names, name), counters=np.column_stack((sweep.counters, values))
    )


def features_of(sweep: Sweep) -> Features:
    row = sweep.reference_row
    return Features.of(
        {"power_w": sweep.watts[row], **dict(zip(sweep.counter_names, sweep.counters[row], strict=True))}
    )


def test_time_never_rises_with_a_clock(model: EnergyTimeModel, sweeps: SweepSet) -> None:
    sweep = sweeps.named("work0")
    prior = model.predict(features_of(sweep), sweep.clocks, sweep.reference)
    by_pair = dict(zip(sweep.clocks, prior.mean[0, 1:], strict=True))

    for pair in sweep.clocks:
        for faster in (ClockPair(pair.sm_mhz + 100, pair.mem_mhz), ClockPair(pair.sm_mhz, 2 * pair.mem_mhz)):
            if faster in by_pair:
                assert by_pair[faster] <= by_pair[pair] + 1e-12


def test_the_reference_is_predicted_exactly(model: EnergyTimeModel, sweeps: SweepSet) -> None:
    sweep = sweeps.named("work0")
    prior = model.predict(features_of(sweep), sweep.clocks, sweep.reference)

    assert prior.mean[:, [0, sweep.clocks.action_of(sweep.reference)]].tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_an_unseen_workload_is_predicted_better_than_by_the_mean_of_the_others(
    model: EnergyTimeModel, sweeps: SweepSet
) -> None:
    sweep = sweeps.named("work0")
    truth = np.log([sweep.time_ratio, sweep.energy_ratio])
    predicted = model.predict(features_of(sweep), sweep.clocks, sweep.reference).mean[:, 1:]
    mean = np.mean([np.log([other.time_ratio, other.energy_ratio]) for other in sweeps.others("work0")], axis=0)

    assert np.abs(predicted - truth).mean() < 0.6 * np.abs(mean - truth).mean()


def test_errors_are_measured_on_workloads_that_the_fit_did_not_see(sweeps: SweepSet) -> None:
    others = sweeps.others("work0")
    model = EnergyTimeModel().fit(others)
    seen = []
    for sweep in others:
        predicted = np.exp(model.log_ratios(features_of(sweep), sweep.clocks, sweep.reference)[:, 1:])
        seen.append(np.abs(predicted - [sweep.time_ratio, sweep.energy_ratio]).mean(axis=1))

    held_out = np.array([(held.time, held.energy) for held in model.held_out_])
    assert [held.workload for held in model.held_out_] == [sweep.workload for sweep in others]
    assert (held_out.mean(axis=0) > 1.5 * np.mean(seen, axis=0)).all()


def test_the_spread_is_that_of_the_errors_on_workloads_held_out(model: EnergyTimeModel, sweeps: SweepSet) -> None:
    sweep = sweeps.named("work0")
    prior = model.predict(features_of(sweep), sweep.clocks, sweep.reference)
    n = sweep.clocks.n_actions

    spread = np.sqrt(np.diag(prior.covariance)[1:n])
    expected = np.sqrt((model.errors_.patterns[:, 0] ** 2).mean())
    assert 0.5 * expected < spread.mean() < 2.0 * expected


def test_a_call_tells_of_every_fit(sweeps: SweepSet) -> None:
    told: list[None] = []
    model = EnergyTimeModel(QUICK, folds=3)

    model.fit(sweeps.sweeps, lambda: told.append(None))

    assert len(told) == model.fits(len(sweeps.sweeps)) == 4


def test_the_order_of_the_features_changes_nothing(model: EnergyTimeModel, sweeps: SweepSet) -> None:
    sweep = sweeps.named("work0")
    features = features_of(sweep)
    shuffled = Features(features.names[::-1], features.values[::-1])

    prior = model.predict(features, sweep.clocks, sweep.reference)
    assert model.predict(shuffled, sweep.clocks, sweep.reference).mean.tolist() == prior.mean.tolist()


def test_features_that_the_model_does_not_know_change_nothing(model: EnergyTimeModel, sweeps: SweepSet) -> None:
    sweep = sweeps.named("work0")
    features = features_of(sweep)
    more = Features(("temperature_c", *features.names), np.concatenate(([60.0], features.values)))

    prior = model.predict(features, sweep.clocks, sweep.reference)
    assert model.predict(more, sweep.clocks, sweep.reference).mean.tolist() == prior.mean.tolist()


def test_a_feature_that_the_device_does_not_report_is_named(model: EnergyTimeModel, sweeps: SweepSet) -> None:
    sweep = sweeps.named("work0")

    features = Features.of({"power_w": 200.0, "sm_active": 0.5, "dram_activity": 0.1})

    with pytest.raises(ModelError, match=r"fitted on feature 'dram_active'.*did you mean dram_activity"):
        model.predict(features, sweep.clocks, sweep.reference)


def test_clocks_and_energy_among_the_counters_of_a_recording_are_no_features(sweeps: SweepSet) -> None:
    with_clock = [with_counter(sweep, "sm_clock_mhz", sweep.clocks.mhz[:, 0]) for sweep in sweeps.sweeps]

    assert EnergyTimeModel(QUICK).fit(with_clock).feature_names == ("power_w", "sm_active", "dram_active")


def test_beside_shares_of_the_peak_other_counters_are_left_out(sweeps: SweepSet) -> None:
    hot = [with_counter(sweep, "gpu_temp", np.full(len(sweep.clocks), 61.0)) for sweep in sweeps.sweeps]

    assert EnergyTimeModel(QUICK).fit(hot).feature_names == ("power_w", "sm_active", "dram_active")


def test_counters_of_unknown_meaning_are_learned_from_as_they_are(sweeps: SweepSet) -> None:
    renamed = [replace(sweep, counter_names=("ipc", "stalls")) for sweep in sweeps.sweeps]

    assert EnergyTimeModel(QUICK).fit(renamed).feature_names == ("power_w", "ipc", "stalls")


def test_a_missing_value_is_predicted_all_the_same(model: EnergyTimeModel, sweeps: SweepSet) -> None:
    sweep = sweeps.named("work0")
    features = Features.of({"power_w": 200.0, "sm_active": np.nan, "dram_active": 0.1})

    assert np.isfinite(model.predict(features, sweep.clocks, sweep.reference).mean).all()


def test_equal_sweeps_give_equal_models(sweeps: SweepSet) -> None:
    sweep = sweeps.named("work0")
    first, second = (
        EnergyTimeModel().fit(sweeps.others("work0")).predict(features_of(sweep), sweep.clocks, sweep.reference)
        for _ in range(2)
    )

    assert first.mean.tolist() == second.mean.tolist()
    assert first.covariance.tolist() == second.covariance.tolist()


def test_one_workload_teaches_nothing(sweeps: SweepSet) -> None:
    with pytest.raises(ModelError, match="at least 2 workloads to learn from; there are 1"):
        EnergyTimeModel().fit(sweeps.sweeps[:1])


def test_a_model_that_was_not_fitted_says_so(sweeps: SweepSet) -> None:
    sweep = sweeps.named("work0")

    with pytest.raises(ModelError, match="has not been fitted"):
        EnergyTimeModel().predict(features_of(sweep), sweep.clocks, sweep.reference)
