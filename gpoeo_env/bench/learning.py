"""What a policy may learn from before it meets a workload of a virtual device: never that workload itself."""

from __future__ import annotations

from collections.abc import Sequence

from gpoeo_env.device.analytic import AnalyticDevice
from gpoeo_env.device.base import Device
from gpoeo_env.device.replay import ReplayDevice
from gpoeo_env.device.simulated import SimulatedDevice
from gpoeo_env.sim.closed_form import training_sweeps
from gpoeo_env.trace.sweep import Sweep

__all__ = ["sweeps_to_learn_from"]


def sweeps_to_learn_from(device: Device, workload: str | None) -> Sequence[Sweep] | None:
    """Return recordings of other work on the same kind of GPU; None where there are none.

    Args:
        device: where the policy will run.
        workload: what it will meet there. A recording teaches its other workloads; a simulated GPU teaches simulated
            training workloads, none of which it offers to run.
    """
    if isinstance(device, ReplayDevice):
        return device.sweeps.others(workload or device.info.workloads[0]) or None
    if isinstance(device, AnalyticDevice | SimulatedDevice):
        return training_sweeps(device.gpu).sweeps
    return None
