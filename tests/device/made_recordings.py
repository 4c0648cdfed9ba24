"""A program of three phases, logged at three clocks as a poller of 20 ms would: small, and worked out by hand.

At 1500 MHz a lap takes 2.0 s: 1.0 s of arithmetic (as fast as the SM clock), 0.6 s of memory traffic (as fast at any
clock) and 0.4 s in which the host works. Power is 300 W, 200 W and 100 W at 1500 MHz, and falls with the clock in the
first phase alone.
"""

from __future__ import annotations

import numpy as np

from gpoeo_env.clocks import ClockPair
from gpoeo_env.signals import ENERGY, POWER, SM_CLOCK, Behaviour, Signal
from gpoeo_env.trace.recording import Recording
from gpoeo_env.trace.recording_set import LockedRecording, RecordingSet
from gpoeo_env.trace.sweep import Provenance

ROW_S = 0.02
MEM_MHZ = 5000
TOP_MHZ = 1500
ORIGIN = Provenance("made for a test", "2026-01-01T00:00:00Z", "test", is_simulated=True, is_relative=False)
SIGNALS = (
    *(Signal(name, "1", Behaviour.INTERVAL) for name in ("graphics_active", "sm_active", "fp32_active", "dram_active")),
    POWER,
    ENERGY,
    SM_CLOCK,
)


def pair_at(sm_mhz: int) -> ClockPair:
    return ClockPair(sm_mhz, MEM_MHZ)


def lap_s(sm_mhz: int) -> float:
    """Return how long a lap takes: rows of 20 ms divide every phase."""
    return 1.0 * TOP_MHZ / sm_mhz + 0.6 + 0.4


def lap_j(sm_mhz: int) -> float:
    """Return what a lap costs."""
    return 1.0 * TOP_MHZ / sm_mhz * arithmetic_w(sm_mhz) + 0.6 * 200.0 + 0.4 * 100.0


def arithmetic_w(sm_mhz: int) -> float:
    return 300.0 * (sm_mhz / TOP_MHZ) ** 2


def recording(sm_mhz: int, *, head_s: float = 1.0, tail_s: float = 2.0) -> Recording:
    """Log one lap, with an idle head and tail. The host works between the two kinds of kernels."""
    phases = [  # seconds, graphics, sm, fp32, dram, watts, clock
        (head_s, 0.0, 0.0, 0.0, 0.0, 50.0, 210.0),
        (1.0 * TOP_MHZ / sm_mhz, 0.9, 0.9, 0.5, 0.1, arithmetic_w(sm_mhz), sm_mhz),
        (0.4, 0.0, 0.0, 0.0, 0.0, 100.0, sm_mhz),
        (0.6, 0.9, 0.7, 0.0, 0.8, 200.0, sm_mhz),
        (tail_s, 0.0, 0.0, 0.0, 0.0, 50.0, 210.0),
    ]
    rows = np.concatenate([np.tile(phase[1:], (round(phase[0] / ROW_S), 1)) for phase in phases])
    energy_j = 12345.678 + np.concatenate(([0.0], np.cumsum(rows[1:, 4] * ROW_S)))
    values = np.column_stack([rows[:, :5], energy_j, rows[:, 5]])
    # The traffic of the arithmetic is spread over its time, so that a lap's work is the same at any clock.
    is_arithmetic = values[:, 2] > 0
    values[is_arithmetic, 3] *= sm_mhz / TOP_MHZ
    return Recording(f"made at {sm_mhz}", "a small gpu", ROW_S * np.arange(len(values)), values, SIGNALS, ORIGIN)


def recordings(*sm_mhz: int, workloads: tuple[str, ...] = ("made", "copied")) -> RecordingSet:
    runs = [
        LockedRecording(workload, pair_at(mhz), recording(mhz))
        for workload in workloads
        for mhz in sm_mhz or (750, 1000, 1500)
    ]
    return RecordingSet("a small gpu", pair_at(max(run.pair.sm_mhz for run in runs)), tuple(runs), ORIGIN)
