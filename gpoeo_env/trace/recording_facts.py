"""What a recording says at a glance: how long, how often polled, and what each signal did."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gpoeo_env.progress.refresh import update_interval_s
from gpoeo_env.signals import Signal
from gpoeo_env.trace.recording import Recording
from gpoeo_env.trace.sweep import Provenance

__all__ = ["RecordingFacts", "SignalFacts", "recording_facts"]


@dataclass(frozen=True, slots=True)
class SignalFacts:
    """One signal, summarised.

    Attributes:
        signal: name, unit and behaviour.
        missing: fraction of the rows without a value.
        least, median, most: of the values; NaN where there is none.
        refresh_s: interval at which the sensor says something new, from its repeats; NaN where that is unknown.
    """

    signal: Signal
    missing: float
    least: float
    median: float
    most: float
    refresh_s: float


@dataclass(frozen=True, slots=True)
class RecordingFacts:
    """A recording, summarised.

    Attributes:
        name: what was recorded.
        gpu_name: None where unknown.
        provenance: where it comes from; says whether it is simulated.
        n_rows: number of rows.
        start_s, end_s: times of the first and of the last row.
        poll_s: median time between rows.
        longest_gap_s: the longest time between rows.
        signals: in column order.
    """

    name: str
    gpu_name: str | None
    provenance: Provenance
    n_rows: int
    start_s: float
    end_s: float
    poll_s: float
    longest_gap_s: float
    signals: tuple[SignalFacts, ...]


def recording_facts(recording: Recording) -> RecordingFacts:
    """Summarise a recording."""
    gaps = np.diff(recording.t_s)
    return RecordingFacts(
        name=recording.name,
        gpu_name=recording.gpu_name,
        provenance=recording.provenance,
        n_rows=len(recording.t_s),
        start_s=float(recording.t_s[0]),
        end_s=float(recording.t_s[-1]),
        poll_s=float(np.median(gaps)),
        longest_gap_s=float(gaps.max()),
        signals=tuple(_signal_facts(recording, index) for index in range(len(recording.signals))),
    )


def _signal_facts(recording: Recording, index: int) -> SignalFacts:
    column = recording.values[:, index]
    valid = column[~np.isnan(column)]
    least, median, most = (
        (float(valid.min()), float(np.median(valid)), float(valid.max())) if len(valid) else (math.nan,) * 3
    )
    return SignalFacts(
        signal=recording.signals[index],
        missing=1.0 - len(valid) / len(column),
        least=least,
        median=median,
        most=most,
        refresh_s=update_interval_s(recording.t_s, column) if len(valid) > 1 else math.nan,
    )
