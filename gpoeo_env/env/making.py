"""What stands behind the registered names: environments from plain keyword arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from gpoeo_env.device.opening import build_device
from gpoeo_env.device.replay import ReplayDevice
from gpoeo_env.env.clock_env import EXCESS_PENALTY, ClockEnv
from gpoeo_env.env.control import ControlSettings
from gpoeo_env.errors import UnknownNameError
from gpoeo_env.objective import Objective
from gpoeo_env.trace.sweep import SweepSet

__all__ = ["make_live", "make_replay", "make_simulated"]


def make_simulated(
    gpu: str = "rtx3080ti",
    *,
    suite: str | None = None,
    counters: str | None = None,
    noise: float | None = None,
    workload: str | Sequence[str] | None = None,
    samples: bool = False,
    excess_penalty: float = EXCESS_PENALTY,
    objective: str = Objective.ENERGY.value,
    **settings: Any,
) -> ClockEnv:
    """Make ``gpoeo/GpuSim-v0``: a simulated GPU.

    Args:
        gpu: name in the GPU catalogue.
        suite: which workloads it runs; None = the demonstration.
        counters: "gpm", "cupti" or "both"; None = "gpm".
        noise: relative standard error of time and power in every window; None = the device's default.
        workload: one name, several to draw from, or None for all.
        samples: simulate sensor rows and not only whole windows; slower.
        excess_penalty: weight of the cost in the reward.
        objective: name of the objective.
        settings: fields of `ControlSettings` (limit, window_s, budget_s, ...). `Any`: they are of several types.

    Raises:
        UnknownNameError: there is no such GPU, suite, workload, objective or setting.
        ConfigError: a setting is out of range.
    """
    device = build_device("sim-samples" if samples else "sim", gpu, _given(suite=suite, counters=counters, noise=noise))
    control = _control(objective, settings)
    return ClockEnv(device, control, workload=workload, excess_penalty=excess_penalty)


def make_replay(
    sweeps: str | Path | SweepSet,
    *,
    noise: float | None = None,
    nearest: bool | None = None,
    workload: str | Sequence[str] | None = None,
    excess_penalty: float = EXCESS_PENALTY,
    objective: str = Objective.ENERGY.value,
    **settings: Any,
) -> ClockEnv:
    """Make ``gpoeo/GpuReplay-v0``: recorded sweeps.

    Args:
        sweeps: a sweep file, or sweeps that are already read.
        noise: as in `make_simulated`.
        nearest: lock the nearest recorded pair where one was not recorded; None = the device's default.
        workload: as in `make_simulated`; all of them need the same clock table.
        excess_penalty: weight of the cost in the reward.
        objective: name of the objective.
        settings: fields of `ControlSettings`. `Any`: they are of several types.

    Raises:
        TraceError: the file cannot be used.
        UsageError: the workloads have different clock tables.
        UnknownNameError: there is no such workload, objective or setting.
        ConfigError: a setting is out of range.
    """
    chosen = _given(noise=noise, nearest=nearest)
    device = (
        ReplayDevice(sweeps, **chosen) if isinstance(sweeps, SweepSet) else build_device("replay", str(sweeps), chosen)
    )
    control = _control(objective, settings)
    return ClockEnv(device, control, workload=workload, excess_penalty=excess_penalty)


def make_live(
    gpu: str | int | None = None,
    *,
    actuator: str | None = None,
    min_sm_mhz: int | None = None,
    restore_to: str | None = None,
    excess_penalty: float = EXCESS_PENALTY,
    objective: str = Objective.ENERGY.value,
    **settings: Any,
) -> ClockEnv:
    """Make ``gpoeo/GpuLive-v0``: GPUs of this machine, whatever runs on them; a step takes a window of real time.

    The guard gives the clocks back when the environment is closed or its process ends in any way. Nothing overrules
    an action here: ``min_sm_mhz`` bounds what an agent can do to the job. (`gpoeo run` watches the limit as well.)

    Args:
        gpu: number or UUID, several with commas, or "all"; None = the only one that CUDA_VISIBLE_DEVICES leaves.
        actuator: who sets clocks; None = NVML. "observe" offers the pairs and refuses to lock any.
        min_sm_mhz: pairs with a lower SM clock are not offered; None = all that the driver offers.
        restore_to: SM clocks ``LOW,HIGH`` in MHz to restore in the end; None = the driver's default.
        excess_penalty: weight of the cost in the reward.
        objective: name of the objective.
        settings: fields of `ControlSettings`. `Any`: they are of several types.

    Raises:
        DeviceError: another process controls the GPU, or its clocks cannot be set.
        InstallationError: there is no driver, or it does not fit.
        UnknownNameError: there is no such objective or setting.
        UsageError: the request names no GPU.
        ConfigError: a setting is out of range.
    """
    from gpoeo_env.device.nvml.opening import open_gpus  # noqa: PLC0415 - the other environments need no driver

    control = _control(objective, settings)  # before a GPU is taken
    wanted = None if gpu is None else str(gpu)
    device = open_gpus(wanted, _given(actuator=actuator, min_sm_mhz=min_sm_mhz, restore_to=restore_to))
    return ClockEnv(device, control, excess_penalty=excess_penalty)


def _control(objective: str, settings: Mapping[str, Any]) -> ControlSettings:
    """Check the names of settings, which Python would answer with a TypeError. `Any`: they are of several types."""
    known = [part.name for part in fields(ControlSettings)]
    for name in settings:
        if name not in known:
            raise UnknownNameError("setting", name, known)
    return ControlSettings(objective=Objective.named(objective), **settings)


def _given(**settings: float | bool | str | None) -> Mapping[str, Any]:
    """Leave out what was not given. `Any`: the device's own model checks the rest."""
    return {name: value for name, value in settings.items() if value is not None}
