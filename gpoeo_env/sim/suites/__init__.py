"""Named sets of simulated workloads. The parameters are ours, not measurements, whoever the names belong to.

A device spec chooses one with ``suite=NAME``:

demo      ten workloads from compute-bound over memory-bound to host-bound
paper     71 training workloads over the families of the two suites that GPOEO's authors used
shifting  a few whose work changes in mid-run
train     drawn at random, to fit models on; shares no family with any other suite
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gpoeo_env.errors import UnknownNameError
from gpoeo_env.sim.catalogue import Gpu, load_gpu
from gpoeo_env.sim.suites.demo import demo_workloads
from gpoeo_env.sim.suites.drawn import drawn_workloads
from gpoeo_env.sim.suites.paper import paper_workloads
from gpoeo_env.sim.suites.shifting import shifting_workloads
from gpoeo_env.sim.workloads import Workload, placed

__all__ = ["HOME", "TRAIN", "families_of", "suite_named", "suite_names", "training_suite"]

HOME = "rtx3080ti"
"""The GPU at whose top clocks the suites state their workloads; on others they are placed (`workloads.placed`)."""
TRAIN = "train"
TRAIN_SIZE, TRAIN_SEED = 120, 0

_SUITES: dict[str, Callable[[], tuple[Workload, ...]]] = {
    "demo": demo_workloads,
    "paper": paper_workloads,
    "shifting": shifting_workloads,
    TRAIN: lambda: drawn_workloads(TRAIN_SIZE, TRAIN_SEED),
}


def suite_names() -> tuple[str, ...]:
    """Return the suites that `suite_named` knows."""
    return tuple(_SUITES)


def suite_named(name: str, gpu: Gpu) -> tuple[Workload, ...]:
    """Return the workloads of a suite as they look on a GPU.

    Raises:
        UnknownNameError: there is no such suite; the message names the nearest.
    """
    if name not in _SUITES:
        raise UnknownNameError("suite", name, _SUITES)
    return _on(gpu, _SUITES[name]())


def training_suite(gpu: Gpu, n: int = TRAIN_SIZE, seed: int = TRAIN_SEED) -> tuple[Workload, ...]:
    """Draw workloads to fit models on, as they look on a GPU.

    Raises:
        UsageError: ``n`` or ``seed`` is out of its range.
    """
    return _on(gpu, drawn_workloads(n, seed))


def _on(gpu: Gpu, workloads: tuple[Workload, ...]) -> tuple[Workload, ...]:
    home = load_gpu(HOME)
    return tuple(placed(workload, home, gpu) for workload in workloads)


def families_of(names: Iterable[str]) -> dict[str, str]:
    """Return the family of each of the named workloads that a suite has."""
    known = {workload.name: workload.family for suite in _SUITES.values() for workload in suite()}
    return {name: known[name] for name in names if name in known}
