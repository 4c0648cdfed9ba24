"""A sweep: the same work measured at several clock pairs, and therefore every counterfactual exactly.

A row is seconds and joules per unit of work at one pair, with counter means. Relative curves count one
reference-second as their unit of work, so that ``seconds`` is 1 at the reference pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.errors import TraceError, UnknownNameError, repeated
from gpoeo_env.records import TruthTable

__all__ = ["Provenance", "Sweep", "SweepSet"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sweep:
    """One workload over the pairs of a clock table.

    Attributes:
        workload: unique within a set.
        clocks: the recorded pairs.
        reference: the pair that stands for the driver's default; one of ``clocks``.
        seconds: per unit of work, float64, shape (len(clocks),), in table order; positive.
        joules: likewise; total board energy.
        counter_names: unique, the same for every sweep of a set.
        counters: means over the run, float64, shape (len(clocks), len(counter_names)); NaN where missing.
    """

    workload: str
    clocks: ClockTable
    reference: ClockPair
    seconds: Array
    joules: Array
    counter_names: tuple[str, ...]
    counters: Array

    def __post_init__(self) -> None:
        """Check shapes and values.

        Raises:
            TraceError: a shape does not fit, a value is not positive and finite, the reference is not recorded,
                or there is only one pair.
        """
        n = len(self.clocks)
        if n < 2:
            raise TraceError(
                f"sweep {self.workload!r} has one clock pair ({self.clocks.top} MHz): there is nothing to choose; "
                "record at least two"
            )
        if self.reference not in self.clocks:
            raise TraceError(
                f"sweep {self.workload!r} has no row at its reference pair {self.reference} MHz; the nearest recorded "
                f"pair is {self.clocks.nearest(self.reference)}; name a recorded pair as the reference"
            )
        if self.seconds.shape != (n,) or self.joules.shape != (n,):
            raise TraceError(f"sweep {self.workload!r}: seconds and joules need one value for each of {n} pairs")
        if self.counters.shape != (n, len(self.counter_names)):
            raise TraceError(f"sweep {self.workload!r}: counters need shape ({n}, {len(self.counter_names)})")
        for name, values in (("seconds", self.seconds), ("joules", self.joules)):
            bad = ~(np.isfinite(values) & (values > 0))
            if bad.any():
                row = int(np.argmax(bad))
                raise TraceError(
                    f"sweep {self.workload!r}: {name} at {self.clocks.pairs[row]} MHz is {values[row]}; "
                    "it must be positive"
                )

    @property
    def reference_row(self) -> int:
        """Row of the reference pair."""
        return self.clocks.action_of(self.reference) - 1

    @property
    def watts(self) -> Array:
        """Mean board power, float64, shape (len(clocks),)."""
        return self.joules / self.seconds

    @property
    def time_ratio(self) -> Array:
        """Time relative to the reference pair, float64, shape (len(clocks),)."""
        return self.seconds / float(self.seconds[self.reference_row])

    @property
    def energy_ratio(self) -> Array:
        """Energy relative to the reference pair, float64, shape (len(clocks),)."""
        return self.joules / float(self.joules[self.reference_row])

    def truth(self) -> TruthTable:
        """Return the ratios of every action; release (action 0) is the reference pair."""
        return TruthTable(
            time=np.concatenate(([1.0], self.time_ratio)),
            energy=np.concatenate(([1.0], self.energy_ratio)),
        )


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a set of sweeps comes from.

    Attributes:
        source: importer or recorder and its input files, with their SHA-256 where there are files.
        created_utc: ISO 8601, UTC.
        tool: distribution and version that wrote it.
        is_simulated: True where no GPU was measured.
        is_relative: True where seconds and joules are per reference-second of work.
    """

    source: str
    created_utc: str
    tool: str
    is_simulated: bool
    is_relative: bool


@dataclass(frozen=True, slots=True)
class SweepSet:
    """Sweeps of several workloads on one GPU, with one set of counters."""

    gpu_name: str
    sweeps: tuple[Sweep, ...]
    provenance: Provenance
    counter_units: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check that workloads are unique and counters agree.

        Raises:
            TraceError: there is no sweep, a workload appears twice, or counter names differ.
        """
        if not self.sweeps:
            raise TraceError("a sweep file needs at least one workload; there is none")
        names = [sweep.workload for sweep in self.sweeps]
        twice = repeated(names)
        if twice:
            raise TraceError(f"workloads listed twice: {', '.join(twice)}; give each its own name")
        if len({sweep.counter_names for sweep in self.sweeps}) != 1:
            raise TraceError("all sweeps of one file need the same counters in the same order")
        if len(self.counter_units) not in (0, len(self.sweeps[0].counter_names)):
            raise TraceError("counter_units needs one unit for each counter")

    @property
    def workloads(self) -> tuple[str, ...]:
        """Workload names in file order."""
        return tuple(sweep.workload for sweep in self.sweeps)

    def named(self, workload: str) -> Sweep:
        """Return one sweep.

        Raises:
            UnknownNameError: there is no such workload; the message names the nearest.
        """
        for sweep in self.sweeps:
            if sweep.workload == workload:
                return sweep
        raise UnknownNameError("workload", workload, self.workloads)

    def others(self, workload: str) -> Sequence[Sweep]:
        """Return every sweep but one: what a model may learn from when it is tested on that one."""
        return tuple(sweep for sweep in self.sweeps if sweep.workload != workload)
