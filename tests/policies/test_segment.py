"""What windows have shown: features, ratios to the first reference, and the mean of a hold."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from gpoeo_env.records import Features, Measurement, Progress, Ratios, Spread
from gpoeo_policies.segment import HoldRecord, Segment, is_usable


def measured(rate: float, power_w: float, **features: float) -> Measurement:
    return Measurement(
        duration_s=10.0,
        energy_j=10.0 * power_w,
        energy_source="counter",
        power_w=power_w,
        progress=Progress(rate, 0.01, "work_counter"),
        ratios=None,
        spread=Spread(0.01, 0.02),
        features=Features.of(features),
        observed=None,
    )


def test_ratios_are_relative_to_the_first_reference_and_not_to_a_later_one() -> None:
    segment = Segment()
    segment.add_reference(measured(2.0, 200.0))
    segment.add_reference(measured(1.0, 100.0))

    assert segment.ratios(measured(1.0, 150.0)) == Ratios(2.0, 1.5, 0.02, 1.5 * math.hypot(0.01, 0.02))
    assert [ratios.time for ratios in segment.references] == [1.0, 2.0]


def test_missing_features_keep_their_last_value() -> None:
    segment = Segment()
    segment.add_reference(measured(1.0, 100.0, sm_active=0.5, dram_active=math.nan))
    segment.add_reference(measured(1.0, 100.0, sm_active=math.nan, dram_active=0.2))

    assert segment.features.names == ("sm_active", "dram_active")
    np.testing.assert_array_equal(segment.features.values, [0.5, 0.2])


def test_there_are_no_ratios_before_a_reference_or_without_progress() -> None:
    segment = Segment()
    assert segment.ratios(measured(1.0, 100.0)) is None
    segment.add_reference(measured(1.0, 100.0))

    assert segment.ratios(replace(measured(1.0, 100.0), progress=Progress(math.nan, math.nan, "none"))) is None
    assert not is_usable(replace(measured(1.0, 100.0), energy_j=math.nan))


def test_a_hold_speaks_up_each_time_its_windows_have_doubled() -> None:
    record, spoke = HoldRecord(), []
    for number in range(1, 17):
        record.add(Ratios(1.0, 1.0, 0.01, 0.02))
        if record.has_doubled:
            spoke.append((number, record.take()[1]))

    assert spoke == [(1, 1), (2, 1), (4, 2), (8, 4), (16, 8)]


def test_a_hold_tells_the_mean_with_the_error_of_a_mean() -> None:
    record = HoldRecord()
    for time in (1.0, 1.02, 1.04, 1.06):
        record.add(Ratios(time, 0.5 * time, 0.02, 0.04))

    mean, n_windows = record.take()
    assert (mean.time, mean.energy, mean.time_sd, mean.energy_sd) == pytest.approx((1.03, 0.515, 0.01, 0.02))
    assert n_windows == 4
