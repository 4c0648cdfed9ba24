"""`gpoeo validate`: run results of a benchmark again and compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpoeo_env.bench.validation import Verdict, sample_of
from gpoeo_env.bench.validation import validate as run_again
from gpoeo_env.cli.options import JsonOption
from gpoeo_env.cli.output import print_json, progress_bar, stdout
from gpoeo_env.cli.tables import count

__all__ = ["validate"]


def validate(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `gpoeo bench -o` made.", show_default=False)],
    *,
    sample: Annotated[int, typer.Option(metavar="N", help="How many results to run again, drawn at random.")] = 20,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the draw.")] = 0,
    data: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where the data are.  [default: where they were]", show_default=False),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Run results of a benchmark again, and compare them with what was written.

    Exit code: 0 where every result that was drawn comes out the same; 1 where one does not, or results are missing.
    Times that deciding took are not compared.
    """
    manifest, rows, missing = sample_of(folder, sample, seed)
    verdicts = []
    with progress_bar("running again", len(rows)) as advance:
        for verdict in run_again(manifest, rows, data):
            verdicts.append(verdict)
            advance()
    wrong = [verdict for verdict in verdicts if verdict.complaints]
    if json:
        documents = [_document(verdict) for verdict in verdicts]
        print_json({"n": len(rows), "n_wrong": len(wrong), "missing": missing, "rows": documents})
    else:
        for line in _lines(verdicts, missing):
            stdout().print(line, markup=False, highlight=False, soft_wrap=True)
    if wrong or missing:
        raise typer.Exit(1)


def _document(verdict: Verdict) -> dict[str, object]:
    return {
        "key": verdict.row.key,
        "case": verdict.row.case.model_dump(mode="json"),
        "complaints": verdict.complaints,
        "is_stale": verdict.is_stale,
    }


def _lines(verdicts: list[Verdict], missing: list[str]) -> list[str]:
    lines = []
    for verdict in verdicts:
        case = verdict.row.case
        why = " (code or data have changed since)" if verdict.is_stale else ""
        lines += [
            f"WRONG {case.policy} on {case.workload}, seed {case.seed}, row {verdict.row.key}: {complaint}{why}"
            for complaint in verdict.complaints
        ]
    if missing:
        lines.append(
            f"MISSING {count(len(missing), 'result')} of the benchmark; the same `gpoeo bench` command runs them"
        )
    same = sum(not verdict.complaints for verdict in verdicts)
    stale = sum(verdict.is_stale for verdict in verdicts)
    return [
        *lines,
        f"{same} of {count(len(verdicts), 'result')} came out as written"
        + (f"; {stale} of them by other code or data than now" if stale else ""),
    ]
