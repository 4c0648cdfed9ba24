"""Wide tables of performance and power by clock."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpoeo_env.clocks import ClockPair
from gpoeo_env.errors import TraceError, UsageError
from gpoeo_env.trace.importers.curves import import_curves
from gpoeo_env.trace.sweep import SweepSet

CsvFile = Callable[..., Path]

PERFORMANCE = ("frequency(MHz),750,1000,1500", "a,0.5,0.8,1.0", "b,0.9,1.01,1.0")
POWER = ("frequency(MHz),750,1000,1500", "a,50,60,100", "b,40,50,80")


@pytest.fixture
def imported(csv_file: CsvFile) -> Callable[..., SweepSet]:
    """Return a function that imports the tables above, or changed ones."""

    def run(
        performance: tuple[str, ...] = PERFORMANCE, power: tuple[str, ...] = POWER, reference: ClockPair | None = None
    ) -> SweepSet:
        return import_curves(
            csv_file(*performance, name="performance.csv"),
            csv_file(*power, name="power.csv"),
            gpu_name="V100",
            mem_mhz=877,
            reference=reference,
        )

    return run


def test_seconds_and_joules_are_per_second_of_the_reference(imported: Callable[..., SweepSet]) -> None:
    a = imported().named("a")

    assert a.reference == ClockPair(1500, 877)
    np.testing.assert_allclose(a.seconds, [2.0, 1.25, 1.0])
    np.testing.assert_allclose(a.joules, [100.0, 75.0, 100.0])


def test_another_reference_changes_the_unit_of_work(imported: Callable[..., SweepSet]) -> None:
    a = imported(reference=ClockPair(1000, 877)).named("a")

    np.testing.assert_allclose(a.seconds, [1.6, 1.0, 0.8])
    np.testing.assert_allclose(a.joules, [80.0, 60.0, 80.0])


def test_clocks_and_workloads_may_stand_in_another_order(imported: Callable[..., SweepSet]) -> None:
    swapped = ("MHz,1500,750,1000", "b,80,40,50", "a,100,50,60")

    one, other = imported(), imported(power=swapped)

    assert one.workloads == other.workloads
    for left, right in zip(one.sweeps, other.sweeps, strict=True):
        np.testing.assert_array_equal(left.joules, right.joules)


def test_provenance_names_the_files_with_their_hashes(imported: Callable[..., SweepSet]) -> None:
    origin = imported().provenance

    assert origin.is_relative
    assert not origin.is_simulated
    for name, lines in (("performance.csv", PERFORMANCE), ("power.csv", POWER)):
        sha256 = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
        assert f"{name} (sha256 {sha256})" in origin.source


def test_there_are_no_counters(imported: Callable[..., SweepSet]) -> None:
    assert imported().sweeps[0].counter_names == ()


@pytest.mark.parametrize("cell", ["", "0", "-60", "sixty", "nan", "inf"])
def test_a_bad_cell_is_named_by_file_line_and_column(cell: str, imported: Callable[..., SweepSet]) -> None:
    with pytest.raises(TraceError, match=r"power\.csv, line 2, column '1000': "):
        imported(power=(POWER[0], f"a,50,{cell},100", POWER[2]))


@pytest.mark.parametrize(
    ("performance", "complaint"),
    [
        (("f,750,1000,1000", *PERFORMANCE[1:]), r"line 1: column '1000' is listed twice, as column 3 and 4"),
        (("f,750,1000,1000.0", *PERFORMANCE[1:]), r"line 1, column '4': clock 1000 MHz is listed twice"),
        (("f,750,1000.5,1500", *PERFORMANCE[1:]), r"line 1, column '3': 1000\.5 is not a whole number of MHz"),
        (("f,750,,1500", *PERFORMANCE[1:]), r"line 1, column '3': the cell is empty"),
        (PERFORMANCE[1:], r"line 1, column '2': 0\.5 is not a whole number"),
        (
            (*PERFORMANCE, "a,1,1,1"),
            r"line 4, column 'frequency\(MHz\)': workload 'a' is listed twice, first in line 2",
        ),
        ((*PERFORMANCE, ",1,1,1"), r"line 4, column 'frequency\(MHz\)': the row names no workload"),
        ((*PERFORMANCE, "c,1,1"), r"line 4: 3 cells under a header of 4"),
        ((*PERFORMANCE, "c,1,1,1"), r"workload c is in .*performance\.csv but not in .*power\.csv"),
        (PERFORMANCE[:2], r"workload b is in .*power\.csv but not in .*performance\.csv"),
        (("f,750,1100,1500", *PERFORMANCE[1:]), r"clock 1100 is in .*performance\.csv but not in .*power\.csv"),
        (("f,750", "a,0.5", "b,0.9"), r"has one clock, 750 MHz: there is nothing to choose"),
        ((), r"is empty"),
    ],
)
def test_a_bad_table_is_refused(
    performance: tuple[str, ...], complaint: str, imported: Callable[..., SweepSet]
) -> None:
    with pytest.raises(TraceError, match=complaint):
        imported(performance=performance)


def test_a_reference_that_was_not_measured_names_the_nearest(imported: Callable[..., SweepSet]) -> None:
    with pytest.raises(TraceError, match="reference 1100/877 MHz; the nearest pair is 1000/877"):
        imported(reference=ClockPair(1100, 877))


@pytest.mark.parametrize(("gpu_name", "mem_mhz"), [(" ", 877), ("V100", 0)])
def test_a_blank_gpu_or_memory_clock_is_refused(gpu_name: str, mem_mhz: int, csv_file: CsvFile) -> None:
    with pytest.raises(UsageError):
        import_curves(
            csv_file(*PERFORMANCE, name="p.csv"), csv_file(*POWER, name="w.csv"), gpu_name=gpu_name, mem_mhz=mem_mhz
        )
