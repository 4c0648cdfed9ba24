"""`gpoeo doctor`: what works on this machine, what does not, and what to do about it."""

from __future__ import annotations

import math

import typer

from gpoeo_env.cli.options import JsonOption
from gpoeo_env.cli.output import print_json, stdout
from gpoeo_env.cli.tables import count
from gpoeo_env.runner.doctor.diagnosis import Diagnosis, diagnose
from gpoeo_env.runner.doctor.findings import Finding
from gpoeo_env.runner.doctor.gpus import GpuReport, Reading

__all__ = ["doctor"]

COLUMN = 12


def doctor(*, json: JsonOption = False) -> None:
    """Say what works on this machine, what does not, and what to do about it. Nothing is ever set.

    Looks at each GPU for half a second: driver and library, what can be read, what can be set and by whom, where
    features come from, who controls it, and whether somebody left clocks locked.

    Exit code: 0, also without a GPU; 3 where something installed does not fit; 5 where clocks may have been left
    locked or a GPU cannot be used.
    """
    diagnosis = diagnose()
    if json:
        print_json(
            {
                "verdict": diagnosis.verdict,
                "versions": diagnosis.versions,
                "chosen": diagnosis.chosen,
                "gpus": diagnosis.gpus,
                "findings": diagnosis.findings,
            }
        )
    else:
        stdout().print("\n".join(_lines(diagnosis)), markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(diagnosis.exit_code)


def _lines(diagnosis: Diagnosis) -> list[str]:
    lines = []
    if diagnosis.versions is not None:
        versions = diagnosis.versions
        lines += [
            _row("bindings", f"nvidia-ml-py {versions.bindings or 'of unknown version'}"),
            _row("driver", f"{versions.driver or 'none'}, library {versions.library or 'none'}"),
        ]
    for gpu in diagnosis.gpus:
        lines += ["", *_gpu_lines(gpu, is_chosen=gpu.uuid in diagnosis.chosen)]
    findings = diagnosis.every_finding
    if findings:
        lines += ["", *(line for finding in findings for line in _finding_lines(finding))]
    return [*lines, "", diagnosis.verdict]


def _gpu_lines(gpu: GpuReport, *, is_chosen: bool) -> list[str]:
    taken = "; what `gpoeo run` takes without --gpu" if is_chosen else ""
    lines = [f"GPU {gpu.index}: {gpu.name} ({gpu.architecture}), {gpu.uuid}{taken}"]
    if gpu.sm_clocks_mhz:
        sm, memory = gpu.sm_clocks_mhz, gpu.memory_clocks_mhz
        memory_mhz = ", ".join(map(str, memory))
        lines.append(
            _row("  clocks", f"{count(len(sm), 'SM clock')} from {sm[0]} to {sm[-1]} MHz; memory {memory_mhz} MHz")
        )
    if gpu.readings:
        lines.append(_row("  reads", ", ".join(map(_reading, gpu.readings))))
        lines.append(_row("  counters", gpu.counters))
    lines.append(_row("  clocks by", gpu.control))
    if gpu.controller:
        lines.append(_row("  now", f"controlled by {gpu.controller}"))
    return lines


def _reading(reading: Reading) -> str:
    if math.isnan(reading.value):
        return f"{reading.name} without a value"
    unit = "" if reading.unit == "1" else f" {reading.unit}"
    return f"{reading.name} {reading.value:.4g}{unit}"


def _finding_lines(finding: Finding) -> list[str]:
    lines = [f"{finding.level.value.upper():<{COLUMN}}{finding.subject}: {finding.what}"]
    return [*lines, _row("  fix", finding.fix)] if finding.fix else lines


def _row(label: str, text: str) -> str:
    return f"{label:<{COLUMN}}{text}"
