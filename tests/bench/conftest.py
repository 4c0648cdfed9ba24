"""Small sweeps whose best pairs can be read off."""

from __future__ import annotations

import numpy as np
import pytest

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.trace.sweep import Provenance, Sweep, SweepSet

CLOCKS = ClockTable.from_product(sm_mhz=(900, 1200, 1500), mem_mhz=(4000, 5000))


def sweep(workload: str, seconds: list[float], joules: list[float]) -> Sweep:
    """One workload; pairs in table order: 900, 1200, 1500 at memory 4000, then at memory 5000 MHz."""
    table = CLOCKS
    return Sweep(
        workload,
        table,
        ClockPair(1500, 5000),
        np.array(seconds),
        np.array(joules),
        ("sm_active",),
        np.full((len(table), 1), 0.9),
    )


@pytest.fixture
def sweeps() -> SweepSet:
    """Best pairs at 5 %: 1200/5000 for "compute", 900/5000 for "memory", none but the reference for "rigid"."""
    return SweepSet(
        "a small gpu",
        (
            sweep("compute", [1.6, 1.3, 1.1, 1.4, 1.04, 1.0], [150, 140, 170, 140, 160, 200]),
            sweep("memory", [1.3, 1.2, 1.2, 1.03, 1.01, 1.0], [120, 130, 150, 140, 160, 200]),
            sweep("rigid", [1.9, 1.6, 1.3, 1.5, 1.2, 1.0], [150, 160, 190, 160, 180, 200]),
        ),
        Provenance("made for a test", "2026-01-01T00:00:00Z", "test", is_simulated=True, is_relative=True),
    )
