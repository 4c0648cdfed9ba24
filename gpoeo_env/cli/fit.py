"""`gpoeo fit`: models from sweeps, and how wrong they are on workloads that they did not see."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from gpoeo_env.cli.options import JsonOption
from gpoeo_env.cli.output import print_json, progress_bar, stderr, stdout
from gpoeo_env.cli.tables import count, new_table, percent
from gpoeo_env.errors import ModelError, UsageError
from gpoeo_env.sim.catalogue import load_gpu
from gpoeo_env.sim.closed_form import simulated_sweeps
from gpoeo_env.sim.suites import TRAIN, training_suite
from gpoeo_env.trace.store import read_sweeps
from gpoeo_env.trace.sweep import SweepSet
from gpoeo_env.training import FitReport, combined, trainer_named

__all__ = ["fit"]

SIMULATED = "sim:"
SHOWN_IMPORTANCES = 8
"""Inputs shown of each target; `--json` has all."""


def fit(
    sweeps: Annotated[
        list[str],
        typer.Argument(
            metavar="SWEEPS...",
            help="Sweep files of one GPU, with the same counters; or sim:GPU for simulated training workloads.",
            show_default=False,
        ),
    ],
    *,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="MODEL", help="Folder to write the model to.", show_default=False)
    ],
    trainer: Annotated[str, typer.Option(metavar="NAME", help="What fits; `gpoeo plugins` lists them.")] = "gpoeo",
    folds: Annotated[
        int,
        typer.Option(metavar="N", min=2, help="Groups of workloads that are held out in turn."),
    ] = 5,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of everything random.")] = 0,
    json: JsonOption = False,
) -> None:
    """Fit models to sweeps, and write them.

    Prints how wrong such models are on workloads that they did not see: in turn, a group of whole workloads is held
    out, and predicted from counters at the reference pair alone. Errors are mean absolute errors of the energy and the
    time ratio over all pairs; 1 % is one hundredth of what the reference takes. The same sweeps and seed give the
    same model, bit for bit. Use it with `--policy gpoeo,model=MODEL`.
    """
    if out.exists():
        raise ModelError(f"{out} exists already; name another folder or remove it")
    chosen = trainer_named(trainer)
    training = combined([_read(source) for source in _each_once(sweeps)])
    with progress_bar("fitting", chosen.steps(len(training.sweeps), folds)) as advance:
        model = chosen.fit(training.sweeps, seed=seed, folds=folds, advance=advance)
    model.save(out)
    if json:
        print_json(_document(training, model.report, out))
        return
    stderr().print(f"wrote {out}", markup=False, highlight=False, soft_wrap=True)
    console = stdout()
    console.print(_heading(training, model.report), markup=False, highlight=False)
    console.print("", _error_table(model.report), "", _importance_table(model.report), sep="\n")


def _each_once(sources: Sequence[str]) -> Sequence[str]:
    """Return the sources.

    Raises:
        UsageError: one is named twice.
    """
    if len({Path(source).resolve() for source in sources}) < len(sources):
        raise UsageError("a sweep file is named twice; name each once")
    return sources


def _read(source: str) -> SweepSet:
    """Return the sweeps of a file, or of the training suite on a simulated GPU."""
    gpu_name = source.removeprefix(SIMULATED)
    if gpu_name == source:
        return read_sweeps(Path(source))
    gpu = load_gpu(gpu_name)
    return simulated_sweeps(gpu, training_suite(gpu), f"suite {TRAIN}")


def _document(training: SweepSet, report: FitReport, out: Path) -> dict[str, object]:
    return {
        "gpu_name": training.gpu_name,
        "is_simulated": training.provenance.is_simulated,
        "model": str(out),
        "energy_error": report.energy_error,
        "time_error": report.time_error,
        "report": report,
    }


def _heading(training: SweepSet, report: FitReport) -> str:
    origin = "SIMULATED sweeps, no GPU was measured" if training.provenance.is_simulated else "Measured sweeps"
    return (
        f"{origin}: {training.gpu_name}, {count(report.n_workloads, 'workload')}, "
        f"{count(report.n_pairs, 'row')}, {count(len(report.features), 'feature')}.\n"
        f"Workloads held out in {count(report.folds, 'group')}, seed {report.seed}.\n"
        f"Mean absolute error of the energy ratio {percent(report.energy_error)}, "
        f"of the time ratio {percent(report.time_error)}."
    )


def _error_table(report: FitReport) -> Table:
    """Return one row for each workload, the worst of either column marked, and one for all."""
    table = new_table("Held out (! worst)", ["workload"], ["energy", "time"])
    worst_energy, worst_time = (max(getattr(error, key) for error in report.errors) for key in ("energy", "time"))
    for error in report.errors:
        table.add_row(
            Text(error.workload),
            percent(error.energy) + ("!" if error.energy == worst_energy else ""),
            percent(error.time) + ("!" if error.time == worst_time else ""),
        )
    table.add_row("all", percent(report.energy_error), percent(report.time_error), style="bold")
    return table


def _importance_table(report: FitReport) -> Table:
    table = new_table("Share of the gain", ["target", "input"], ["share"])
    shown: dict[str, int] = {}
    for importance in report.importances:
        rank = shown.get(importance.target, 0)
        if rank < SHOWN_IMPORTANCES and importance.share > 0:
            table.add_row("" if rank else importance.target, Text(importance.feature), percent(importance.share))
            shown[importance.target] = rank + 1
    return table
