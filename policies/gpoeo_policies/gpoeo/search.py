"""Local search as ask/tell under measurement noise: probe where a window is worth most, keep what is surely good.

The published search (GPOEO paper, section V; METHODS of the authors' code: bracket and golden section, one noisy
reading a clock) believes every reading. Here readings are averaged by what they are worth:

* the *candidate* is the cheapest action that meets the limit with probability `confidence`;
* the next window goes to the action whose measurement is expected to improve the candidate most (the knowledge
  gradient, Frazier et al. 2009, here under a chance constraint), repeats and re-measuring the reference included;
* a window has a price: the energy that it costs more than holding the candidate would, and some trouble. It must pay
  that back over the `horizon` for which the choice is expected to be held;
* the search ends when no window is worth its price, and only on a candidate that has been measured.

    search = Search(Goal.of(Objective.ENERGY, 0.05), prior)
    search.tell(0, Ratios(1.0, 1.0, 0.01, 0.014))
    while (action := search.ask()) is not None:
        search.tell(action, measure(action))
    search.choice()
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from gpoeo_env.clocks import RELEASE
from gpoeo_env.records import Ratios
from gpoeo_policies.gpoeo.belief import Belief, Prior
from gpoeo_policies.gpoeo.goal import Goal
from gpoeo_policies.noise import distance, noise_of, noise_of_ratios

__all__ = ["Search", "SearchSettings"]

Array = NDArray[np.float64]

REPEATS = (1, 2, 4, 8, 16)
"""Windows in a row that are weighed as one purchase: near the limit a single noisy window is often worth nothing
although four together are."""
SHORTLIST = 12
"""Actions weighed for the next window, beside the candidate and the reference."""
RIVAL_SD = 3.5
"""An action whose cost would have to be this many standard deviations too high to be the best one is left out."""


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How careful and how thrifty a search is.

    Attributes:
        confidence: least probability of meeting the limit that a candidate needs.
        horizon: windows over which a first search must pay for itself.
        overhead: what a window of search costs beside the worse clocks that it may run at, as a share of a window's
            energy: clock changes, and the trouble of them.
        loyalty: least improvement, as a fraction, for which a measured pair takes the place of the chosen one.
        max_probes: windows asked for in a row, after which the search chooses among what it has measured.
    """

    confidence: float = 0.90
    horizon: float = 100.0
    overhead: float = 0.02
    loyalty: float = 0.002
    max_probes: int = 15


