"""The catalogued GPU and workloads at the corners of what can be simulated."""

from __future__ import annotations

import pytest

from gpoeo_env.sim.catalogue import Gpu, load_gpu
from gpoeo_env.sim.suites.demo import demo_workloads
from gpoeo_env.sim.workloads import Workload


@pytest.fixture(scope="session")
def gpu() -> Gpu:
    """The RTX 3080 Ti."""
    return load_gpu("rtx3080ti")


@pytest.fixture(scope="session")
def demo() -> dict[str, Workload]:
    """The demonstration workloads by name."""
    return {workload.name: workload for workload in demo_workloads()}
