"""Is the pattern of a run new? A pattern is known once the past has shown it, whatever its shape.

The novelty of a run is its distance to the nearest run of the past. A strictly periodic signal comes close to zero, a
jittery one stays at some distance, and both show this from the start: novelty only counts above what the past had
shown of itself. So no period is needed, and no model of the noise.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np
from numpy.typing import NDArray

__all__ = ["Novelty", "distances"]

TOLERANCE = 0.15
"""How much farther than ever before, where 0 is a repeat and 1.4 is unrelated."""
FLOOR = 0.15
"""A fluctuation well below 15 % of the level is no pattern."""

Floats = NDArray[np.float64]


def distances(run: Floats, others: Floats) -> Floats:
    """Return the distance of one run to others: rms difference over the rms size of their fluctuations.

    Args:
        run: relative fluctuation, mean 0, shape (length,).
        others: likewise, shape (m, length).

    Returns:
        shape (m,): 0 for a repeat, about 1.4 for unrelated runs, near 0 where the fluctuations are shallow.
    """
    mean_square = np.einsum("ij,ij->i", others, others) / len(run)
    own = float(run @ run) / len(run)
    difference = np.maximum(own + mean_square - 2.0 * (others @ run) / len(run), 0.0)
    return np.asarray(np.sqrt(difference / (0.5 * (own + mean_square) + FLOOR**2)), dtype=np.float64)


class Novelty:
    """Judges run after run, each one block later than the one before."""

    def __init__(self, lasting: int) -> None:
        """Start without a past.

        Args:
            lasting: runs in a row that must be new. The past that they are compared with ends as many runs earlier, so
                that a new pattern does not become its own past.
        """
        self._recent: deque[float] = deque(maxlen=lasting)
        self._known = math.nan
        self._n_new = 0

    def interrupt(self) -> None:
        """Say that a run was left out: what is new must be so without interruption."""
        self._n_new = 0

    def judge(self, run: Floats, past: Floats) -> float:
        """Return by how many tolerances a run is new if all of the last ones were, else 0.

        Args:
            run: relative fluctuation, mean 0, shape (length,); NaN where it is not known.
            past: the runs to compare it with, shape (m, length); rows of NaN are skipped.
        """
        has_past = len(past) >= len(run)  # with fewer, chance decides how near the nearest one is
        novelty = float(np.fmin.reduce(distances(run, past))) if has_past else math.nan
        if len(self._recent) == self._recent.maxlen:
            self._known = float(np.fmax(self._known, self._recent[0]))
        self._recent.append(novelty)
        strength = (novelty - self._known) / TOLERANCE
        self._n_new = self._n_new + 1 if strength > 1 else 0
        return strength if self._n_new >= len(self._recent) == self._recent.maxlen else 0.0
