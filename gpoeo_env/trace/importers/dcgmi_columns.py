"""The columns of ``dcgmi dmon``: what each holds, in which range a reading can be, and how "no value" is written.

DCGM's blanks are huge numbers (2^47 as a float, 2^63 - 16 and the next few as an integer, 2^31 - 16 in a 32-bit field);
drivers put others in their place, such as a temperature of 82505. A column knows what its readings can be, so that
whatever cannot be one is missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gpoeo_env.signals import Behaviour, Signal, signal_named
from gpoeo_env.trace.importers.csv_table import MISSING, MOST_MHZ

__all__ = ["DCGMI_COLUMNS", "DcgmiColumn", "reading"]

BLANK = 2.0**47
"""The least of DCGM's blanks of 64 bits (`DCGM_FP64_BLANK`); no reading in any unit of a column is that large."""
NO_VALUE = MISSING | {"-"}
PERCENT = 0.01
MILLI = 1e-3
HOTTEST_C = 200.0
MOST_W = 10_000.0


@dataclass(frozen=True, slots=True)
class DcgmiColumn:
    """A signal, and its readings in the column's own unit.

    Attributes:
        signal: in its unit after multiplication by ``factor``.
        factor: from the column's unit to the signal's.
        most: the largest value that a reading can have, in the column's unit; the least is 0.
    """

    signal: Signal
    factor: float = 1.0
    most: float = BLANK


def _share(name: str) -> DcgmiColumn:
    return DcgmiColumn(Signal(name, "1", Behaviour.INTERVAL), most=1.0)


def _percentage(name: str) -> DcgmiColumn:
    return DcgmiColumn(Signal(name, "1", Behaviour.INTERVAL), PERCENT, most=100.0)


def _gauge(name: str, unit: str, most: float) -> DcgmiColumn:
    return DcgmiColumn(Signal(name, unit, Behaviour.GAUGE), most=most)


DCGMI_COLUMNS = {
    "GRACT": _share("graphics_active"),
    "SMACT": _share("sm_active"),
    "SMOCC": _share("sm_occupancy"),
    "TENSO": _share("tensor_active"),
    "DRAMA": _share("dram_active"),
    "FP64A": _share("fp64_active"),
    "FP32A": _share("fp32_active"),
    "FP16A": _share("fp16_active"),
    "INTAC": _share("integer_active"),
    "PCITX": DcgmiColumn(signal_named("pcie_tx_bytes")),
    "PCIRX": DcgmiColumn(signal_named("pcie_rx_bytes")),
    "GPUTL": _percentage("gpu_util"),
    "MCUTL": _percentage("mem_util"),
    "POWER": DcgmiColumn(signal_named("power_w"), most=MOST_W),
    "TOTEC": DcgmiColumn(signal_named("energy_j"), MILLI),
    "TMPTR": _gauge("temperature_c", "degC", HOTTEST_C),
    "MMTMP": _gauge("memory_temperature_c", "degC", HOTTEST_C),
    "SMCLK": _gauge("sm_clock_mhz", "MHz", MOST_MHZ),
    "MMCLK": _gauge("mem_clock_mhz", "MHz", MOST_MHZ),
}
"""Columns by their name in the header (DCGM's short names of fields)."""


def reading(text: str, column: DcgmiColumn) -> float:
    """Return a cell's value in the signal's unit; NaN where it holds none.

    Raises:
        ValueError: the cell holds something that is neither a number nor a way to write "no value".
    """
    if text.lower() in NO_VALUE:
        return math.nan
    value = float(text)
    is_reading = 0.0 <= value <= column.most and value < BLANK
    return value * column.factor if is_reading else math.nan
