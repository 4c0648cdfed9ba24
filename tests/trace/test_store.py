"""The native sweep file: what is written is what is read."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.errors import TraceError, UsageError
from gpoeo_env.trace.store import read_sweeps, write_sweeps
from gpoeo_env.trace.sweep import Provenance, Sweep, SweepSet

TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
POSITIVE = st.floats(min_value=0, exclude_min=True, allow_infinity=False)


def assert_same(one: SweepSet, other: SweepSet) -> None:
    assert one.gpu_name == other.gpu_name
    assert one.provenance == other.provenance
    assert one.counter_units == other.counter_units
    assert one.workloads == other.workloads
    for left, right in zip(one.sweeps, other.sweeps, strict=True):
        assert (left.clocks, left.reference, left.counter_names) == (right.clocks, right.reference, right.counter_names)
        np.testing.assert_array_equal(left.seconds, right.seconds, strict=True)
        np.testing.assert_array_equal(left.joules, right.joules, strict=True)
        np.testing.assert_array_equal(left.counters, right.counters, strict=True)


@st.composite
def sweep_sets(draw: st.DrawFn) -> SweepSet:
    n_counters = draw(st.integers(0, 3))
    counter_names = tuple(f"{draw(TEXT)} {index}" for index in range(n_counters))

    def sweep(workload: str) -> Sweep:
        mhz = st.integers(1, 10_000)
        pairs = draw(st.lists(st.builds(ClockPair, mhz, mhz), min_size=2, max_size=4, unique=True))
        n = len(pairs)
        return Sweep(
            workload=workload,
            clocks=ClockTable(pairs),
            reference=draw(st.sampled_from(pairs)),
            seconds=np.array(draw(st.lists(POSITIVE, min_size=n, max_size=n))),
            joules=np.array(draw(st.lists(POSITIVE, min_size=n, max_size=n))),
            counter_names=counter_names,
            counters=np.array(draw(st.lists(st.floats(), min_size=n * n_counters, max_size=n * n_counters))).reshape(
                n, n_counters
            ),
        )

    workloads = draw(st.lists(TEXT, min_size=1, max_size=3, unique=True))
    provenance = Provenance(draw(TEXT), draw(TEXT), draw(TEXT), draw(st.booleans()), draw(st.booleans()))
    units = counter_names and draw(st.sampled_from([(), ("J",) * n_counters]))
    return SweepSet(draw(TEXT), tuple(sweep(name) for name in workloads), provenance, units)


@settings(max_examples=60, deadline=None)
@given(sweep_sets())
def test_any_set_of_sweeps_reads_back_exactly(sweeps: SweepSet) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "any.sweep.parquet"
        write_sweeps(path, sweeps)

        assert_same(read_sweeps(path), sweeps)


def test_names_missing_counters_and_the_order_of_workloads_survive(sweeps: SweepSet, tmp_path: Path) -> None:
    write_sweeps(tmp_path / "a.parquet", sweeps)

    assert_same(read_sweeps(tmp_path / "a.parquet"), sweeps)


def test_names_that_differ_in_trailing_zero_bytes_alone_are_told_apart(sweeps: SweepSet, tmp_path: Path) -> None:
    zeta, alpha = sweeps.sweeps
    odd = replace(sweeps, sweeps=(replace(zeta, workload="a"), replace(alpha, workload="a\0")))

    write_sweeps(tmp_path / "a.parquet", odd)

    assert_same(read_sweeps(tmp_path / "a.parquet"), odd)


def test_an_existing_file_is_left_alone(sweeps: SweepSet, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_text("mine")

    with pytest.raises(UsageError, match="exists already"):
        write_sweeps(path, sweeps)
    assert path.read_text() == "mine"


def test_an_existing_file_is_replaced_on_request(sweeps: SweepSet, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_text("mine")

    write_sweeps(path, sweeps, overwrite=True)

    assert_same(read_sweeps(path), sweeps)


def test_a_write_leaves_nothing_else_in_the_folder(sweeps: SweepSet, tmp_path: Path) -> None:
    write_sweeps(tmp_path / "a.parquet", sweeps)

    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


def test_a_failed_write_leaves_no_part_behind(sweeps: SweepSet, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").mkdir()

    with pytest.raises(TraceError, match=r"cannot write .*a\.parquet"):
        write_sweeps(tmp_path / "a.parquet", sweeps, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


def test_a_folder_that_is_not_there_is_a_trace_error(sweeps: SweepSet, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot write"):
        write_sweeps(tmp_path / "nowhere" / "a.parquet", sweeps)


@pytest.mark.parametrize("names", [("seconds",), ("a", "a")])
def test_a_counter_that_cannot_be_a_column_is_refused(names: tuple[str, ...], tmp_path: Path) -> None:
    clocks = ClockTable.from_product((1, 2), (1,))
    sweep = Sweep("w", clocks, clocks.top, np.ones(2), np.ones(2), names, np.ones((2, len(names))))
    sweeps = SweepSet("GPU", (sweep,), Provenance("", "", "", is_simulated=True, is_relative=True))

    with pytest.raises(TraceError, match=f"counter '{names[0]}'"):
        write_sweeps(tmp_path / "a.parquet", sweeps)


def test_a_name_that_is_not_unicode_is_refused(sweeps: SweepSet, tmp_path: Path) -> None:
    odd = SweepSet("GPU \udc80", sweeps.sweeps, sweeps.provenance, sweeps.counter_units)

    with pytest.raises(TraceError, match="not Unicode"):
        write_sweeps(tmp_path / "a.parquet", odd)


def test_a_clock_beyond_64_bits_is_refused(tmp_path: Path) -> None:
    clocks = ClockTable.from_product((1, 2), (2**63,))
    sweep = Sweep("w", clocks, clocks.top, np.ones(2), np.ones(2), (), np.ones((2, 0)))
    sweeps = SweepSet("GPU", (sweep,), Provenance("", "", "", is_simulated=True, is_relative=True))

    with pytest.raises(TraceError, match="too large"):
        write_sweeps(tmp_path / "a.parquet", sweeps)
