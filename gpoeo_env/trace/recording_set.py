"""Recordings of the same work at several clock pairs: what a sweep is made from, with all the samples still in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.errors import TraceError, UnknownNameError, repeated
from gpoeo_env.signals import Signal
from gpoeo_env.trace.recording import Recording
from gpoeo_env.trace.sweep import Provenance

__all__ = ["LockedRecording", "RecordingSet", "RecordingSetFacts", "recording_set_facts"]


@dataclass(frozen=True, slots=True)
class LockedRecording:
    """One run of one workload at one clock pair."""

    workload: str
    pair: ClockPair
    recording: Recording


@dataclass(frozen=True, slots=True)
class RecordingSet:
    """Recordings on one GPU, one for each clock pair of each workload.

    Attributes:
        gpu_name: the GPU that was recorded.
        reference: the pair that stands for the driver's default; every workload was recorded at it.
        runs: in any order; all have the same signals.
        provenance: where they come from.
    """

    gpu_name: str
    reference: ClockPair
    runs: tuple[LockedRecording, ...]
    provenance: Provenance
    _by_workload: dict[str, dict[ClockPair, Recording]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check that the recordings belong together.

        Raises:
            TraceError: there is no recording, a pair of a workload was recorded twice, a workload lacks the reference
                or any other pair, or signals differ.
        """
        if not self.runs:
            raise TraceError("a recording set needs at least two recordings; there is none")
        twice = repeated(f"{run.workload} at {run.pair} MHz" for run in self.runs)
        if twice:
            raise TraceError(f"recorded twice: {', '.join(twice)}; keep one recording of each")
        by_workload: dict[str, dict[ClockPair, Recording]] = {}
        for run in self.runs:
            by_workload.setdefault(run.workload, {})[run.pair] = run.recording
        object.__setattr__(self, "_by_workload", by_workload)
        self._check_pairs()
        self._check_signals()

    @property
    def workloads(self) -> tuple[str, ...]:
        """Workload names in the order of the recordings."""
        return tuple(self._by_workload)

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The columns of every recording."""
        return self.runs[0].recording.signals

    def clocks(self, workload: str) -> ClockTable:
        """Return the pairs at which a workload was recorded.

        Raises:
            UnknownNameError: there is no such workload; the message names the nearest.
        """
        return ClockTable(self.recordings(workload))

    def recordings(self, workload: str) -> dict[ClockPair, Recording]:
        """Return the recordings of a workload by pair.

        Raises:
            UnknownNameError: there is no such workload; the message names the nearest.
        """
        if workload not in self._by_workload:
            raise UnknownNameError("workload", workload, self.workloads)
        return dict(self._by_workload[workload])

    def _check_pairs(self) -> None:
        for workload, recordings in self._by_workload.items():
            if self.reference not in recordings:
                near = ClockTable(recordings).nearest(self.reference)
                raise TraceError(
                    f"{workload!r} was not recorded at the reference pair {self.reference} MHz; the nearest recorded "
                    f"pair is {near}; name a pair as the reference at which every workload was recorded"
                )
            if len(recordings) < 2:
                raise TraceError(f"{workload!r} was recorded at one pair only: there is nothing to choose")

    def _check_signals(self) -> None:
        for run in self.runs:
            if run.recording.signals != self.signals:
                odd = sorted(set(run.recording.names) ^ {signal.name for signal in self.signals})
                raise TraceError(
                    f"the recording of {run.workload!r} at {run.pair} MHz has other signals than the first "
                    f"({', '.join(odd) or 'the same ones in another order or unit'}); record all alike"
                )


@dataclass(frozen=True, slots=True)
class RecordingSetFacts:
    """A recording set, summarised.

    Attributes:
        gpu_name: the GPU that was recorded.
        reference: the pair that stands for the driver's default.
        n_pairs: number of recordings by workload.
        seconds: length of all recordings together.
        signals: in column order.
        provenance: where they come from.
    """

    gpu_name: str
    reference: ClockPair
    n_pairs: dict[str, int]
    seconds: float
    signals: tuple[Signal, ...]
    provenance: Provenance


def recording_set_facts(recordings: RecordingSet) -> RecordingSetFacts:
    """Summarise a recording set."""
    return RecordingSetFacts(
        gpu_name=recordings.gpu_name,
        reference=recordings.reference,
        n_pairs={workload: len(recordings.recordings(workload)) for workload in recordings.workloads},
        seconds=sum(run.recording.duration_s for run in recordings.runs),
        signals=recordings.signals,
        provenance=recordings.provenance,
    )
