from __future__ import annotations

import math

import numpy as np
import pytest

from gpoeo_env.records import Features, Measurement, Progress, Ratios, Spread, Totals, TruthTable, Window
from gpoeo_env.signals import ENERGY, POWER, Signal, signal_named

SM_ACTIVE = signal_named("sm_active")
NAN = math.nan


def window(signal: Signal, values: list[float], t_s: list[float] | None = None) -> Window:
    times = list(range(len(values))) if t_s is None else t_s
    return Window(np.array(times, dtype=np.float64), np.array(values)[:, np.newaxis], (signal,), None, None)


def test_a_counter_grows_between_its_first_and_last_row() -> None:
    assert window(ENERGY, [100.0, 150.0, 300.0], [0.0, 1.0, 4.0]).rate("energy_j") == pytest.approx(50.0)


def test_a_counter_skips_missing_rows() -> None:
    assert window(ENERGY, [NAN, 100.0, NAN, 300.0]).rate("energy_j") == pytest.approx(100.0)


@pytest.mark.parametrize("values", [[NAN, 100.0], [NAN, NAN], [100.0, 50.0], [100.0, 50.0, 200.0]])
def test_a_counter_without_two_rows_or_with_a_reset_has_no_rate(values: list[float]) -> None:
    assert math.isnan(window(ENERGY, values).rate("energy_j"))


def test_a_counter_that_is_not_there_has_no_rate() -> None:
    assert math.isnan(window(POWER, [1.0, 2.0]).rate("energy_j"))


def test_a_month_old_counter_keeps_its_window() -> None:
    month_j = 300.0 * 30 * 86400
    assert window(ENERGY, [month_j, month_j + 0.5]).rate("energy_j") == pytest.approx(0.5)


def test_a_gauge_counts_for_the_half_gaps_around_its_rows() -> None:
    assert window(POWER, [100.0, 200.0, 400.0], [0.0, 1.0, 4.0]).mean(POWER) == pytest.approx(
        (0.5 * 100 + 2.0 * 200 + 1.5 * 400) / 4.0
    )


def test_an_interval_counts_for_the_gap_before_its_row() -> None:
    assert window(SM_ACTIVE, [0.9, 0.2, 0.4], [0.0, 1.0, 4.0]).mean(SM_ACTIVE) == pytest.approx(
        (1.0 * 0.2 + 3.0 * 0.4) / 4.0
    )


@pytest.mark.parametrize("signal", [POWER, SM_ACTIVE])
def test_a_mean_skips_missing_rows(signal: Signal) -> None:
    assert window(signal, [NAN, 0.5, NAN]).mean(signal) == pytest.approx(0.5)


def test_a_mean_of_nothing_is_missing() -> None:
    assert math.isnan(window(POWER, [NAN, NAN]).mean(POWER))
    assert math.isnan(window(ENERGY, [1.0, 2.0]).mean(POWER))


def test_a_window_lasts_from_its_first_to_its_last_row() -> None:
    assert window(POWER, [1.0, 1.0], [3.0, 5.5]).duration_s == 2.5


def test_ratios_are_read_as_slowdown_and_saving() -> None:
    ratios = Ratios(1.25, 0.75)
    assert (ratios.slowdown, ratios.saving) == (0.25, 0.25)


def test_features_are_read_by_name() -> None:
    features = Features.of({"a": 1.0, "b": NAN})
    assert features.get("a") == 1.0
    assert math.isnan(features.get("b"))
    assert math.isnan(features.get("c"))
    assert features.missing() == ("b",)


def test_a_measurement_without_progress_has_no_cost_of_work() -> None:
    measurement = Measurement(
        duration_s=10.0,
        energy_j=100.0,
        energy_source="counter",
        power_w=10.0,
        progress=Progress(NAN, NAN, "none", "blind"),
        ratios=None,
        spread=Spread(NAN, NAN),
        features=Features.of({}),
        observed=None,
    )
    assert math.isnan(measurement.seconds_per_work)
    assert math.isnan(measurement.joules_per_work)


def test_totals_before_any_work_save_nothing_known() -> None:
    assert math.isnan(Totals(seconds=10.0, joules=5.0).saving)
    assert math.isnan(Totals(seconds=10.0, joules=5.0).slowdown)


def test_totals_compare_with_the_same_work_at_the_default() -> None:
    totals = Totals(seconds=11.0, joules=80.0, reference_seconds=10.0, reference_joules=100.0)
    assert totals.saving == pytest.approx(0.2)
    assert totals.slowdown == pytest.approx(0.1)


def test_the_truth_is_read_by_action() -> None:
    truth = TruthTable(time=np.array([1.0, 1.2]), energy=np.array([1.0, 0.7]))
    assert truth.of(1) == Ratios(1.2, 0.7)
