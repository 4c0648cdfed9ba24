"""A log of one GPU: a CSV with a row a poll, its columns named after NVML's readings.

    time_s,power_w,gpu_util_pct,sm_clock_mhz,gpm_sm_util
    0.00,123.5,98,1980,
    0.02,123.5,98,1980,91.7

``time_s`` and one column of `COLUMNS` are needed; an empty cell means that this poll has no such reading. NVML's
percentages become ratios, its MiB/s bytes per second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.errors import TraceError, nearest_names
from gpoeo_env.signals import Behaviour, Signal, signal_named
from gpoeo_env.trace.importers.csv_table import CsvTable, read_csv
from gpoeo_env.trace.importers.origin import checked_gpu_name, imported_from
from gpoeo_env.trace.recording import Recording

__all__ = ["COLUMNS", "Column", "import_gpu_log"]

TIME = "time_s"
PERCENT = 0.01
MEBIBYTE = 2.0**20

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Column:
    """What a column of the log holds: a signal, in the signal's unit after multiplication by ``factor``."""

    signal: Signal
    factor: float = 1.0


def _ratio(name: str) -> Column:
    return Column(Signal(name, "1", Behaviour.INTERVAL), PERCENT)


COLUMNS = {
    "power_w": Column(signal_named("power_w")),
    "power_instant_w": Column(signal_named("power_instant_w")),
    "power_average_w": Column(signal_named("power_average_w")),
    "energy_j": Column(signal_named("energy_j")),
    "gpu_util_pct": _ratio("gpu_util"),
    "mem_util_pct": _ratio("mem_util"),
    "sm_clock_mhz": Column(signal_named("sm_clock_mhz")),
    "mem_clock_mhz": Column(signal_named("mem_clock_mhz")),
    "temp_c": Column(signal_named("temperature_c")),
    "throttle_reasons": Column(signal_named("throttle_reasons")),
    "gpm_graphics_util": _ratio("graphics_active"),
    "gpm_sm_util": _ratio("sm_active"),
    "gpm_sm_occupancy": _ratio("sm_occupancy"),
    "gpm_integer_util": _ratio("integer_active"),
    "gpm_any_tensor_util": _ratio("tensor_active"),
    "gpm_dfma_tensor_util": _ratio("tensor_dfma_active"),
    "gpm_hmma_tensor_util": _ratio("tensor_hmma_active"),
    "gpm_imma_tensor_util": _ratio("tensor_imma_active"),
    "gpm_dram_bw_util": _ratio("dram_active"),
    "gpm_fp64_util": _ratio("fp64_active"),
    "gpm_fp32_util": _ratio("fp32_active"),
    "gpm_fp16_util": _ratio("fp16_active"),
    "gpm_pcie_tx_per_sec": Column(signal_named("pcie_tx_bytes"), MEBIBYTE),
    "gpm_pcie_rx_per_sec": Column(signal_named("pcie_rx_bytes"), MEBIBYTE),
}
"""Columns by their name in the header."""


def import_gpu_log(
    file: Path, *, gpu_name: str | None = None, tell: Callable[[str], None] = lambda _: None
) -> Recording:
    """Read a log of one GPU.

    Args:
        file: comma-separated, UTF-8, with a header.
        gpu_name: the GPU that was recorded; None = unknown.
        tell: is called with a line about everything left out.

    Raises:
        UsageError: the GPU name is blank.
        TraceError: the table cannot be read, has no ``time_s`` or no known column, a cell is bad, a time is missing
            or earlier than the one above it (the message names the line), or all times are the same.
    """
    gpu_name = None if gpu_name is None else checked_gpu_name(gpu_name)
    table = read_csv(file)
    _check_is_log(table)
    unknown = [name for name in table.header if name not in COLUMNS and name != TIME]
    if unknown:
        tell(f"{file}: left out {', '.join(map(repr, unknown))}: no known reading of a GPU; {_known()}")
    known = [name for name in table.header if name in COLUMNS]
    t_s = _times(table)
    values = np.column_stack([table.numbers(name) * COLUMNS[name].factor for name in known])
    signals = tuple(COLUMNS[name].signal for name in known)
    origin = imported_from("log", (table,), is_relative=False)
    try:
        return Recording(file.stem, gpu_name, t_s, values, signals, origin)
    except TraceError as error:
        raise TraceError(f"{file}: {error}") from error


def _check_is_log(table: CsvTable) -> None:
    if TIME not in table.header:
        near = nearest_names(TIME, [name for name in table.header if name])
        raise TraceError(
            f"{table.file} is not a log of a GPU: it has no column {TIME!r} ({near}); a log has {TIME!r} in seconds, "
            f"and readings; {_known()}"
        )
    if not any(name in COLUMNS for name in table.header):
        raise TraceError(f"{table.file} has no known reading of a GPU beside {TIME!r}; {_known()}")


def _known() -> str:
    return f"known are {', '.join(COLUMNS)}"


def _times(table: CsvTable) -> Array:
    """Return the times, checked so that a complaint names the line; rows may share a time."""
    t_s = table.numbers(TIME)
    bad = np.isnan(t_s)
    bad[1:] |= np.diff(t_s) < 0
    if bad.any():
        row = int(np.argmax(bad))
        cell = table.column(TIME)[row]
        if np.isnan(t_s[row]):
            raise cell.error("the row has no time; remove it, or fill in the time")
        raise cell.error(
            f"{t_s[row]:g} s is earlier than the row above it, {t_s[row - 1]:g} s; sort the rows, or cut the log where "
            "its clock restarts"
        )
    return t_s
