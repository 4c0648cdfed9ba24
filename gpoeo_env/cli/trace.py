"""`gpoeo trace`: make sweep files from tables of measurements, and look into them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from gpoeo_env.cli.options import DEFAULT_LIMIT, JsonOption
from gpoeo_env.cli.output import print_json, stderr, stdout
from gpoeo_env.cli.tables import new_table, percent
from gpoeo_env.clocks import ClockPair
from gpoeo_env.errors import UsageError
from gpoeo_env.trace.facts import CounterFacts, Span, SweepSetFacts, facts_of
from gpoeo_env.trace.importers.column_map import KEYS
from gpoeo_env.trace.importers.curves import import_curves
from gpoeo_env.trace.importers.table import import_table
from gpoeo_env.trace.store import read_sweeps, write_sweeps
from gpoeo_env.trace.sweep import SweepSet

__all__ = ["app"]

app = typer.Typer(help="Make sweep files from tables of measurements, and look into them.", no_args_is_help=True)
import_app = typer.Typer(help="Make a sweep file from tables of measurements.", no_args_is_help=True)
app.add_typer(import_app, name="import")

GpuOption = Annotated[str, typer.Option("--gpu", metavar="NAME", help="GPU that was measured.", show_default=False)]
ReferenceOption = Annotated[
    str | None,
    typer.Option(
        metavar="SM,MEM",
        help="Clock pair in MHz that stands for the driver's default.  [default: the top pair]",
        show_default=False,
    ),
]
OutOption = Annotated[
    Path, typer.Option("--out", "-o", metavar="FILE", help="Sweep file to write.", show_default=False)
]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite the sweep file if it exists.")]


@import_app.command()
def curves(
    *,
    performance: Annotated[
        Path, typer.Option(metavar="FILE", help="CSV of relative performance by SM clock.", show_default=False)
    ],
    power: Annotated[Path, typer.Option(metavar="FILE", help="CSV of board power in W.", show_default=False)],
    gpu: GpuOption,
    mem_mhz: Annotated[
        int, typer.Option(metavar="MHZ", help="Memory clock at which all was measured.", show_default=False)
    ],
    out: OutOption,
    reference: ReferenceOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Import two wide tables: performance and power, a row for each workload, a column for each SM clock.

    The first line holds the clocks in MHz, the first column the workloads. Seconds and joules of the sweep are for
    the work that the reference pair does in one second.
    """
    sweeps = import_curves(performance, power, gpu_name=gpu, mem_mhz=mem_mhz, reference=_pair(reference))
    _store(sweeps, out, force=force, json=json)


@import_app.command()
def table(
    *,
    file: Annotated[Path, typer.Argument(help="CSV, a row for each workload and clock pair.", show_default=False)],
    gpu: GpuOption,
    mapping: Annotated[
        list[str],
        typer.Option(
            "--map",
            metavar="KEY=COLUMN",
            help=f"What a column holds; repeatable. Keys: {', '.join(KEYS)} (mj, mw: milli). "
            "workload=A+B joins columns.",
            show_default=False,
        ),
    ],
    out: OutOption,
    reference: ReferenceOption = None,
    mem_mhz: Annotated[
        int | None,
        typer.Option(metavar="MHZ", help="Memory clock of all rows, where no column holds it.", show_default=False),
    ] = None,
    counter: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Counter to keep; repeatable.  [default: every other column of numbers that is not time, energy or "
            "power once more]",
            show_default=False,
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column to leave out; repeatable.", show_default=False),
    ] = None,
    drop_incomplete: Annotated[
        bool,
        typer.Option(
            "--drop-incomplete",
            help="Drop workloads with a bad row, without the reference or with one pair only; say which and why.",
        ),
    ] = False,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Import a long table: a row for each workload and clock pair, with time, energy or power, and counters.

    Needed are workload, sm_mhz, mem_mhz (or --mem-mhz), one kind of time, and one kind of energy or power.
    """
    sweeps = import_table(
        file,
        gpu_name=gpu,
        mapping=_mapping(mapping),
        reference=_pair(reference),
        mem_mhz=mem_mhz,
        counters=counter or None,
        ignore=ignore or (),
        drop_incomplete=drop_incomplete,
        tell=_say,
    )
    _store(sweeps, out, force=force, json=json)


@app.command()
def info(
    *,
    file: Annotated[Path, typer.Argument(help="Sweep file.", show_default=False)],
    max_slowdown: Annotated[
        float, typer.Option(metavar="FRACTION", help="Limit for the best saving; 0.05 means 5 %.")
    ] = DEFAULT_LIMIT,
    json: JsonOption = False,
) -> None:
    """Show what a sweep file holds: GPU, workloads, clocks, counters, origin, and the best saving of each workload.

    Ratios are relative to the reference pair. The best saving is that of the best recorded pair within the limit.
    """
    facts = facts_of(read_sweeps(file), max_slowdown)
    if json:
        print_json(facts)
        return
    console = stdout()
    console.print(_heading(facts))
    console.print(_workload_table(facts))
    if any(workload.has_pairs_above_reference for workload in facts.workloads):
        console.print("Pairs above the reference clocks are recorded, and count as well.")


def _pair(text: str | None) -> ClockPair | None:
    return None if text is None else ClockPair.parse(text)


def _mapping(items: Sequence[str]) -> dict[str, str]:
    """Read ``KEY=COLUMN`` items; a column may contain ``=``.

    Raises:
        UsageError: an item has another form, or a key is given twice.
    """
    mapping: dict[str, str] = {}
    for item in items:
        key, separator, column = item.partition("=")
        if not (key and separator and column):
            raise UsageError(f"--map {item!r} is not KEY=COLUMN; write, for example, --map sm_mhz=core_clock")
        if key in mapping:
            raise UsageError(f"--map {key} is given twice, {mapping[key]!r} and {column!r}; give it once")
        mapping[key] = column
    return mapping


def _store(sweeps: SweepSet, out: Path, *, force: bool, json: bool) -> None:
    write_sweeps(out, sweeps, overwrite=force)
    facts = facts_of(sweeps, DEFAULT_LIMIT)
    if json:
        print_json(facts)
        return
    _say(f"wrote {out}")
    stdout().print(_heading(facts))


def _say(line: str) -> None:
    stderr().print(line, markup=False, highlight=False, soft_wrap=True)


def _heading(facts: SweepSetFacts) -> Table:
    """Return what holds for all workloads: a line of words for each subject."""
    origin = facts.provenance
    references = sorted({str(workload.reference) for workload in facts.workloads})
    pairs = _span([workload.n_pairs for workload in facts.workloads])
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in (
        ("GPU", f"{facts.gpu_name} ({'SIMULATED, no GPU was measured' if origin.is_simulated else 'measured'})"),
        ("workloads", f"{len(facts.workloads)}, {pairs} clock pairs each"),
        ("SM clocks", _clocks(facts.sm_mhz)),
        ("memory clocks", _clocks(facts.mem_mhz)),
        ("reference", f"{', '.join(references)} MHz"),
        ("unit of work", "1 s of the reference pair" if origin.is_relative else "as in the source"),
        ("counters", _counters(facts.counters)),
        ("source", origin.source),
        ("written", f"{origin.created_utc} by {origin.tool}"),
    ):
        grid.add_row(name, Text(text))
    return grid


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
