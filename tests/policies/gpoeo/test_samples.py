"""What of a sweep is learned from: enough pairs, and the same numbers everywhere."""

from __future__ import annotations

import numpy as np

from gpoeo_env.trace.sweep import Sweep
from gpoeo_policies.gpoeo.samples import Sample, rounded


def test_numbers_keep_six_digits() -> None:
    values = np.array([123456.789, -1.23456789, 0.0123456789, 0.0, np.nan, 7.6543219e8])

    np.testing.assert_array_equal(rounded(values), [123457.0, -1.23457, 0.012346, 0.0, np.nan, 765432000.0])


def test_features_are_those_of_the_reference_pair(large_sweeps: tuple[Sweep, ...]) -> None:
    sweep = large_sweeps[0]
    sample = Sample.of(sweep, ("power_w", "dram_active"))

    np.testing.assert_allclose(sample.features, [sweep.watts[sweep.reference_row], sweep.counters[0, 1]], rtol=1e-5)
    assert sample.log_ratios.shape == (2, len(sample.log_clocks))
