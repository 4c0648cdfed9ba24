"""Sweeps with round numbers, so that tests can do the arithmetic themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.trace.sweep import Provenance, Sweep, SweepSet

PROVENANCE = Provenance(
    source="made up for tests",
    created_utc="2000-01-01T00:00:00Z",
    tool="tests",
    is_simulated=True,
    is_relative=True,
)


@pytest.fixture
def sweeps_of() -> Callable[..., SweepSet]:
    """A function that makes sweeps of workloads; each is a mapping from pair to (seconds, joules) per work."""

    def make(**workloads: dict[tuple[int, int], tuple[float, float]]) -> SweepSet:
        return SweepSet("made-up GPU", tuple(_sweep(name, rows) for name, rows in workloads.items()), PROVENANCE)

    return make


@pytest.fixture
def sweeps(sweeps_of: Callable[..., SweepSet]) -> SweepSet:
    """Two workloads over four pairs; the reference (1000/5000) takes 1 s and 200 J per unit of work."""
    return sweeps_of(
        steady={
            (500, 800): (2.5, 250.0),
            (1000, 800): (2.0, 280.0),
            (500, 5000): (1.25, 150.0),
            (1000, 5000): (1, 200),
        },
        light={(500, 800): (1.5, 120.0), (1000, 800): (1.2, 140.0), (500, 5000): (1.02, 130.0), (1000, 5000): (1, 200)},
    )


def _sweep(workload: str, rows: dict[tuple[int, int], tuple[float, float]]) -> Sweep:
    table = ClockTable(ClockPair(*pair) for pair in rows)
    values = np.array([rows[pair.sm_mhz, pair.mem_mhz] for pair in table], dtype=np.float64)
    counters = np.full((len(table), 1), 0.5)
    return Sweep(workload, table, table.top, values[:, 0], values[:, 1], ("sm_active",), counters)
