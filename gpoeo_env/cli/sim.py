"""`gpoeo sim`: what can be simulated, and how close it comes to what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.text import Text

from gpoeo_env.cli.options import JsonOption
from gpoeo_env.cli.output import print_json, progress_bar, stdout
from gpoeo_env.cli.tables import new_table, percent
from gpoeo_env.sim.catalogue import Gpu, gpu_names, load_gpu
from gpoeo_env.sim.suites import suite_named
from gpoeo_env.trace.store import read_sweeps

if TYPE_CHECKING:
    from gpoeo_env.sim.calibration import Calibration

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="What can be simulated, and how close it comes to measurements.")


@app.command("gpus")
def gpus(*, json: JsonOption = False) -> None:
    """List the GPUs that can be simulated, with their clocks and limits."""
    entries = [load_gpu(name) for name in gpu_names()]
    if json:
        print_json([entry.model_dump(by_alias=True) for entry in entries])
        return
    table = new_table("", ["name", "GPU"], ["SM MHz", "memory MHz", "pairs", "limit"])
    for entry in entries:
        sm_clocks = entry.clocks.sm_clocks
        memory = ", ".join(map(str, entry.clocks.mem_clocks))
        span = f"{sm_clocks[0]}..{sm_clocks[-1]}"
        row = (entry.name, entry.full_name, span, memory, str(len(entry.clocks)), f"{entry.power_limit_w:g} W")
        table.add_row(*map(Text, row))
    stdout().print(table)


@app.command("workloads")
def workloads(
    *,
    gpu: Annotated[str, typer.Option(metavar="NAME", help="Where they run.")] = "rtx3080ti",
    suite: Annotated[str, typer.Option(metavar="NAME", help="demo, paper, shifting or train.")] = "demo",
    json: JsonOption = False,
) -> None:
    """List the workloads of a suite and what an iteration of each is made of."""
    found = suite_named(suite, load_gpu(gpu))
    if json:
        print_json(found)
        return
    table = new_table("", ["workload", "family", "phases"], [])
    for workload in found:
        phases = ", ".join(phase.name for phase in workload.phases)
        table.add_row(Text(workload.name), Text(workload.family), Text(phases))
    stdout().print(table)


@dataclass(frozen=True, slots=True)
class _Residual:
    """Mean absolute relative errors of one workload, over clocks that were fitted to and over the others."""

    workload: str
    fitted_time: float
    fitted_power: float
    time: float
    power: float

    @classmethod
    def of(cls, fit: Calibration) -> _Residual:
        rows = (fit.rows, fit.held_out)
        seen, unseen = (
            [float(np.mean(np.abs(error[which]))) if len(which) else float("nan") for error in _errors(fit)]
            for which in rows
        )
        return cls(fit.workload.name, *seen, *unseen)


def _errors(fit: Calibration) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], ...]:
    return fit.time_error, fit.power_error


@app.command("calibrate")
def calibrate_sweep(
    sweep: Annotated[Path, typer.Argument(help="Sweep file of a real GPU.", show_default=False)],
    *,
    gpu: Annotated[str, typer.Option(metavar="NAME", help="Simulated GPU to start from.", show_default=False)],
    fit_clocks: Annotated[
        int, typer.Option(metavar="N", help="Clocks to fit to, spread evenly; the others are predicted.")
    ] = 5,
    json: JsonOption = False,
) -> None:
    """Fit simulated workloads to a measured sweep, and show how well they predict clocks that were not fitted to.

    What all workloads share (voltage curve, standing power) is fitted to the same clocks of all of them. Nothing of the
    other clocks is looked at.
    """
    from gpoeo_env.sim.calibration import calibrate, fitted_gpu, spread_rows  # noqa: PLC0415 - loads scipy

    sweeps = read_sweeps(sweep)
    with progress_bar("fitting", 1 + len(sweeps.sweeps)) as advance:
        fitted = fitted_gpu(load_gpu(gpu), sweeps.sweeps, fit_clocks)
        advance()
        rows = []
        for one in sweeps.sweeps:
            rows.append(_Residual.of(calibrate(fitted, one, spread_rows(one, fit_clocks))))
            advance()
    if json:
        constants = {"voltage": fitted.voltage.model_dump(), "power": fitted.power.model_dump()}
        print_json({"gpu_name": sweeps.gpu_name, "fit_clocks": fit_clocks, "constants": constants, "residuals": rows})
        return
    _print(sweeps.gpu_name, fitted, fit_clocks, rows)


def _print(gpu_name: str, fitted: Gpu, fit_clocks: int, rows: list[_Residual]) -> None:
    console = stdout()
    console.print(f"{gpu_name}: fitted to {fit_clocks} clocks of each workload.", markup=False, highlight=False)
    curve, power = fitted.voltage, fitted.power
    console.print(
        f"Voltage {curve.floor_v / curve.top_v:.2f} of the top one up to {curve.floor_until_mhz:g} MHz; "
        f"board and memory standing {power.board_w + power.mem_standing_w:.0f} W, leakage {power.leakage_w:.0f} W, "
        f"clock tree {power.clock_tree_w:.0f} W, SMs {power.sm_w:.0f} W.",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    columns = ["time\nfitted", "power\nfitted", "time\npredicted", "power\npredicted"]
    table = new_table("Mean absolute errors", ["workload"], columns)
    for row in rows:
        errors = (row.fitted_time, row.fitted_power, row.time, row.power)
        table.add_row(Text(row.workload), *(percent(error, 2) for error in errors))
    means = np.array([(row.fitted_time, row.fitted_power, row.time, row.power) for row in rows]).mean(axis=0)
    table.add_row("all", *(percent(float(mean), 2) for mean in means), style="bold")
    console.print("", table, sep="\n")
