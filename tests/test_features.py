from __future__ import annotations

import math
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.features import CHANNELS, OBSERVATION_NAMES, observation_bounds, observation_of
from gpoeo_env.records import Features, Measurement, Progress, Ratios, Spread

TABLE = ClockTable.from_product((500, 1000), (800, 5000))
KNOWN = Measurement(
    duration_s=10.0,
    energy_j=1500.0,
    energy_source="counter",
    power_w=150.0,
    progress=Progress(1.0, 0.01, "work_counter"),
    ratios=Ratios(1.2, 0.8),
    spread=Spread(0.01, 0.01),
    features=Features.of({"sm_active": 0.5, "gpu_util": math.nan}),
    observed=ClockPair(500, 5000),
)
anything = st.floats(allow_nan=True, allow_infinity=True)


def observed(measurement: Measurement, pair: ClockPair | None = None, power_limit_w: float = 300.0) -> dict[str, float]:
    """Return the observation by name."""
    values = observation_of(measurement, pair, TABLE, power_limit_w)
    return dict(zip(OBSERVATION_NAMES, values.tolist(), strict=True))


def test_known_values_stand_in_their_channels() -> None:
    seen = observed(KNOWN)
    expected = {
        "time_ratio": 1.2,
        "energy_ratio": 0.8,
        "power_to_limit": 0.5,
        "sm_clock_to_top": 0.5,
        "mem_clock_to_top": 1.0,
        "sm_active": 0.5,
    }
    assert {name: seen[name] for name in expected} == pytest.approx(expected)
    assert all(seen[f"{name}_is_known"] == 1.0 for name in expected)


@pytest.mark.parametrize("name", ["gpu_util", "dram_active"])
def test_a_counter_that_is_missing_or_unknown_to_the_device_is_masked(name: str) -> None:
    seen = observed(KNOWN)
    assert (seen[name], seen[f"{name}_is_known"]) == (0.0, 0.0)


def test_ratios_without_a_reference_are_masked() -> None:
    seen = observed(replace(KNOWN, ratios=None))
    assert (seen["time_ratio_is_known"], seen["energy_ratio_is_known"]) == (0.0, 0.0)


def test_power_without_a_known_limit_is_masked() -> None:
    assert observed(KNOWN, power_limit_w=math.nan)["power_to_limit_is_known"] == 0.0


def test_locked_clocks_stand_in_for_clocks_that_are_not_reported() -> None:
    seen = observed(replace(KNOWN, observed=None), pair=ClockPair(1000, 800))
    assert [seen["sm_clock_to_top"], seen["mem_clock_to_top"]] == pytest.approx([1.0, 0.16])


def test_released_clocks_that_are_not_reported_are_masked() -> None:
    assert observed(replace(KNOWN, observed=None))["sm_clock_to_top_is_known"] == 0.0


def test_every_channel_has_a_mask() -> None:
    assert len(set(OBSERVATION_NAMES)) == 2 * len(CHANNELS)
    assert {f"{name}_is_known" for name in CHANNELS} <= set(OBSERVATION_NAMES)


@given(anything, anything, anything, anything, anything)
def test_an_observation_is_always_within_its_bounds(
    time: float, energy: float, power_w: float, counter: float, limit_w: float
) -> None:
    measurement = replace(
        KNOWN, ratios=Ratios(time, energy), power_w=power_w, features=Features.of({"sm_active": counter})
    )
    low, high = observation_bounds()
    assert observation_of(measurement, None, TABLE, limit_w) in gymnasium.spaces.Box(low, high, dtype=np.float32)
