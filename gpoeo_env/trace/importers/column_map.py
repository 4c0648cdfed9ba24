"""Which column of a long table holds what, and in which unit.

A map has a column for each of ``workload``, ``sm_mhz``, ``mem_mhz``, one kind of time and one kind of energy or power.
The key names the unit, so that nothing is guessed:

    ColumnMap.parse({"workload": "app+input", "sm_mhz": "coreF", "time_ms": "time", "power_w": "power"}, table,
                    mem_mhz=877)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpoeo_env.clocks import ClockPair
from gpoeo_env.errors import UnknownNameError, UsageError
from gpoeo_env.trace.importers.csv_table import CsvTable, Row

__all__ = ["KEYS", "ColumnMap", "Quantity"]

TIME_UNITS = {"time_s": 1.0, "time_ms": 1e-3, "time_us": 1e-6}
ENERGY_UNITS = {"energy_j": 1.0, "energy_mj": 1e-3}
POWER_UNITS = {"power_w": 1.0, "power_mw": 1e-3}
KEYS = ("workload", "sm_mhz", "mem_mhz", *TIME_UNITS, *ENERGY_UNITS, *POWER_UNITS)
"""The keys of a map; ``mj`` and ``mw`` are millijoule and milliwatt, as NVML counts."""

JOIN = "+"
JOINED = "/"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A column of positive numbers and the factor that makes them SI."""

    column: str
    factor: float


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """Where a row keeps its workload, clocks, time and energy.

    Attributes:
        workload: columns whose texts, joined by "/", name the workload.
        sm_mhz: column of the SM clock.
        mem_mhz: column of the memory clock, or the clock itself in MHz where all rows share it.
        time: time per unit of work.
        energy: energy per unit of work, or mean power.
        is_power: True where ``energy`` is power.
    """

    workload: tuple[str, ...]
    sm_mhz: str
    mem_mhz: str | int
    time: Quantity
    energy: Quantity
    is_power: bool

    @classmethod
    def parse(cls, mapping: Mapping[str, str], table: CsvTable, *, mem_mhz: int | None = None) -> ColumnMap:
        """Check a map against the header of a table.

        Args:
            mapping: column by key, one of `KEYS`; ``workload`` may name several, as in ``"app+input"``.
            table: the table that is read.
            mem_mhz: the memory clock of all rows, where no column holds it.

        Raises:
            UnknownNameError: a key or a column does not exist; the message names the nearest.
            UsageError: a key is missing, two keys contradict each other, or a column is used twice.
        """
        for key in mapping:
            if key not in KEYS:
                raise UnknownNameError("map key", key, KEYS)
        for key in ("workload", "sm_mhz"):
            if key not in mapping:
                raise UsageError(f"no column is mapped to {key}; say which one it is: --map {key}=COLUMN")
        time_key = _one_of(mapping, tuple(TIME_UNITS))
        energy_key = _one_of(mapping, (*ENERGY_UNITS, *POWER_UNITS))
        column_map = cls(
            workload=_workload_columns(mapping["workload"], table),
            sm_mhz=mapping["sm_mhz"],
            mem_mhz=_memory_clock(mapping, mem_mhz),
            time=Quantity(mapping[time_key], TIME_UNITS[time_key]),
            energy=Quantity(mapping[energy_key], (ENERGY_UNITS | POWER_UNITS)[energy_key]),
            is_power=energy_key in POWER_UNITS,
        )
        used = column_map.columns
        for index, column in enumerate(used):
            table.index(column)
            if column in used[:index]:
                raise UsageError(f"column {column!r} is mapped twice; a column is one thing only")
        return column_map

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that the map uses."""
        memory = (self.mem_mhz,) if isinstance(self.mem_mhz, str) else ()
        return (*self.workload, self.sm_mhz, *memory, self.time.column, self.energy.column)

    def workload_of(self, row: Row, table: CsvTable) -> str:
        """Return the name of a row's workload.

        Raises:
            TraceError: a part of the name is empty.
        """
        cells = [row.cells[table.index(column)] for column in self.workload]
        for cell in cells:
            if not cell.text:
                raise cell.error("the cell is empty; it is needed to name the workload")
        return JOINED.join(cell.text for cell in cells)

    def pair_of(self, row: Row, table: CsvTable) -> ClockPair:
        """Return the clocks of a row.

        Raises:
            TraceError: a cell is not a positive whole number.
        """
        sm_mhz = row.cells[table.index(self.sm_mhz)].whole_mhz()
        if isinstance(self.mem_mhz, int):
            return ClockPair(sm_mhz, self.mem_mhz)
        return ClockPair(sm_mhz, row.cells[table.index(self.mem_mhz)].whole_mhz())

    def cost_of(self, row: Row, table: CsvTable) -> tuple[float, float]:
        """Return seconds and joules per unit of work.

        Raises:
            TraceError: a cell is not a positive finite number.
        """
        seconds = row.cells[table.index(self.time.column)].positive() * self.time.factor
        energy = row.cells[table.index(self.energy.column)].positive() * self.energy.factor
        return seconds, energy * seconds if self.is_power else energy


def _one_of(mapping: Mapping[str, str], keys: tuple[str, ...]) -> str:
    given = [key for key in keys if key in mapping]
    if len(given) != 1:
        what = "none of" if not given else "more than one of"
        raise UsageError(f"{what} {', '.join(given or keys)} is mapped; map one column to exactly one of them")
    return given[0]


def _workload_columns(text: str, table: CsvTable) -> tuple[str, ...]:
    """Split ``a+b``, unless that is the name of one column."""
    return (text,) if text in table.header else tuple(part.strip() for part in text.split(JOIN))


def _memory_clock(mapping: Mapping[str, str], mem_mhz: int | None) -> str | int:
    if mem_mhz is None:
        if "mem_mhz" in mapping:
            return mapping["mem_mhz"]
        raise UsageError("the memory clock is not known; give --map mem_mhz=COLUMN, or --mem-mhz MHZ for all rows")
    if "mem_mhz" in mapping:
        raise UsageError("the memory clock is given twice, as a column and as a number; give one of them")
    if mem_mhz <= 0:
        raise UsageError(f"the memory clock is {mem_mhz} MHz; it must be positive")
    return mem_mhz
