"""A small benchmark that has run: three workloads of a replayed sweep, a policy that breaks the limit among others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gpoeo_env.bench.config import BenchConfig
from gpoeo_env.bench.report.standings import Results, load_results
from gpoeo_env.bench.running import run_bench
from gpoeo_env.bench.store import Store
from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.trace.store import write_sweeps
from gpoeo_env.trace.sweep import Provenance, Sweep, SweepSet
from tests.bench.report.browser import Browser, find_browser

CLOCKS = ClockTable.from_product(sm_mhz=(900, 1200, 1500), mem_mhz=(5000,))
CURVES = {
    "compute": ([1.4, 1.04, 1.0], [140.0, 160.0, 200.0]),
    "memory": ([1.03, 1.01, 1.0], [140.0, 160.0, 200.0]),
    "<b>odd</b> & long": ([1.2, 1.02, 1.0], [150.0, 180.0, 200.0]),
}


@pytest.fixture(scope="session")
def results_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench")
    sweeps = tuple(
        Sweep(name, CLOCKS, ClockPair(1500, 5000), np.array(s), np.array(j), (), np.empty((3, 0)))
        for name, (s, j) in CURVES.items()
    )
    provenance = Provenance("made for a test", "2026-01-01T00:00:00Z", "test", is_simulated=False, is_relative=True)
    write_sweeps(folder / "small.sweep.parquet", SweepSet("a small gpu", sweeps, provenance))
    block = {
        "name": "Three workloads",
        "data": "small",
        "policy": ["default", "fixed:sm_mhz=1200", "fixed:sm_mhz=900", "oracle"],
        "seeds": 2,
        "budget_s": 200.0,
    }
    data = {"small": {"kind": "sweep", "file": "small.sweep.parquet"}}
    config = BenchConfig.model_validate({"title": "A <small> benchmark", "data": data, "episodes": [block]})
    with Store(folder / "results") as store:
        list(run_bench(config, folder, store=store))
    return folder / "results"


@pytest.fixture
def results(results_folder: Path) -> Results:
    return load_results(results_folder)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    binary = find_browser()
    if binary is None:
        pytest.skip("no Chromium or Chrome here; `apt-get install chromium` brings one")
    with Browser(binary, tmp_path / "profile") as opened:
        yield opened
