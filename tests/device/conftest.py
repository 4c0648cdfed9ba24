"""Virtual devices, small enough that their answers can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.sim.catalogue import Gpu, load_gpu
from gpoeo_env.trace.sweep import Provenance, Sweep, SweepSet

TWO_MEMORY_CLOCKS = ClockTable.from_product(sm_mhz=(1000, 1500), mem_mhz=(4000, 5000))
ONE_MEMORY_CLOCK = ClockTable.from_product(sm_mhz=(900, 1200, 1500), mem_mhz=(5000,))


@pytest.fixture
def sweeps() -> SweepSet:
    """Two workloads with different clock tables and a counter that names its unit.

    Watts of "steady": 100, 150, 120, 200 in table order; its reference is the top pair.
    """
    steady = Sweep(
        workload="steady",
        clocks=TWO_MEMORY_CLOCKS,
        reference=ClockPair(1500, 5000),
        seconds=np.array([1.6, 1.25, 1.3, 1.0]),
        joules=np.array([160.0, 187.5, 156.0, 200.0]),
        counter_names=("sm_active", "ipc", "power_w"),
        counters=np.array([[0.9, 1.1, 1.0], [0.8, 1.2, 1.0], [0.7, 1.3, 1.0], [0.6, np.nan, 1.0]]),
    )
    overclocked = Sweep(
        workload="overclocked",
        clocks=ONE_MEMORY_CLOCK,
        reference=ClockPair(1200, 5000),
        seconds=np.array([2.5, 2.0, 1.8]),
        joules=np.array([250.0, 220.0, 260.0]),
        counter_names=("sm_active", "ipc", "power_w"),
        counters=np.full((3, 3), 0.5),
    )
    provenance = Provenance("made for a test", "2026-01-01T00:00:00Z", "test", is_simulated=True, is_relative=False)
    return SweepSet("a small gpu", (steady, overclocked), provenance, counter_units=("1", "1/cycle", "W"))


@pytest.fixture(scope="session")
def gpu() -> Gpu:
    """The RTX 3080 Ti."""
    return load_gpu("rtx3080ti")
