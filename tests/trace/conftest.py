"""A small handmade set of sweeps, and a small handmade recording."""

from __future__ import annotations

import numpy as np
import pytest

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.signals import MEM_CLOCK, POWER, SM_CLOCK, Behaviour, Signal
from gpoeo_env.trace.recording import Recording
from gpoeo_env.trace.sweep import Provenance, Sweep, SweepSet


@pytest.fixture
def sweeps() -> SweepSet:
    """Two workloads over different tables, one missing counter value, names beyond ASCII."""
    small = ClockTable.from_product((1000, 1500), (5000,))
    large = ClockTable.from_product((1000, 1500, 2000), (4000, 5000))
    names = ("sm_active", "dram µ")
    return SweepSet(
        gpu_name="GPU Größe 1",
        sweeps=(
            Sweep(
                workload="zeta",
                clocks=large,
                reference=ClockPair(1500, 5000),
                seconds=np.array([1.3, 1.2, 1.1, 1.2, 1.0, 0.9]),
                joules=np.array([100.0, 110.0, 130.0, 105.0, 120.0, 150.0]),
                counter_names=names,
                counters=np.linspace(0.1, 0.3, 12).reshape(6, 2),
            ),
            Sweep(
                workload="älpha",
                clocks=small,
                reference=ClockPair(1500, 5000),
                seconds=np.array([1.04, 1.0]),
                joules=np.array([80.0, 100.0]),
                counter_names=names,
                counters=np.array([[0.5, np.nan], [0.25, 1e300]]),
            ),
        ),
        provenance=Provenance(
            source="handmade",
            created_utc="2024-01-01T00:00:00+00:00",
            tool="test",
            is_simulated=True,
            is_relative=False,
        ),
        counter_units=("1", "?"),
    )


@pytest.fixture
def recording() -> Recording:
    """Five rows, half a second apart, the last two at one time; two missing values, a name beyond ASCII."""
    return Recording(
        name="Größe",
        gpu_name=None,
        t_s=np.array([0.0, 0.5, 1.0, 1.5, 1.5]),
        values=np.array(
            [
                [1400.0, 5000.0, 100.0, np.nan],
                [1400.0, 5000.0, 110.0, 0.25],
                [1600.0, 5000.0, np.nan, 0.5],
                [1600.0, 5000.0, 130.0, 0.75],
                [1600.0, 5000.0, 130.0, 1e300],
            ]
        ),
        signals=(SM_CLOCK, MEM_CLOCK, POWER, Signal("dram µ", "1", Behaviour.INTERVAL)),
        provenance=Provenance("handmade", "2026-01-01T00:00:00+00:00", "test", is_simulated=True, is_relative=False),
    )
