"""`gpoeo trace shifts`: where in a recording the workload becomes another one."""

from __future__ import annotations

from collections.abc import Sequence

from gpoeo_env.cli.analysis.options import FileArgument, FromOption, PlotOption, ToOption, check_plot, read_stretch
from gpoeo_env.cli.options import JsonOption
from gpoeo_env.cli.output import print_json, stdout
from gpoeo_env.cli.tables import count, new_table
from gpoeo_env.progress.shift import Shift, detect_shifts

__all__ = ["shifts"]


def shifts(
    *,
    file: FileArgument,
    from_s: FromOption = None,
    to_s: ToOption = None,
    plot: PlotOption = None,
    json: JsonOption = False,
) -> None:
    """Find where the workload becomes another one: its mix of work, its level of power, or its pattern.

    Slow drift, pauses, and the start and the end of the program are no shifts. Times are those of the recording.
    """
    check_plot(plot)
    recording = read_stretch(file, from_s, to_s)
    found = detect_shifts(recording.t_s, recording.values, recording.names)
    verdict = _verdict(found)
    if plot is not None:
        from gpoeo_env.cli.analysis.figure import save  # noqa: PLC0415 - matplotlib
        from gpoeo_env.cli.analysis.shifts_figure import draw_shifts  # noqa: PLC0415 - matplotlib

        save(draw_shifts(recording, found, verdict), plot)
    if json:
        print_json({"shifts_s": [shift.at_s for shift in found], "shifts": found})
        return
    console = stdout()
    console.print(f"{recording.name}: {verdict}", markup=False, highlight=False)
    if found:
        table = new_table("", ["what changed"], ["at\ns", "seen at\ns", "strength\nmargins"])
        table.title = None
        for shift in found:
            table.add_row(shift.what, f"{shift.at_s:.1f}", f"{shift.seen_s:.1f}", f"{shift.strength:.1f}")
        console.print(table)


def _verdict(found: Sequence[Shift]) -> str:
    if not found:
        return "no shift: the workload stays what it is"
    where = ", ".join(f"{shift.at_s:.1f} s ({shift.what})" for shift in found)
    return f"{count(len(found), 'shift')}, at {where}"
