"""What windows have shown since the driver's default was last measured anew, and at the pair that is held."""

from __future__ import annotations

import math

import numpy as np

from gpoeo_env.records import Features, Measurement, Ratios
from gpoeo_policies.noise import distance, noise_of_ratios

__all__ = ["HoldRecord", "Segment", "is_usable"]


def is_usable(measurement: Measurement) -> bool:
    """Tell whether progress and energy of a window are known."""
    return math.isfinite(measurement.joules_per_work)


class Segment:
    """One reference segment: from a measurement of the driver's default to the next shift of the workload.

    Every ratio is relative to the first reference window. That window's error is common to all of them, and the
    search estimates it; a reference that moved with every new average would change what was already told.
    """

    def __init__(self) -> None:
        """Start with nothing known."""
        self.features = Features.of({})
        self.n_windows = 0
        """Windows since it began."""
        self._references: list[Measurement] = []

    def add_reference(self, measurement: Measurement) -> None:
        """Take in a usable window at the driver's default; features that it lacks stay as they were."""
        self._references.append(measurement)
        new = measurement.features
        known = np.array([self.features.get(name) for name in new.names])
        self.features = Features(new.names, np.where(np.isnan(new.values), known, new.values))

    @property
    def references(self) -> list[Ratios]:
        """The reference windows as ratios to the first of them."""
        return [ratios for window in self._references if (ratios := self.ratios(window)) is not None]

    def surprise_at_default(self, ratios: Ratios) -> float:
        """Return how far a window at the driver's default is from its reference windows, in standard deviations.

        Only windows at the default are asked: what other pairs have shown may contradict the models, and that is no
        sign that the default has changed.
        """
        known = self.references
        expected = np.mean([np.log([past.time, past.energy]) for past in known], axis=0)
        noise = noise_of_ratios(ratios) * (1.0 + 1.0 / len(known))
        return distance(np.log([ratios.time, ratios.energy]) - expected, noise)

    def ratios(self, measurement: Measurement) -> Ratios | None:
        """Return a window's ratios with the spread of that window alone; None where it is not usable."""
        if not (self._references and is_usable(measurement)):
            return None
        first = self._references[0]
        time = measurement.seconds_per_work / first.seconds_per_work
        energy = measurement.joules_per_work / first.joules_per_work
        spread = measurement.spread
        return Ratios(time, energy, time * spread.time, energy * math.hypot(spread.time, spread.power))


class HoldRecord:
    """The windows of one hold, averaged for the search each time that their number has doubled.

    The error of a mean falls with the root of its windows: telling the search of every single one would cost an update
    of the whole belief and change next to nothing.
    """

    def __init__(self) -> None:
        """Start without a window."""
        self._n_windows = 0
        self._pending: list[Ratios] = []

    def add(self, ratios: Ratios) -> None:
        """Take in one window."""
        self._n_windows += 1
        self._pending.append(ratios)

    @property
    def has_doubled(self) -> bool:
        """Whether the number of windows is a power of two."""
        return self._n_windows & (self._n_windows - 1) == 0

    def take(self) -> tuple[Ratios, int]:
        """Return the mean of the windows since the last call, with its spread, and their number."""
        pending, self._pending = self._pending, []
        rows = np.array([(r.time, r.energy, r.time_sd**2, r.energy_sd**2) for r in pending])
        time, energy, time_variance, energy_variance = rows.mean(axis=0).tolist()
        n = len(pending)
        return Ratios(time, energy, math.sqrt(time_variance / n), math.sqrt(energy_variance / n)), n
