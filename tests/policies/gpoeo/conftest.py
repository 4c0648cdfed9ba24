"""Made-up sweeps whose curves follow from two counters, so that a model has something to learn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.trace.sweep import Provenance, Sweep, SweepSet
from gpoeo_policies.gpoeo.models import EnergyTimeModel

CLOCKS = ClockTable.from_product(range(600, 1801, 100), [2500, 5000])
TOP = ClockPair(1800, 5000)


def sweep_of(name: str, sm_share: float, mem_share: float, clocks: ClockTable = CLOCKS) -> Sweep:
    """Time from three shares, power from clocks: lower clocks save energy until the time that they cost eats it."""
    relative = clocks.mhz / np.array([TOP.sm_mhz, TOP.mem_mhz])
    seconds = sm_share / relative[:, 0] + mem_share / relative[:, 1] + (1.0 - sm_share - mem_share)
    watts = 60.0 + 40.0 * relative[:, 1] + 150.0 * (0.3 + 0.7 * sm_share) * relative[:, 0] ** 2.4
    counters = np.tile([sm_share, mem_share], (len(clocks), 1))
    return Sweep(name, clocks, TOP, seconds, seconds * watts, ("sm_active", "dram_active"), counters)


@pytest.fixture(scope="session")
def sweeps() -> SweepSet:
    rng = np.random.default_rng(3)
    shares = [(float(sm), float(mem)) for sm, mem in rng.uniform([0.1, 0.02], [0.8, 0.18], (14, 2))]
    return SweepSet(
        "a made-up gpu",
        tuple(sweep_of(f"work{index}", *pair) for index, pair in enumerate(shares)),
        Provenance("made for a test", "2026-01-01T00:00:00Z", "test", is_simulated=True, is_relative=True),
    )


@pytest.fixture(scope="session")
def large_sweeps() -> tuple[Sweep, ...]:
    """150 workloads at 600 pairs, as large as anything that is fitted."""
    clocks = ClockTable.from_product(range(15, 1801, 15), (405, 810, 2500, 4000, 5000))
    shares = np.random.default_rng(5).uniform([0.1, 0.02], [0.8, 0.18], (150, 2)).tolist()
    return tuple(sweep_of(f"work{index}", sm, mem, clocks) for index, (sm, mem) in enumerate(shares))


@pytest.fixture(scope="session")
def model(sweeps: SweepSet) -> EnergyTimeModel:
    """Fitted to all workloads but the first."""
    return EnergyTimeModel().fit(sweeps.others("work0"))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep fitted models out of the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"
