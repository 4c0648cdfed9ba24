"""`gpoeo run`: one policy on one device, watched and logged; `run_live` and `run_virtual` do it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from gpoeo_env.cli.asked import Asked
from gpoeo_env.cli.config_file import ConfigOption
from gpoeo_env.cli.options import JsonOption, MaxSlowdownOption, MinSavingOption, ObjectiveOption, limit_of
from gpoeo_env.cli.run_live import LiveAsked, run_live
from gpoeo_env.cli.run_virtual import run_virtual
from gpoeo_env.config import Spec
from gpoeo_env.errors import UsageError
from gpoeo_env.objective import Objective

__all__ = ["run"]

DEFAULT_POLICY = "gpoeo"
DEFAULT_BUDGET_S = 1800.0
LIVE = "A live GPU"
VIRTUAL = "A simulated GPU or a recording"


def run(
    *,
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- COMMAND...]",
            help="Training program to start and to end with; its exit code and its signals are passed on.",
            show_default=False,
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help=f"For example gpoeo or fixed:sm_mhz=1200.  [default: {DEFAULT_POLICY}]",
            show_default=False,
        ),
    ] = None,
    objective: ObjectiveOption = "energy",
    max_slowdown: MaxSlowdownOption = None,
    min_saving: MinSavingOption = None,
    window: Annotated[float, typer.Option(metavar="SECONDS", help="Length of a window.")] = 10.0,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the noise of virtual devices, and of the policy.")] = 0,
    log: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder for a line of JSON a window and, where installed, TensorBoard scalars.  [default: a new one "
            "in runs/]",
            show_default=False,
        ),
    ] = None,
    no_log: Annotated[bool, typer.Option("--no-log", help="Write no log.")] = False,
    json: JsonOption = False,
    gpu: Annotated[
        str | None,
        typer.Option(
            metavar="GPU",
            help="Number or UUID, several with commas, or all: the GPUs of one job.  [default: the only one there, "
            "or that CUDA_VISIBLE_DEVICES leaves]",
            show_default=False,
            rich_help_panel=LIVE,
        ),
    ] = None,
    observe: Annotated[
        bool, typer.Option("--observe", help="Only measure: nothing is ever set.", rich_help_panel=LIVE)
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what the policy would lock, and set nothing.", rich_help_panel=LIVE)
    ] = False,
    duration: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="End the control after that time.  [default: with the command, or with Ctrl-C]",
            show_default=False,
            rich_help_panel=LIVE,
        ),
    ] = None,
    min_sm_mhz: Annotated[
        int | None,
        typer.Option(
            "--min-sm-mhz",
            metavar="MHZ",
            help="Never lock a lower SM clock.",
            show_default=False,
            rich_help_panel=LIVE,
        ),
    ] = None,
    restore_to: Annotated[
        str | None,
        typer.Option(
            "--restore-to",
            metavar="LOW,HIGH",
            help="SM clocks in MHz that were locked before and shall be again.  [default: the driver's default]",
            show_default=False,
            rich_help_panel=LIVE,
        ),
    ] = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            "--metrics-port",
            metavar="N",
            min=0,
            max=65535,
            help="Serve Prometheus metrics there.",
            show_default=False,
            rich_help_panel=LIVE,
        ),
    ] = None,
    metrics_address: Annotated[
        str,
        typer.Option("--metrics-address", metavar="ADDRESS", help="Where to serve them.", rich_help_panel=LIVE),
    ] = "127.0.0.1",
    device: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="For example sim:rtx3080ti or replay:FILE; `gpoeo plugins` lists kinds. Also nvml:GPU,key=value.",
            show_default=False,
            rich_help_panel=VIRTUAL,
        ),
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What to run.  [default: the device's first]",
            show_default=False,
            rich_help_panel=VIRTUAL,
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help=f"Work of the run, in seconds at the driver's default.  [default: {DEFAULT_BUDGET_S:g}]",
            show_default=False,
            rich_help_panel=VIRTUAL,
        ),
    ] = None,
    config: ConfigOption = None,  # noqa: ARG001 - its callback has set the other options
) -> None:
    """Run one policy on one device, watched and logged.

    Without --device it controls a live GPU: `gpoeo run -- python train.py` starts a training program and ends with
    it; without a program it attaches to whatever runs there. Every window shows what the policy does and why.

    However it ends, the clocks are given back. Exit code: the program's own where there is one; else 0, 128 + n
    after signal n, 5 where the GPU or its driver failed.
    """
    if log is not None and no_log:
        raise UsageError("--log and --no-log contradict each other; leave one out")
    aimed = Objective.named(objective)
    asked = Asked(
        policy=policy or DEFAULT_POLICY,
        objective=aimed,
        limit=limit_of(aimed, max_slowdown=max_slowdown, min_saving=min_saving),
        window_s=window,
        seed=seed,
        log=log,
        has_log=not no_log,
        is_json=json,
    )
    live_alone = {
        "--gpu": gpu,
        "--observe": observe or None,
        "--dry-run": dry_run or None,
        "--duration": duration,
        "--min-sm-mhz": min_sm_mhz,
        "--restore-to": restore_to,
        "--metrics-port": metrics_port,
        "-- COMMAND": command or None,
    }
    if device is not None and Spec.parse(device).name != "nvml":
        _refuse(live_alone, f"a live GPU, and --device {device} is none; leave it out, or leave out --device")
        run_virtual(asked, device, workload, DEFAULT_BUDGET_S if budget is None else budget)
        return
    _refuse(
        {"--workload": workload, "--budget": budget},
        "a virtual device, and this is a live GPU; leave it out, or name one, as with --device sim:rtx3080ti",
    )
    if device is not None:
        in_spec = ("--gpu", "--observe", "--min-sm-mhz", "--restore-to")
        _refuse({name: live_alone[name] for name in in_spec}, f"--gpu; with --device {device} it belongs into the spec")
    if observe and policy is not None:
        raise UsageError(f"--observe sets nothing, so that there is nothing to do for --policy {policy}; leave one out")
    run_live(
        asked,
        LiveAsked(
            gpu=gpu,
            device=device,
            observe=observe,
            dry_run=dry_run,
            duration_s=duration,
            min_sm_mhz=min_sm_mhz,
            restore_to=restore_to,
            metrics_port=metrics_port,
            metrics_address=metrics_address,
            command=tuple(command or ()),
        ),
    )


def _refuse(options: Mapping[str, object], what: str) -> None:
    """Refuse options that do not go with the device.

    Raises:
        UsageError: one of them was given.
    """
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"{name} goes with {what}")
