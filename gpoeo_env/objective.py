"""What a policy is asked to achieve, and how candidates are ordered.

A score orders feasibility before value: anything within the limit beats anything outside it.

    Objective.ENERGY.score(Ratios(time=1.03, energy=0.85), limit=0.05)
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.errors import ConfigError, UnknownNameError
from gpoeo_env.records import Ratios

__all__ = ["TOLERANCE", "Objective", "Score"]

Array = NDArray[np.float64]

TOLERANCE = 1e-9
"""Rounding of the division behind a ratio must not turn a pair exactly at the limit into a violation."""


class Score(NamedTuple):
    """Smaller is better: first the violation, then the value."""

    violation: float
    value: float


class Objective(Enum):
    """The four objectives of the GPOEO paper (section III), on ratios to the driver's default."""

    ENERGY = "energy"
    """Least energy with slowdown <= limit."""
    PERFORMANCE = "performance"
    """Least time with saving >= limit."""
    EDP = "edp"
    """Least energy x time; no limit."""
    ED2P = "ed2p"
    """Least energy x time squared; no limit."""

    @classmethod
    def named(cls, name: str) -> Objective:
        """Return the objective of that name.

        Raises:
            UnknownNameError: there is none; the message names the nearest.
        """
        try:
            return cls(name.lower())
        except ValueError:
            raise UnknownNameError("objective", name, [member.value for member in cls]) from None

    def check_limit(self, limit: float) -> float:
        """Return the limit unchanged.

        Raises:
            ConfigError: it is not a fraction in [0, 1) (0.05 means 5 %).
        """
        if not 0.0 <= limit < 1.0:
            raise ConfigError(f"a limit is a fraction, 0 <= limit < 1 (0.05 means 5 %); got {limit:g}")
        return limit

    @property
    def limited_quantity(self) -> str | None:
        """The quantity that the limit bounds: "slowdown", "saving" or None."""
        return {Objective.ENERGY: "slowdown", Objective.PERFORMANCE: "saving"}.get(self)

    def violation(self, time: Array | float, energy: Array | float, limit: float) -> Array:
        """Return by how much each candidate breaks the limit, >= 0; float64, broadcast shape of the inputs."""
        time, energy = np.asarray(time, dtype=np.float64), np.asarray(energy, dtype=np.float64)
        if self is Objective.ENERGY:
            return _beyond(time - 1.0 - limit) + 0.0 * energy
        if self is Objective.PERFORMANCE:
            return _beyond(limit - (1.0 - energy)) + 0.0 * time
        return np.zeros(np.broadcast(time, energy).shape)

    def to_minimise(self, time: Array | float, energy: Array | float) -> Array:
        """Return what is minimised among feasible candidates; float64, broadcast shape of the inputs."""
        time, energy = np.asarray(time, dtype=np.float64), np.asarray(energy, dtype=np.float64)
        if self is Objective.ENERGY:
            return energy + 0.0 * time
        if self is Objective.PERFORMANCE:
            return time + 0.0 * energy
        return energy * time if self is Objective.EDP else energy * time**2

    def score(self, ratios: Ratios, limit: float) -> Score:
        """Score one candidate; the smaller score is the better candidate."""
        return Score(
            float(self.violation(ratios.time, ratios.energy, limit)),
            float(self.to_minimise(ratios.time, ratios.energy)),
        )

    def best(self, time: Array, energy: Array, limit: float) -> int:
        """Return the index of the best candidate; the first one where several are equal.

        Args:
            time: time ratios, shape (n,).
            energy: energy ratios, shape (n,).
            limit: as in `score`.
        """
        return int(np.lexsort((self.to_minimise(time, energy), self.violation(time, energy, limit)))[0])


def _beyond(excess: Array) -> Array:
    """Return what is beyond rounding of an excess, else 0."""
    return np.where(excess > TOLERANCE, excess, 0.0)
