"""`gpoeo trace info`: what a file holds, a sweep file or recordings, and how that is shown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from gpoeo_env.cli.options import DEFAULT_LIMIT, JsonOption
from gpoeo_env.cli.output import print_json, stdout
from gpoeo_env.cli.tables import new_table, percent
from gpoeo_env.errors import UsageError
from gpoeo_env.trace.facts import CounterFacts, Span, SweepSetFacts, facts_of
from gpoeo_env.trace.logs import is_recording, read_recording
from gpoeo_env.trace.parquet import RECORDING_SET, kind_of
from gpoeo_env.trace.recording_facts import RecordingFacts, SignalFacts, recording_facts
from gpoeo_env.trace.recording_set import RecordingSetFacts, recording_set_facts
from gpoeo_env.trace.recording_set_store import read_recording_set
from gpoeo_env.trace.store import read_sweeps
from gpoeo_env.trace.sweep import Provenance

__all__ = ["info", "recording_heading", "recording_set_line", "sweep_heading"]


def info(
    *,
    file: Annotated[Path, typer.Argument(help="Sweep file, recording (set), or CSV log of a GPU.", show_default=False)],
    max_slowdown: Annotated[
        float | None,
        typer.Option(
            metavar="FRACTION",
            help=f"Sweep files: limit for the best saving; 0.05 means 5 %.  [default: {DEFAULT_LIMIT}]",
            show_default=False,
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show what a file holds.

    Of a sweep file: GPU, workloads, clocks, counters, origin, and the best saving of each workload, that of the best
    recorded pair within the limit; ratios are relative to the reference pair. Of a recording: GPU, time, origin, and
    for each signal its range, how much of it is missing and how often its sensor says something new.
    """
    if kind_of(file) is RECORDING_SET:
        if max_slowdown is not None:
            raise UsageError(f"--max-slowdown is for sweep files, and {file} is a recording set; leave it out")
        _show_recording_set(recording_set_facts(read_recording_set(file)), json=json)
    elif is_recording(file):
        if max_slowdown is not None:
            raise UsageError(f"--max-slowdown is for sweep files, and {file} is a recording; leave it out")
        _show_recording(recording_facts(read_recording(file)), json=json)
    else:
        limit = DEFAULT_LIMIT if max_slowdown is None else max_slowdown
        _show_sweeps(facts_of(read_sweeps(file), limit), json=json)


def _show_sweeps(facts: SweepSetFacts, *, json: bool) -> None:
    if json:
        print_json(facts)
        return
    console = stdout()
    console.print(sweep_heading(facts))
    console.print(_workload_table(facts))
    if any(workload.has_pairs_above_reference for workload in facts.workloads):
        console.print("Pairs above the reference clocks are recorded, and count as well.")


def _show_recording(facts: RecordingFacts, *, json: bool) -> None:
    if json:
        print_json(facts)
        return
    console = stdout()
    console.print(recording_heading(facts))
    console.print(_signal_table(facts.signals))


def _show_recording_set(facts: RecordingSetFacts, *, json: bool) -> None:
    if json:
        print_json(facts)
        return
    stdout().print(recording_set_line(facts), markup=False, highlight=False, soft_wrap=True)


def recording_set_line(facts: RecordingSetFacts) -> str:
    """Return what a recording set holds, for people."""
    pairs = ", ".join(f"{workload} at {count} pairs" for workload, count in facts.n_pairs.items())
    return (
        f"{facts.gpu_name}: {facts.seconds / 3600:.1f} h of recordings: {pairs}; reference {facts.reference} MHz; "
        f"signals {', '.join(signal.name for signal in facts.signals)}.\nFrom {facts.provenance.source}."
    )


