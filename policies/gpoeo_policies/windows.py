"""Windows that every controller asks for alike, and how long it waits for progress and doubts a shift."""

from __future__ import annotations

import math

from gpoeo_env.clocks import RELEASE
from gpoeo_env.policy import Decision, Purpose, Step

__all__ = ["PATIENCE", "RETRY_WINDOWS", "SHIFT_WINDOWS", "measure_reference", "released"]

SHIFT_WINDOWS = 2
"""Windows in a row that it takes to call a shift: a single one may be a checkpoint or a validation pass."""
PATIENCE = 3
"""Windows without usable progress in a row before another state is tried."""
RETRY_WINDOWS = 10
"""Windows released before progress is tried anew: the meter in use may never answer again, another one may."""


def measure_reference(reason: str) -> Decision:
    """Measure the driver's default, with counters."""
    return Decision(RELEASE, counters=True, purpose=Purpose.REFERENCE, reason=reason)


def released(step: Step) -> Decision:
    """Leave the clocks to the driver, because a window's progress or energy is not known."""
    progress = step.measurement.progress
    why = progress.reason if math.isnan(progress.work_rate) else "the energy is not known"
    return Decision(RELEASE, purpose=Purpose.HOLD, reason=f"released: {why}")
