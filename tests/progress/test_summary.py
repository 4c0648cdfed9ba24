from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from gpoeo_env.clocks import ClockPair
from gpoeo_env.progress.meter import WorkCounterMeter
from gpoeo_env.progress.summary import combine_references, reference_of, relative_to, summarise
from gpoeo_env.records import Measurement, Reference, Spread, Window
from gpoeo_env.signals import ENERGY, POWER, WORK, Signal, signal_named

SM_ACTIVE = signal_named("sm_active")
PAIR = ClockPair(1500, 5000)


def window(columns: dict[Signal, list[float]], **fields: object) -> Window:
    values = np.array(list(columns.values())).T
    plain = Window(np.array([0.0, 10.0]), values, tuple(columns), PAIR, PAIR, spread=Spread(0.03, 0.04))
    return replace(plain, **fields)  # type: ignore[arg-type]  # each test changes other fields


FULL = {ENERGY: [500.0, 2500.0], WORK: [0.0, 20.0], POWER: [190.0, 210.0], SM_ACTIVE: [0.9, 0.5]}


def measured(columns: dict[Signal, list[float]] | None = None, **fields: object) -> Measurement:
    return summarise(window(columns or FULL, **fields), WorkCounterMeter())


def test_energy_comes_from_the_counter_where_there_is_one() -> None:
    measurement = measured()
    assert measurement.energy_j == pytest.approx(2000.0)
    assert measurement.energy_source == "counter"
    assert measurement.power_w == pytest.approx(200.0)


def test_energy_is_integrated_from_power_where_the_counter_is_missing() -> None:
    measurement = measured(FULL | {ENERGY: [math.nan, math.nan], POWER: [100.0, 300.0]})
    assert measurement.energy_j == pytest.approx(2000.0)
    assert measurement.energy_source == "power"


def test_energy_without_counter_and_power_is_named_as_missing() -> None:
    measurement = measured({WORK: [0.0, 20.0]})
    assert math.isnan(measurement.energy_j)
    assert (measurement.energy_source, measurement.missing) == ("none", ("energy_j",))


def test_progress_that_is_refused_is_named_as_missing() -> None:
    assert measured({ENERGY: [0.0, 1.0]}).missing == ("progress",)


def test_counters_become_features_and_cumulative_ones_do_not() -> None:
    features = measured().features
    assert features.names == ("power_w", "sm_active")
    assert features.get("sm_active") == pytest.approx(0.5)


def test_a_counter_without_a_value_is_named_as_missing() -> None:
    assert measured(FULL | {SM_ACTIVE: [math.nan, math.nan]}).missing == ("sm_active",)


@pytest.mark.parametrize(
    ("observed", "is_honoured", "is_throttled"),
    [
        (PAIR, True, False),
        (ClockPair(1485, 5000), True, False),
        (ClockPair(1470, 5000), False, False),
        (ClockPair(1400, 5000), False, True),
        (ClockPair(1500, 800), False, False),
        (None, True, False),
    ],
)
def test_clocks_in_force_are_compared_with_the_request(
    observed: ClockPair | None, *, is_honoured: bool, is_throttled: bool
) -> None:
    measurement = measured(observed=observed)
    assert (measurement.honoured, measurement.throttled) == (is_honoured, is_throttled)


def test_released_clocks_are_always_honoured() -> None:
    measurement = measured(requested=None, observed=ClockPair(300, 405))
    assert (measurement.honoured, measurement.throttled) == (True, False)


def reference(seconds: float = 0.4, joules: float = 100.0) -> Reference:
    return Reference(seconds, joules, joules / seconds, Spread(0.03, 0.04), windows=1, segment=0)


def test_ratios_compare_time_and_energy_for_the_same_work() -> None:
    ratios = relative_to(measured(), reference())
    assert ratios is not None
    assert [ratios.time, ratios.energy] == pytest.approx([0.5 / 0.4, 100.0 / 100.0])


def test_the_spread_of_ratios_holds_the_errors_of_both_windows() -> None:
    ratios = relative_to(measured(), reference())
    assert ratios is not None
    rel_time, rel_power = math.sqrt(2) * 0.03, math.sqrt(2) * 0.04
    assert ratios.time_sd == pytest.approx(1.25 * rel_time)
    assert ratios.energy_sd == pytest.approx(math.hypot(rel_time, rel_power))


def test_ratios_need_progress_and_energy_on_both_sides() -> None:
    assert relative_to(measured({ENERGY: [0.0, 1.0]}), reference()) is None
    assert relative_to(measured({WORK: [0.0, 1.0]}), reference()) is None
    assert relative_to(measured(), replace(reference(), joules_per_work=math.nan)) is None


def test_a_reference_is_made_of_a_full_window_only() -> None:
    made = reference_of(measured(), segment=2)
    assert made == Reference(0.5, 100.0, 200.0, Spread(0.03, 0.04), windows=1, segment=2)
    assert reference_of(measured({WORK: [0.0, 1.0]}), segment=0) is None


def test_references_are_averaged_by_their_windows() -> None:
    known = replace(reference(1.0, 100.0), windows=3)
    combined = combine_references(known, reference(2.0, 200.0))
    assert [combined.seconds_per_work, combined.joules_per_work] == pytest.approx([1.25, 125.0])
    assert combined.windows == 4


def test_n_equal_references_have_the_error_of_their_mean() -> None:
    combined = reference()
    for _ in range(3):
        combined = combine_references(combined, reference())
    assert combined.spread.time == pytest.approx(0.03 / math.sqrt(4))
    assert combined.spread.power == pytest.approx(0.04 / math.sqrt(4))