class Search:
    """Finds the best action by asking for measurements. Knows neither clock time nor hardware."""

    def __init__(
        self, goal: Goal, prior: Prior, settings: SearchSettings | None = None, first_probe: int | None = None
    ) -> None:
        """Prepare a search over the prior's actions.

        Args:
            goal: what to minimise under which limit.
            prior: expected ratios with their covariance.
            settings: defaults where None.
            first_probe: the action to measure first; None = the most valuable one.
        """
        self.goal = goal
        self.settings = settings or SearchSettings()
        self.belief = Belief(prior)
        self._first_probe = first_probe
        self._window_noise = noise_of(0.0, 0.0)
        self._measured: set[int] = set()
        self._n_probes = 0
        self._barred = np.zeros(self.belief.n_actions, dtype=np.bool_)

    @property
    def candidate(self) -> int:
        """The best action under the present belief; may not have been measured yet."""
        return int(np.argmin(self._outlook().value))

    def choice(self, held: int | None = None) -> int:
        """Return the best measured action; action 0 before any measurement.

        Args:
            held: the action chosen before; it stays unless another one is better by more than `loyalty`.
        """
        values = self._outlook().value
        best = min(self._measured, key=lambda action: float(values[action]), default=RELEASE)
        if held in self._measured and values[held] - values[best] <= self.settings.loyalty:
            return held
        return best

    def is_measured(self, action: int) -> bool:
        """Tell whether an action has been measured."""
        return action in self._measured

    def surprise(self, action: int, ratios: Ratios) -> float:
        """Return how far a measurement is from what was expected of it, in standard deviations (of two dimensions)."""
        error = np.log([ratios.time, ratios.energy]) - self.belief.expected(action)
        return distance(error, self.belief.expected_noise(action, noise_of_ratios(ratios)))

    def probability_within_limit(self, action: int) -> float:
        """Return the probability that an action meets the limit; 1 where there is none."""
        mean, sd = self.belief.along(self.goal.limited)
        return float(_cdf((self.goal.bound - mean[action]), sd[action]))

    def expected(self, action: int) -> Ratios:
        """Return what is believed of an action."""
        (log_time, time_sd), (log_energy, energy_sd) = (self.belief.along(row) for row in np.eye(2))
        time, energy = math.exp(log_time[action]), math.exp(log_energy[action])
        return Ratios(time, energy, time * float(time_sd[action]), energy * float(energy_sd[action]))

    def tell(self, action: int, ratios: Ratios, windows: int = 1) -> None:
        """Take in a measurement, relative to the first reference window.

        Args:
            action: what was measured; 0 = the reference again.
            ratios: with the spread of this measurement alone.
            windows: how many windows were averaged for it.
        """
        noise = noise_of_ratios(ratios)
        self.belief.observe(action, np.log([ratios.time, ratios.energy]), noise)
        self._window_noise = windows * noise
        self._measured.add(action)

    def bar(self, action: int) -> None:
        """Never propose an action again; action 0 cannot be barred."""
        self._barred[action] = action != RELEASE

    def ask(self, horizon: float = 0.0) -> int | None:
        """Return the action to measure next; None while no window is worth its price.

        What is told of a held action may make a window worth it again, and so does a longer horizon.

        Args:
            horizon: windows that the choice is expected to be held for, if more than the settings say.
        """
        if self._n_probes >= self.settings.max_probes:
            self._n_probes = 0
            return None
        probe = self._first_probe
        self._first_probe = None
        if probe is None:
            probe, gain = self._most_valuable(max(horizon, self.settings.horizon))
            if gain <= 0.0:
                probe = self.candidate
                if self.is_measured(probe):
                    self._n_probes = 0
                    return None
        self._n_probes += 1
        return probe

    def _outlook(self) -> _Outlook:
        cost, cost_sd = self.belief.along(self.goal.cost)
        limited, limited_sd = self.belief.along(self.goal.limited)
        value = self._value(cost, limited, limited_sd)
        value[self._barred] = np.inf
        is_rival = (cost - RIVAL_SD * cost_sd <= value.min()) & ~self._barred
        return _Outlook(cost, cost_sd, limited, limited_sd, value, np.flatnonzero(is_rival))

    def _value(self, cost: Array, limited: Array, limited_sd: Array) -> Array:
        """Return what is minimised, caution priced in."""
        return self.goal.value(cost, limited, float(ndtri(self.settings.confidence)) * limited_sd)

    def _most_valuable(self, horizon: float) -> tuple[int, float]:
        """Return the action whose measurement gains most for each window over the horizon, and that gain."""
        outlook = self._outlook()
        now = float(outlook.value.min())
        held_cost = float(outlook.cost[np.argmin(outlook.value)])
        gains = {}
        for action in _shortlist(outlook, self.goal.bound):
            price = max(0.0, float(outlook.cost[action]) - held_cost) + self.settings.overhead
            worth = max((now - self._value_after(outlook, action, repeats)) / repeats for repeats in REPEATS)
            gains[action] = horizon * worth - price
        best = max(gains, key=lambda action: gains[action])
        return best, gains[best]

    def _value_after(self, outlook: _Outlook, action: int, repeats: int) -> float:
        """Return the expected value of the candidate once an action has been measured some more times."""
        rivals = outlook.rivals
        shift = self.belief.shift(action, self._window_noise / repeats)[:, rivals]
        cost_shift = np.einsum("q,qns->ns", self.goal.cost, shift)
        limited_shift = np.einsum("q,qns->ns", self.goal.limited, shift)
        left_sd = np.sqrt(np.maximum(outlook.limited_sd[rivals] ** 2 - (limited_shift**2).sum(axis=1), 0.0))
        cost = outlook.cost[rivals, None] + cost_shift @ _surprises()
        limited = outlook.limited[rivals, None] + limited_shift @ _surprises()
        return float(self._value(cost, limited, left_sd[:, None]).min(axis=0).mean())


@dataclass(frozen=True, slots=True)
class _Outlook:
    """What is believed of every action now, shape (n,) each.

    Attributes:
        cost, cost_sd: what is minimised.
        limited, limited_sd: what the limit bounds.
        value: what is minimised once caution is priced in; infinite for barred actions.
        rivals: actions that may be or become the best one; all others cannot matter to the worth of a window.
    """

    cost: Array
    cost_sd: Array
    limited: Array
    limited_sd: Array
    value: Array
    rivals: NDArray[np.intp]


def _shortlist(outlook: _Outlook, bound: float) -> list[int]:
    """Return the actions worth weighing: candidate, reference and the best by expected feasible improvement."""
    improvement, sd = outlook.value.min() - outlook.cost, outlook.cost_sd
    expected_improvement = improvement * _cdf(improvement, sd) + sd * _pdf(improvement, sd)
    score = expected_improvement * _cdf(bound - outlook.limited, outlook.limited_sd)
    best = outlook.rivals[np.argsort(-score[outlook.rivals], kind="stable")[:SHORTLIST]]
    return list(dict.fromkeys([int(np.argmin(outlook.value)), RELEASE, *best.tolist()]))


@cache
def _surprises() -> Array:
    """Return pairs of standard normal numbers in antithetic pairs, fixed so that a search is reproducible, (2, 32)."""
    half = np.random.default_rng(0).standard_normal((2, 16))
    return np.concatenate((half, -half), axis=1)


def _cdf(distance: Array, sd: Array) -> Array:
    """Return P(normal with that sd <= distance); a step where the sd is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        probability: Array = ndtr(np.where(sd > 0, distance / sd, np.where(distance >= 0, np.inf, -np.inf)))
    return probability


def _pdf(distance: Array, sd: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(sd > 0, distance / sd, np.inf)
    density: Array = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    return density
