"""The whole examination: driver, GPUs, journals, and what follows from them.

print(diagnose().verdict)
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from gpoeo_env.device.guard.folder import Folder
from gpoeo_env.device.nvml.gpu import GpuFacts, every_gpu
from gpoeo_env.device.nvml.library import Nvml, Versions
from gpoeo_env.device.nvml.selection import selected
from gpoeo_env.errors import GpoeoError
from gpoeo_env.runner.doctor.findings import Finding, Level, as_finding
from gpoeo_env.runner.doctor.gpus import GpuReport, examine_gpu
from gpoeo_env.runner.doctor.journals import stale_journals
from gpoeo_env.runner.doctor.machine import find_wsl, open_driver, why_not_this_user

__all__ = ["Diagnosis", "diagnose"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What works here.

    Attributes:
        versions: of bindings, library and driver; None = there are no usable bindings.
        gpus: one report a GPU, in NVML's order.
        chosen: UUIDs of the GPUs that a run without ``--gpu`` takes.
        findings: those of the machine and of journals; each GPU has its own.
    """

    versions: Versions | None
    gpus: tuple[GpuReport, ...]
    chosen: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def every_finding(self) -> tuple[Finding, ...]:
        """Findings of the machine, then those of the GPUs."""
        return (*self.findings, *(finding for gpu in self.gpus for finding in gpu.findings))

    @property
    def verdict(self) -> str:
        """What can be done on this machine, one line."""
        ready = "replay and simulation ready; live: "
        problems = [finding.what for finding in self.findings if finding.level is Level.PROBLEM]
        if self.gpus:
            controllable = sum(gpu.control == "this user" for gpu in self.gpus)
            return f"{ready}{len(self.gpus)} to observe, {controllable} to control"
        return ready + (problems[0] if problems else "no NVIDIA driver found" if self._has_no_driver else "no GPU")

    @property
    def exit_code(self) -> int:
        """0 = no problem; else that of the first one."""
        return next((finding.exit_code for finding in self.every_finding if finding.exit_code), 0)

    @property
    def _has_no_driver(self) -> bool:
        return any(finding.subject == "driver" for finding in self.findings)


def diagnose() -> Diagnosis:
    """Examine this machine; takes half a second for each GPU, and sets nothing."""
    nvml, versions, findings = open_driver()
    findings += find_wsl()
    folder, *others = Folder.every()
    try:
        for place in (folder, *others):
            findings += stale_journals(place)
        if nvml is None:
            return Diagnosis(versions, (), (), tuple(findings))
        with nvml:
            gpus, chosen = _gpus(nvml, findings)
            reports = tuple(examine_gpu(gpu, folder, why_not_this_user()) for gpu in gpus)
        return Diagnosis(versions, reports, chosen, tuple(findings))
    finally:
        for place in (folder, *others):
            place.close()


def _gpus(nvml: Nvml, findings: list[Finding]) -> tuple[tuple[GpuFacts, ...], tuple[str, ...]]:
    """Return all GPUs, and those that a run without a request would take; what fails becomes a finding."""
    try:
        gpus = every_gpu(nvml)
    except GpoeoError as error:
        findings.append(as_finding("driver", error))
        return (), ()
    try:
        return gpus, tuple(gpu.uuid for gpu in selected(gpus, None, os.environ))
    except GpoeoError as error:
        findings.append(as_finding("CUDA_VISIBLE_DEVICES", error))
        return gpus, ()
