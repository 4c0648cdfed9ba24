"""`gpoeo trace progress`: how fast the program of a recording went, window by window."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from gpoeo_env.cli.analysis.options import (
    FileArgument,
    FromOption,
    MarksOption,
    PlotOption,
    ToOption,
    check_plot,
    read_stretch,
)
from gpoeo_env.cli.options import JsonOption
from gpoeo_env.cli.output import print_json, stdout
from gpoeo_env.cli.tables import count, new_table, percent
from gpoeo_env.progress.marks import read_marks

if TYPE_CHECKING:
    from gpoeo_env.trace.progress_rows import ProgressReport

__all__ = ["progress"]

WindowOption = Annotated[
    float,
    typer.Option(
        "--window", metavar="S", help="Length of a window; made a whole number of periods where the period is known."
    ),
]


def progress(
    *,
    file: FileArgument,
    window_s: WindowOption = 10.0,
    from_s: FromOption = None,
    to_s: ToOption = None,
    marks: MarksOption = None,
    meter: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="marks, work_counter, counter_work or period.  [default: marks where given, else the best that tells]",
            show_default=False,
        ),
    ] = None,
    plot: PlotOption = None,
    json: JsonOption = False,
) -> None:
    """Measure progress in consecutive windows, and say which meter did it.

    A work rate is in the meter's own unit per second; only rates of one meter in one recording can be compared. Its
    uncertainty is a relative standard error. A window that cannot be measured is refused, with the reason. A plot shows
    marks beside what another meter measured.
    """
    from gpoeo_env.trace.progress_rows import progress_of  # noqa: PLC0415 - scipy

    check_plot(plot)
    recording = read_stretch(file, from_s, to_s)
    marked = None if marks is None else read_marks(marks)
    report = progress_of(recording, window_s, marks=marked, only=meter)
    verdict = _verdict(report)
    if plot is not None:
        from gpoeo_env.cli.analysis.figure import save  # noqa: PLC0415 - matplotlib
        from gpoeo_env.cli.analysis.progress_figure import draw_progress  # noqa: PLC0415 - matplotlib

        save(draw_progress(recording, report, marked, verdict), plot)
    if json:
        print_json(report)
        return
    console = stdout()
    console.print(f"{recording.name}: {verdict}", markup=False, highlight=False)
    console.print(_table(report))


def _verdict(report: ProgressReport) -> str:
    measured = [row for row in report.rows if math.isfinite(row.work_rate)]
    refused = len(report.rows) - len(measured)
    if not measured:
        return f"refused in all of {count(len(report.rows), 'window')}"
    uncertainty = sorted(row.uncertainty for row in measured)[len(measured) // 2]
    words = f"{count(len(measured), 'window')} measured by {report.meter}, uncertain by {percent(uncertainty)} (median)"
    return f"{words}; {refused} refused" if refused else words


def _table(report: ProgressReport) -> Table:
    table = new_table("By window", [], ["from\ns", "to\ns", "work\nrate", "uncer-\ntainty"])
    table.add_column("meter, or why it was refused", overflow="fold")
    for row in report.rows:
        is_measured = math.isfinite(row.work_rate)
        table.add_row(
            f"{row.start_s:.1f}",
            f"{row.end_s:.1f}",
            f"{row.work_rate:.4g}" if is_measured else "-",
            percent(row.uncertainty),
            row.meter if is_measured else row.reason,
        )
    return table
