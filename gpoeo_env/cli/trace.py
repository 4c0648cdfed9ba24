"""`gpoeo trace`: make sweep files and recordings from tables of measurements, and look into them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from gpoeo_env.cli.analysis.period import period
from gpoeo_env.cli.analysis.progress import progress
from gpoeo_env.cli.analysis.shifts import shifts
from gpoeo_env.cli.options import DEFAULT_LIMIT, JsonOption
from gpoeo_env.cli.output import print_json, progress_bar, stderr, stdout
from gpoeo_env.cli.trace_info import info, recording_heading, recording_set_line, sweep_heading
from gpoeo_env.clocks import ClockPair
from gpoeo_env.errors import UsageError
from gpoeo_env.trace.facts import facts_of
from gpoeo_env.trace.importers.column_map import KEYS
from gpoeo_env.trace.importers.curves import import_curves
from gpoeo_env.trace.importers.dcgmi_folder import NamePattern, import_dcgmi_folder
from gpoeo_env.trace.importers.gpu_log import import_gpu_log
from gpoeo_env.trace.importers.table import import_table
from gpoeo_env.trace.recording_facts import recording_facts
from gpoeo_env.trace.recording_set import recording_set_facts
from gpoeo_env.trace.recording_set_store import write_recording_set
from gpoeo_env.trace.recording_store import write_recording
from gpoeo_env.trace.store import write_sweeps
from gpoeo_env.trace.sweep import SweepSet

__all__ = ["app"]

app = typer.Typer(help="Make sweep files and recordings from tables, and look into them.", no_args_is_help=True)
import_app = typer.Typer(help="Make a sweep file or a recording from tables of measurements.", no_args_is_help=True)
app.add_typer(import_app, name="import")
app.command()(info)
app.command()(period)
app.command()(progress)
app.command()(shifts)

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
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")]


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
    """Import two wide tables: performance and power.

    A row for each workload, a column for each SM clock.

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
    """Import a long table: a row for each workload and pair.

    Columns give time, energy or power, and counters.

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


@import_app.command()
def log(
    *,
    file: Annotated[Path, typer.Argument(help="CSV, a row for each poll of one GPU.", show_default=False)],
    gpu: GpuOption,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Recording to write.", show_default=False)],
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Import a log of one GPU as a recording: time_s, and the readings of NVML and GPM that the poll gave.

    Columns are known by their names: power_w, energy_j, gpu_util_pct, sm_clock_mhz, gpm_sm_util and others. An empty
    cell means no reading. Rows must be in the order of time; rows of the same time are kept.
    """
    recording = import_gpu_log(file, gpu_name=gpu, tell=_say)
    write_recording(out, recording, overwrite=force)
    facts = recording_facts(recording)
    if json:
        print_json(facts)
        return
    _say(f"wrote {out}")
    stdout().print(recording_heading(facts))


@import_app.command()
def dcgmi(
    *,
    folder: Annotated[
        Path,
        typer.Argument(help="Folder of `dcgmi dmon` logs, one for each workload and clock pair.", show_default=False),
    ],
    gpu: GpuOption,
    interval: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="Time between rows, which logs do not tell.", show_default=False),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Recording set to write.", show_default=False)
    ],
    name: Annotated[
        str,
        typer.Option(
            metavar="PATTERN",
            help="What a file's name says: {workload}, {sm_mhz}, {mem_mhz}; * stands for any text.",
        ),
    ] = "{workload}-{sm_mhz}-{mem_mhz}.txt",
    mem_mhz: Annotated[
        int | None,
        typer.Option(metavar="MHZ", help="Memory clock of all logs, where no name holds it.", show_default=False),
    ] = None,
    reference: ReferenceOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Import a folder of logs, a run at each clock pair, as a recording set.

    A log is the text that `dcgmi dmon` printed. The device recordings:FILE plays a recording set. Readings that are
    none (N/A, DCGM's blanks) are missing and counted; lines that are no readings are left out and told.
    """
    names = NamePattern.parse(name, mem_mhz)
    pair = _pair(reference)
    with progress_bar("reading logs", names.count(folder)) as advance:
        recordings = import_dcgmi_folder(
            folder, names, gpu_name=gpu, interval_s=interval, reference=pair, tell=_say, advance=advance
        )
    write_recording_set(out, recordings, overwrite=force)
    facts = recording_set_facts(recordings)
    if json:
        print_json(facts)
        return
    _say(f"wrote {out}")
    stdout().print(recording_set_line(facts), markup=False, highlight=False, soft_wrap=True)


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
    stdout().print(sweep_heading(facts))


def _say(line: str) -> None:
    stderr().print(line, markup=False, highlight=False, soft_wrap=True)
