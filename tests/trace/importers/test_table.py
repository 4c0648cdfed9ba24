"""Long tables with a column map."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpoeo_env.clocks import ClockPair
from gpoeo_env.errors import TraceError, UsageError
from gpoeo_env.trace.importers.table import import_table
from gpoeo_env.trace.sweep import SweepSet

CsvFile = Callable[..., Path]

HEADER = ",app,input,sm,mem,ms,watts,busy,note"
ROWS = (
    "0,x,1,1000,4000,20,50,0.5,ok",
    "1,x,1,1500,4000,15,80,0.6,ok",
    "2,x,1,1500,5000,10,90,0.7,ok",
    "3,y,1,1000,4000,8,40,0.1,ok",
    "4,y,1,1500,5000,4,100,,ok",
)
MAPPING = {"workload": "app+input", "sm_mhz": "sm", "mem_mhz": "mem", "time_ms": "ms", "power_w": "watts"}


class Import:
    """Imports a file of the rows above, or of changed ones, and keeps what was told."""

    def __init__(self, csv_file: CsvFile) -> None:
        self.csv_file = csv_file
        self.told: list[str] = []

    def __call__(self, *rows: str, header: str = HEADER, **changes: Any) -> SweepSet:  # Any: keywords of the importer
        arguments: dict[str, Any] = {"gpu_name": "GPU", "mapping": MAPPING, "tell": self.told.append} | changes
        return import_table(self.csv_file(header, *(rows or ROWS)), **arguments)


@pytest.fixture
def run(csv_file: CsvFile) -> Import:
    return Import(csv_file)


def changed(line: int, old: str, new: str) -> list[str]:
    """Return the rows with a cell of one line (2 = the first row) replaced."""
    rows = list(ROWS)
    cells = rows[line - 2].split(",")
    cells[cells.index(old)] = new
    rows[line - 2] = ",".join(cells)
    return rows


def test_milliseconds_and_watts_become_seconds_and_joules(run: Import) -> None:
    x = run().named("x/1")

    np.testing.assert_allclose(x.seconds, [0.02, 0.015, 0.01])
    np.testing.assert_allclose(x.joules, [1.0, 1.2, 0.9])


@pytest.mark.parametrize(("key", "joules"), [("energy_j", 50.0), ("energy_mj", 0.05), ("power_mw", 0.05 * 0.02)])
def test_the_key_says_the_unit_of_energy(key: str, joules: float, run: Import) -> None:
    mapping = {name: column for name, column in MAPPING.items() if name != "power_w"} | {key: "watts"}

    assert run(mapping=mapping).named("x/1").joules[0] == pytest.approx(joules)


@pytest.mark.parametrize(("key", "seconds"), [("time_s", 20.0), ("time_us", 2e-5)])
def test_the_key_says_the_unit_of_time(key: str, seconds: float, run: Import) -> None:
    mapping = {name: column for name, column in MAPPING.items() if name != "time_ms"} | {key: "ms"}

    assert run(mapping=mapping).named("x/1").seconds[0] == pytest.approx(seconds)


def test_a_column_whose_name_has_a_plus_is_one_column(run: Import) -> None:
    sweeps = run(header=HEADER.replace("app", "app+input"), mapping=MAPPING)

    assert sweeps.workloads == ("x", "y")


def test_rows_may_stand_in_any_order(run: Import) -> None:
    one, other = run(), run(*ROWS[::-1])

    for name in one.workloads:
        np.testing.assert_array_equal(one.named(name).joules, other.named(name).joules)


def test_workloads_may_have_different_pairs(run: Import) -> None:
    assert [len(sweep.clocks) for sweep in run().sweeps] == [3, 2]


def test_the_default_reference_is_the_top_pair_of_the_table(run: Import) -> None:
    assert {sweep.reference for sweep in run().sweeps} == {ClockPair(1500, 5000)}


def test_a_lower_reference_leaves_pairs_above_it(run: Import) -> None:
    x = run(reference=ClockPair(1000, 4000)).named("x/1")

    assert x.time_ratio.min() == pytest.approx(0.5)


def test_a_memory_clock_can_be_given_for_all_rows(run: Import) -> None:
    mapping = {name: column for name, column in MAPPING.items() if name != "mem_mhz"}
    rows = (ROWS[0], ROWS[2], ROWS[3], ROWS[4])

    assert run(*rows, mapping=mapping, mem_mhz=877).sweeps[0].clocks.mem_clocks == (877,)


def test_columns_of_numbers_are_counters_and_the_rest_is_told(run: Import) -> None:
    sweeps = run()

    assert sweeps.sweeps[0].counter_names == ("busy",)
    assert run.told == ["left out 1 column(s) without a name", "left out column 'note': it holds text"]


def test_a_missing_counter_is_nan(run: Import) -> None:
    np.testing.assert_array_equal(run().named("y/1").counters[:, 0], [0.1, np.nan])


def test_a_canonical_counter_has_its_unit(run: Import) -> None:
    sweeps = run(header=HEADER.replace("busy", "temperature_c"))

    assert sweeps.counter_units == ("degC",)


def test_an_ignored_column_is_no_counter(run: Import) -> None:
    assert run(ignore=["busy"]).sweeps[0].counter_names == ()


def test_named_counters_are_the_only_ones(run: Import) -> None:
    sweeps = run(header=HEADER.replace("note", "more"), counters=["busy"])

    assert sweeps.sweeps[0].counter_names == ("busy",)
    assert run.told == []


def test_an_empty_column_is_left_out_and_told(run: Import) -> None:
    rows = [row.removesuffix("ok") for row in ROWS]

    assert run(*rows).sweeps[0].counter_names == ("busy",)
    assert "left out column 'note': it is empty" in run.told


@pytest.mark.parametrize(("factor", "target"), [(1e-3, "ms"), (1.0, "watts")])
def test_time_or_power_once_more_is_no_counter(factor: float, target: str, run: Import) -> None:
    index = HEADER.split(",").index(target)
    wobble = (1.02, 0.97, 1.0, 1.04, 0.99)
    rows = [f"{row},{float(row.split(',')[index]) * factor * by}" for row, by in zip(ROWS, wobble, strict=True)]

    sweeps = run(*rows, header=f"{HEADER},again")

    assert sweeps.sweeps[0].counter_names == ("busy",)
    assert any(line.startswith("left out column 'again'") for line in run.told)


def test_energy_once_more_is_no_counter(run: Import) -> None:
    millijoules = (1000, 1200, 900, 320, 400)
    rows = [f"{row},{energy}" for row, energy in zip(ROWS, millijoules, strict=True)]

    assert run(*rows, header=f"{HEADER},again").sweeps[0].counter_names == ("busy",)


def test_time_once_more_is_kept_where_it_is_asked_for(run: Import) -> None:
    rows = [f"{row},{row.split(',')[5]}" for row in ROWS]

    assert run(*rows, header=f"{HEADER},again", counters=["again"]).sweeps[0].counter_names == ("again",)


def test_a_constant_counter_is_kept(run: Import) -> None:
    rows = [f"{row},7" for row in ROWS]

    assert run(*rows, header=f"{HEADER},blocks").sweeps[0].counter_names == ("busy", "blocks")


@pytest.mark.parametrize("cell", ["", "0", "-20", "slow", "nan", "inf"])
@pytest.mark.parametrize(("column", "old"), [("ms", "20"), ("watts", "50")])
def test_a_bad_cost_is_named_by_file_line_and_column(column: str, old: str, cell: str, run: Import) -> None:
    with pytest.raises(TraceError, match=rf"input\.csv, line 2, column '{column}': "):
        run(*changed(2, old, cell))


@pytest.mark.parametrize("cell", ["", "0", "-1", "1000.5", "fast"])
@pytest.mark.parametrize(("column", "old"), [("sm", "1000"), ("mem", "4000")])
def test_a_bad_clock_is_named_by_file_line_and_column(column: str, old: str, cell: str, run: Import) -> None:
    with pytest.raises(TraceError, match=rf"input\.csv, line 2, column '{column}': "):
        run(*changed(2, old, cell))


@pytest.mark.parametrize("cell", ["much", "inf"])
def test_a_bad_counter_is_named_by_file_line_and_column(cell: str, run: Import) -> None:
    with pytest.raises(TraceError, match=r"input\.csv, line 3, column 'busy': .*--ignore"):
        run(*changed(3, "0.6", cell))


def test_a_workload_without_a_name_is_refused_even_where_workloads_may_drop(run: Import) -> None:
    with pytest.raises(TraceError, match=r"line 2, column 'app': .*name the workload"):
        run(*changed(2, "x", ""), drop_incomplete=True)


def test_a_pair_listed_twice_is_refused_with_both_lines(run: Import) -> None:
    with pytest.raises(TraceError, match=r"line 7: workload 'x/1' at 1000/4000 MHz is listed twice, first in line 2"):
        run(*ROWS, "5,x,1,1000,4000,21,50,0.5,ok", drop_incomplete=True)


def test_a_workload_without_the_reference_is_refused(run: Import) -> None:
    with pytest.raises(TraceError, match=r"input\.csv: sweep 'y/1' has no row at its reference pair 1500/4000"):
        run(reference=ClockPair(1500, 4000))


def test_a_workload_with_one_clock_is_refused_with_the_reason(run: Import) -> None:
    with pytest.raises(TraceError, match=r"'y/1' has one clock pair .*nothing to choose"):
        run(*ROWS[:3], ROWS[4])


@pytest.mark.parametrize(
    ("rows", "reference"),
    [
        (changed(5, "8", "broken"), None),
        (changed(5, "0.1", "broken"), None),
        (ROWS, ClockPair(1500, 4000)),
        ([*ROWS[:3], ROWS[4]], None),
    ],
    ids=["bad time", "bad counter", "no reference", "one clock"],
)
def test_incomplete_workloads_drop_on_request_and_are_told(
    rows: list[str], reference: ClockPair | None, run: Import
) -> None:
    assert run(*rows, reference=reference, drop_incomplete=True).workloads == ("x/1",)
    assert any(line.startswith("dropped workload 'y/1': ") for line in run.told)


def test_dropping_every_workload_is_an_error(run: Import) -> None:
    with pytest.raises(TraceError, match="every workload was dropped"):
        run(reference=ClockPair(9, 9), drop_incomplete=True)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"mapping": {**MAPPING, "tme_s": "ms"}}, "unknown map key 'tme_s'; did you mean time_s"),
        ({"mapping": {**MAPPING, "sm_mhz": "sn"}}, r"input\.csv 'sn'; did you mean sm"),
        ({"mapping": {**MAPPING, "sm_mhz": ""}}, "unknown column"),
        ({"mapping": {**MAPPING, "workload": "app+inpt"}}, "'inpt'; did you mean input"),
        ({"mapping": {**MAPPING, "time_s": "ms"}}, "more than one of time_s, time_ms is mapped"),
        ({"mapping": {**MAPPING, "energy_j": "watts"}}, "more than one of energy_j, power_w is mapped"),
        ({"mapping": {**MAPPING, "mem_mhz": "sm"}}, "column 'sm' is mapped twice"),
        ({"mem_mhz": 877}, "given twice"),
        ({"ignore": ["bsy"]}, "'bsy'; did you mean busy"),
        ({"counters": ["bsy"]}, "'bsy'; did you mean busy"),
        ({"counters": ["ms"]}, "column 'ms' is mapped"),
        ({"ignore": ["ms"]}, "column 'ms' is mapped"),
        ({"counters": ["busy"], "ignore": ["busy"]}, "named as a counter and ignored"),
        ({"gpu_name": ""}, "GPU name is blank"),
    ],
)
def test_a_contradictory_or_unknown_request_is_refused(changes: dict[str, Any], complaint: str, run: Import) -> None:
    with pytest.raises(UsageError, match=complaint):
        run(**changes)


@pytest.mark.parametrize(
    ("key", "complaint"),
    [
        ("workload", "no column is mapped to workload"),
        ("sm_mhz", "no column is mapped to sm_mhz"),
        ("mem_mhz", "--mem-mhz"),
        ("time_ms", "none of time_s, time_ms, time_us is mapped"),
        ("power_w", "none of energy_j, energy_mj, power_w, power_mw is mapped"),
    ],
)
def test_a_map_without_a_needed_key_is_refused(key: str, complaint: str, run: Import) -> None:
    with pytest.raises(UsageError, match=complaint):
        run(mapping={name: column for name, column in MAPPING.items() if name != key})
