"""Ratios of counters: under any of their names, and honest about what is missing."""

from __future__ import annotations

import numpy as np
import pytest

from gpoeo_policies.gpoeo.roofline import ROOFLINE_NAMES, dram_share, knows_roofline, roofline

NAMES = ("power_w", "sm_active", "sm_occupancy", "dram_active", "fp32_active", "tensor_active")
VALUES = np.array([200.0, 0.8, 0.4, 0.6, 0.2, 0.3])


def by_name(names: tuple[str, ...], values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> dict[str, float]:
    return dict(zip(ROOFLINE_NAMES, roofline(names, values).tolist(), strict=True))


def test_ratios_say_what_bounds_a_workload() -> None:
    found = by_name(NAMES, VALUES)

    assert found["memory_balance"] == pytest.approx(0.6 / 0.901)
    assert found["dram_per_active"] == pytest.approx(0.75)
    assert found["pipe_per_active"] == pytest.approx(0.375)
    assert found["latency_slack"] == pytest.approx(0.2)
    assert (found["busiest"], found["busiest_pipe"]) == (0.6, 0.3)


def test_the_short_names_of_dcgm_mean_the_same() -> None:
    short = ("power_w", "SMACT", "SMOCC", "DRAMA", "FP32A", "TENSO")

    assert by_name(short, VALUES) == by_name(NAMES, VALUES)


def test_a_missing_counter_leaves_the_ratios_without_it() -> None:
    found = by_name(NAMES, np.where(np.array(NAMES) == "sm_occupancy", np.nan, VALUES))

    assert np.isnan(found["dram_concurrency"])
    assert found["memory_balance"] == pytest.approx(0.6 / 0.901)


def test_without_memory_traffic_there_is_no_roofline() -> None:
    assert not knows_roofline(("sm_active", "fp32_active"))
    assert roofline(("sm_active", "fp32_active"), np.array([0.9, 0.5])).size == 0


@pytest.mark.parametrize(("names", "share"), [(NAMES, 0.6), (("power_w", "ipc"), 0.0)])
def test_unknown_memory_traffic_counts_as_none(names: tuple[str, ...], share: float) -> None:
    assert dram_share(names, VALUES[: len(names)]) == share
