"""The windows of an episode as curves in TensorBoard."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from gpoeo_env.clocks import ClockPair
from gpoeo_env.policy import PolicyContext, Step
from gpoeo_env.runner.tensorboard import ScalarLog

__all__ = ["ScalarsOfSteps", "scalars_of"]


class ScalarsOfSteps:
    """An observer that writes every Step as scalars; the axis counts windows."""

    def __init__(self, folder: Path) -> None:
        """Remember where to write; the file is opened when the episode begins."""
        self._folder = folder
        self._log: ScalarLog | None = None

    def begin(self, context: PolicyContext, workload: str | None) -> None:  # noqa: ARG002 - the folder's name says it
        """Open the file.

        Raises:
            InstallationError: TensorBoard is not installed.
        """
        self._log = ScalarLog(self._folder)

    def step(self, step: Step) -> None:
        """Write one window; what is unknown is left out."""
        assert self._log is not None, "the runner calls begin() first"
        for tag, value in scalars_of(step).items():
            if math.isfinite(value):
                self._log.add(tag, value, step.index)

    def end(self) -> None:
        """Close the file."""
        if self._log is not None:
            self._log.close()
            self._log = None


def scalars_of(step: Step) -> Mapping[str, float]:
    """Return the numbers of a Step by name; NaN where unknown.

    Units are in the names; ``run/`` is over the whole run, ``window/`` over the window, fractions are of the driver's
    default.
    """
    measurement, totals = step.measurement, step.totals
    ratios = measurement.ratios
    return {
        "run/energy_j": totals.joules,
        "run/seconds": totals.seconds,
        "run/saving": totals.saving,
        "run/slowdown": totals.slowdown,
        "window/power_w": measurement.power_w,
        "window/work_per_s": measurement.progress.work_rate,
        "window/saving": math.nan if ratios is None else ratios.saving,
        "window/slowdown": math.nan if ratios is None else ratios.slowdown,
        "window/over_limit": step.excess,
        **_clocks("asked", step.pair),
        **_clocks("in_force", measurement.observed),
    }


def _clocks(which: str, pair: ClockPair | None) -> Mapping[str, float]:
    if pair is None:
        return {}
    return {f"clocks/sm_{which}_mhz": pair.sm_mhz, f"clocks/memory_{which}_mhz": pair.mem_mhz}
