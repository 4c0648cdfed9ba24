"""What every run is asked for, and how a log and a title name it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpoeo_env.cli.tables import aim
from gpoeo_env.device.base import DeviceInfo
from gpoeo_env.env.control import ControlSettings
from gpoeo_env.objective import Objective
from gpoeo_env.runner.episode import Observer
from gpoeo_env.runner.jsonl import JsonlLog
from gpoeo_env.runner.scalars import ScalarsOfSteps
from gpoeo_env.runner.tensorboard import is_installed

__all__ = ["LOG_NAME", "Asked", "logs_in"]

LOG_NAME = "windows.jsonl"


@dataclass(frozen=True, slots=True)
class Asked:
    """Options that live and virtual runs share.

    Attributes:
        policy: its spec.
        objective: what to achieve.
        limit: bound of the objective, a fraction.
        window_s: default length of a window.
        seed: of the policy, and of the noise of virtual devices.
        log: folder of the log; None = a new one.
        has_log: whether there is a log at all.
        is_json: whether the result is one JSON document.
    """

    policy: str
    objective: Objective
    limit: float
    window_s: float
    seed: int
    log: Path | None
    has_log: bool
    is_json: bool

    def settings(self, budget_s: float) -> ControlSettings:
        """Return the settings of the control loop."""
        return ControlSettings(objective=self.objective, limit=self.limit, window_s=self.window_s, budget_s=budget_s)

    def title(self, policy: str, info: DeviceInfo, workload: str | None) -> str:
        """Return one line for people."""
        on = f" on {workload}" if workload else ""
        return f"{policy}{on}, {info.gpu_name} ({info.kind}): {aim(self.objective, self.limit)}"

    def folder(self, device: str, workload: str | None) -> Path | None:
        """Return the folder of the log, by default one in ``runs`` whose name says when and what; None = no log."""
        if not self.has_log:
            return None
        parts = (f"{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}", device, workload or "", self.policy, f"seed{self.seed}")
        slugs = (re.sub(r"[^A-Za-z0-9._=]+", "-", part).strip("-")[:40] for part in parts)
        return self.log or Path("runs") / "-".join(slug for slug in slugs if slug)


def logs_in(folder: Path | None, header: Mapping[str, Any]) -> list[Observer]:
    """Return what writes a log: every window as a line of JSON, and scalars where TensorBoard is installed.

    `Any`: whatever `plain` understands.
    """
    if folder is None:
        return []
    lines = JsonlLog(folder / LOG_NAME, {**header, "created_utc": datetime.now(UTC).isoformat("T", "seconds")})
    return [lines, ScalarsOfSteps(folder)] if is_installed() else [lines]
