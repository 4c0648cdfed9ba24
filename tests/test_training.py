"""The seam behind `gpoeo fit`: files that go together, and errors that are averaged as they should be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.errors import TraceError, UnknownNameError
from gpoeo_env.trace.sweep import Provenance, Sweep, SweepSet
from gpoeo_env.training import FitReport, WorkloadError, combined, trainer_named

CLOCKS = ClockTable.from_product((900, 1500), (5000,))


def a_set(*workloads: str, counters: tuple[str, ...] = ("a", "b"), is_simulated: bool = False) -> SweepSet:
    values = np.zeros((2, len(counters)))
    sweeps = tuple(
        Sweep(name, CLOCKS, ClockPair(1500, 5000), np.ones(2), np.ones(2), counters, values) for name in workloads
    )
    provenance = Provenance(
        f"made of {workloads}", "2026-01-01T00:00:00Z", "test", is_simulated=is_simulated, is_relative=True
    )
    return SweepSet("a gpu", sweeps, provenance)


def test_sweeps_of_several_files_become_one_set_in_their_order() -> None:
    assert combined([a_set("z", "y"), a_set("a")]).workloads == ("z", "y", "a")


def test_a_set_with_a_simulated_part_counts_as_simulated() -> None:
    assert combined([a_set("a"), a_set("b", is_simulated=True)]).provenance.is_simulated


def test_two_gpus_do_not_go_together() -> None:
    with pytest.raises(TraceError, match="these are of 'a gpu' and 'another'; fit a model for each"):
        combined([a_set("a"), replace(a_set("b"), gpu_name="another")])


def test_counters_of_one_file_alone_are_named() -> None:
    with pytest.raises(TraceError, match="these have c in one of them alone"):
        combined([a_set("a"), a_set("b", counters=("a", "b", "c"))])


def test_counters_in_another_order_are_refused() -> None:
    with pytest.raises(TraceError, match="the same ones in another order"):
        combined([a_set("a"), a_set("b", counters=("b", "a"))])


def test_a_workload_in_two_files_is_named() -> None:
    with pytest.raises(TraceError, match="workloads in two of the sweep files: b"):
        combined([a_set("a", "b"), a_set("b")])


def test_an_unknown_trainer_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown trainer 'gpeo'; did you mean gpoeo"):
        trainer_named("gpeo")


def test_the_overall_errors_are_means_over_workloads() -> None:
    errors = (WorkloadError("a", energy=0.02, time=0.01), WorkloadError("b", energy=0.04, time=0.09))
    report = FitReport(errors, (), (), n_workloads=2, n_pairs=4, folds=2, seed=0)

    assert (report.energy_error, report.time_error) == pytest.approx((0.03, 0.05))