def sweep_heading(facts: SweepSetFacts) -> Table:
    """Return what holds for all workloads: a line of words for each subject."""
    origin = facts.provenance
    references = sorted({str(workload.reference) for workload in facts.workloads})
    pairs = _span([workload.n_pairs for workload in facts.workloads])
    return _grid(
        [
            ("GPU", _gpu(facts.gpu_name, origin)),
            ("workloads", f"{len(facts.workloads)}, {pairs} clock pairs each"),
            ("SM clocks", _clocks(facts.sm_mhz)),
            ("memory clocks", _clocks(facts.mem_mhz)),
            ("reference", f"{', '.join(references)} MHz"),
            ("unit of work", "1 s of the reference pair" if origin.is_relative else "as in the source"),
            ("counters", _counters(facts.counters)),
            *_origin(origin),
        ]
    )


def recording_heading(facts: RecordingFacts) -> Table:
    """Return what holds for all signals: a line of words for each subject."""
    return _grid(
        [
            ("recording", facts.name),
            ("GPU", _gpu(facts.gpu_name or "unknown", facts.provenance)),
            ("time", f"{facts.start_s:.1f}..{facts.end_s:.1f} s"),
            ("rows", f"{facts.n_rows}, every {_ms(facts.poll_s)}, the longest gap {_ms(facts.longest_gap_s)}"),
            ("signals", f"{len(facts.signals)}"),
            *_origin(facts.provenance),
        ]
    )


def _grid(lines: Iterable[tuple[str, str]]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in lines:
        grid.add_row(name, Text(text))
    return grid


def _gpu(name: str, origin: Provenance) -> str:
    return f"{name} ({'SIMULATED, no GPU was measured' if origin.is_simulated else 'measured'})"


def _origin(origin: Provenance) -> tuple[tuple[str, str], ...]:
    return ("source", origin.source), ("written", f"{origin.created_utc} by {origin.tool}")


def _clocks(mhz: Sequence[int]) -> str:
    return f"{mhz[0]} MHz" if len(mhz) == 1 else f"{len(mhz)}, {_span(mhz)} MHz"


def _counters(counters: Sequence[CounterFacts]) -> str:
    """List the counters, with their units where those are known ("1" is a ratio or a number)."""
    names = []
    for counter in counters:
        unit = "" if counter.unit == "?" else f" [{counter.unit}]"
        missing = f" ({percent(counter.missing)} missing)" if counter.missing else ""
        names.append(counter.name + unit + missing)
    return f"{len(names)}: {', '.join(names)}" if names else "none"


def _span(values: Sequence[int]) -> str:
    return f"{min(values)}" if min(values) == max(values) else f"{min(values)}..{max(values)}"


def _workload_table(facts: SweepSetFacts) -> Table:
    """Return one row for each workload; ratios are relative to the reference pair."""
    limit = percent(facts.max_slowdown)
    table = new_table(
        f"Best recorded pair with slowdown at most {limit}",
        ["workload"],
        ["time\nratio", "energy\nratio", "best\nMHz", "saving", "slow-\ndown"],
    )
    for workload in facts.workloads:
        table.add_row(
            escape(workload.workload),
            _ratios(workload.time_ratio),
            _ratios(workload.energy_ratio),
            str(workload.best),
            percent(workload.best_saving),
            percent(workload.best_slowdown),
        )
    return table


def _ratios(span: Span) -> str:
    return f"{span.least:.2f}..{span.most:.2f}"


def _signal_table(signals: Sequence[SignalFacts]) -> Table:
    """Return one row for each signal; a dash where there is nothing to say."""
    table = new_table("Signals", ["signal", "unit"], ["least", "median", "most", "missing", "new\nevery"])
    for facts in signals:
        table.add_row(
            escape(facts.signal.name),
            facts.signal.unit,
            *(_number(value) for value in (facts.least, facts.median, facts.most)),
            percent(facts.missing, 0),
            _ms(facts.refresh_s),
        )
    return table


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4g}"


def _ms(seconds: float) -> str:
    return "-" if math.isnan(seconds) else f"{1000 * seconds:.0f} ms"
