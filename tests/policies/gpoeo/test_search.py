"""The search against exhaustive knowledge of the made-up truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from gpoeo_env.clocks import RELEASE
from gpoeo_env.objective import Objective
from gpoeo_env.records import Ratios, TruthTable
from gpoeo_env.trace.sweep import SweepSet
from gpoeo_policies.gpoeo.goal import Goal
from gpoeo_policies.gpoeo.prior import log_relative_clocks, uninformed_prior
from gpoeo_policies.gpoeo.search import Search, SearchSettings

LIMIT = 0.05


class Bench:
    """Measures actions of one made-up workload, with noise."""

    def __init__(self, truth: TruthTable, noise: float, seed: int) -> None:
        self.truth, self.noise = truth, noise
        self.rng = np.random.default_rng(seed)
        self.asked: list[int] = []
        self.reference: Ratios | None = None

    def measure(self, action: int) -> Ratios:
        self.asked.append(action)
        time_error, power_error = 1.0 + self.noise * self.rng.standard_normal(2)
        raw = self.truth.of(action)
        reference = self.reference or Ratios(1.0, 1.0)
        time, energy = raw.time * time_error / reference.time, raw.energy * time_error * power_error / reference.energy
        sd = max(self.noise, 1e-4)
        return Ratios(time, energy, time * sd, energy * sd * math.sqrt(2.0))


def searched(
    truth: TruthTable,
    log_clocks: NDArray[np.float64],
    *,
    objective: Objective = Objective.ENERGY,
    noise: float = 0.0,
    seed: int = 0,
    settings: SearchSettings | None = None,
) -> tuple[Search, Bench]:
    bench = Bench(truth, noise, seed)
    search = Search(Goal.of(objective, LIMIT), uninformed_prior(log_clocks), settings)
    search.tell(RELEASE, bench.measure(RELEASE))
    while (action := search.ask()) is not None:
        search.tell(action, bench.measure(action))
    return search, bench


@pytest.fixture(params=["work0", "work3", "work7"])
def truth(request: pytest.FixtureRequest, sweeps: SweepSet) -> TruthTable:
    return sweeps.named(request.param).truth()


@pytest.fixture
def log_clocks(sweeps: SweepSet) -> NDArray[np.float64]:
    sweep = sweeps.sweeps[0]
    return log_relative_clocks(sweep.clocks, sweep.reference)


@pytest.mark.parametrize("objective", list(Objective))
def test_without_noise_and_model_the_search_comes_close_to_the_best(
    truth: TruthTable, log_clocks: NDArray[np.float64], objective: Objective
) -> None:
    search, bench = searched(truth, log_clocks, objective=objective, settings=SearchSettings(max_probes=24))

    found, best = truth.of(search.choice()), truth.of(objective.best(truth.time, truth.energy, LIMIT))
    assert objective.violation(found.time, found.energy, LIMIT) == 0.0
    assert objective.to_minimise(found.time, found.energy) <= 1.02 * objective.to_minimise(best.time, best.energy)
    assert len(bench.asked) < 26  # the reference and at most every probe allowed


def test_with_noise_the_limit_is_kept(truth: TruthTable, log_clocks: NDArray[np.float64]) -> None:
    choices = [searched(truth, log_clocks, noise=0.01, seed=seed)[0].choice() for seed in range(12)]

    assert np.mean(truth.time[choices] > 1.0 + LIMIT) <= 1 / 6


def test_what_is_chosen_has_been_measured(truth: TruthTable, log_clocks: NDArray[np.float64]) -> None:
    for max_probes in (1, 2, 15):
        settings = SearchSettings(max_probes=max_probes)
        search, bench = searched(truth, log_clocks, noise=0.01, settings=settings)
        assert search.choice() in bench.asked


def test_where_nothing_saves_energy_the_driver_keeps_the_clocks(log_clocks: NDArray[np.float64]) -> None:
    energy = np.full(len(log_clocks), 1.2)
    energy[0] = 1.0

    search, _ = searched(TruthTable(np.ones(len(log_clocks)), energy), log_clocks, noise=0.01)
    assert search.choice() == RELEASE


def test_equal_measurements_lead_to_equal_questions(truth: TruthTable, log_clocks: NDArray[np.float64]) -> None:
    first, second = (searched(truth, log_clocks, noise=0.01, seed=5)[1].asked for _ in range(2))

    assert first == second


def test_more_noise_costs_more_windows_or_more_distance(truth: TruthTable, log_clocks: NDArray[np.float64]) -> None:
    sharp, blurred = (searched(truth, log_clocks, noise=noise)[0] for noise in (0.002, 0.03))

    margin = [
        math.log1p(LIMIT) - search.belief.along(search.goal.limited)[0][search.choice()] for search in (sharp, blurred)
    ]
    assert margin[1] > margin[0]


def test_the_first_probe_can_be_given(log_clocks: NDArray[np.float64]) -> None:
    search = Search(Goal.of(Objective.ENERGY, LIMIT), uninformed_prior(log_clocks), first_probe=7)
    search.tell(RELEASE, Ratios(1.0, 1.0, 0.01, 0.014))

    assert search.ask() == 7


def test_a_barred_action_is_never_asked_for_again(truth: TruthTable, log_clocks: NDArray[np.float64]) -> None:
    best = Objective.ENERGY.best(truth.time, truth.energy, LIMIT)
    bench = Bench(truth, 0.0, 0)
    search = Search(Goal.of(Objective.ENERGY, LIMIT), uninformed_prior(log_clocks))
    search.tell(RELEASE, bench.measure(RELEASE))
    search.bar(best)
    while (action := search.ask()) is not None:
        search.tell(action, bench.measure(action))

    assert best not in bench.asked
    assert search.choice() != best


def test_the_default_cannot_be_barred(log_clocks: NDArray[np.float64]) -> None:
    search = Search(Goal.of(Objective.ENERGY, LIMIT), uninformed_prior(log_clocks))
    search.tell(RELEASE, Ratios(1.0, 1.0, 0.01, 0.014))
    search.bar(RELEASE)

    assert search.choice() == RELEASE


@pytest.mark.parametrize(("loyalty", "kept"), [(0.002, True), (0.0, False)])
def test_a_held_action_stays_where_another_is_better_by_a_hair(
    log_clocks: NDArray[np.float64], loyalty: float, kept: bool
) -> None:
    settings = SearchSettings(loyalty=loyalty)
    search = Search(Goal.of(Objective.ENERGY, LIMIT), uninformed_prior(log_clocks), settings)
    held, other = 23, 24
    for _ in range(50):
        search.tell(RELEASE, Ratios(1.0, 1.0, 1e-4, 2e-4))
        search.tell(held, Ratios(1.02, 0.900, 1e-4, 2e-4))
        search.tell(other, Ratios(1.01, 0.899, 1e-4, 2e-4))

    assert search.choice() == other
    assert search.choice(held=held) == (held if kept else other)


def test_a_mean_of_windows_teaches_what_its_windows_teach(log_clocks: NDArray[np.float64]) -> None:
    singly, together = (
        Search(Goal.of(Objective.ENERGY, LIMIT), uninformed_prior(log_clocks), SearchSettings(horizon=1e6))
        for _ in range(2)
    )
    for search in (singly, together):
        search.tell(RELEASE, Ratios(1.0, 1.0, 0.01, 0.02))
    for _ in range(4):
        singly.tell(9, Ratios(1.04, 0.9, 0.0104, 0.018))
    together.tell(9, Ratios(1.04, 0.9, 0.0052, 0.009), windows=4)

    assert together.expected(9).time_sd == pytest.approx(singly.expected(9).time_sd)
    assert [together.ask() for _ in range(3)] == [singly.ask() for _ in range(3)]
    assert together._most_valuable(100.0)[1] == pytest.approx(singly._most_valuable(100.0)[1])


def test_energy_that_errs_apart_from_time_is_counted_in_the_error_of_power(log_clocks: NDArray[np.float64]) -> None:
    search = Search(Goal.of(Objective.ENERGY, LIMIT), uninformed_prior(log_clocks))
    for _ in range(2000):
        search.tell(RELEASE, Ratios(1.0, 1.0, 0.01, math.hypot(0.01, 0.02)))

    energy = math.exp(0.02)
    assert search.surprise(RELEASE, Ratios(1.0, energy, 0.01, energy * math.hypot(0.01, 0.02))) == pytest.approx(
        1.0, 0.01
    )


def test_a_surprise_is_counted_in_standard_deviations(log_clocks: NDArray[np.float64]) -> None:
    search = Search(Goal.of(Objective.ENERGY, LIMIT), uninformed_prior(log_clocks))
    for _ in range(400):
        search.tell(RELEASE, Ratios(1.0, 1.0, 0.01, math.hypot(0.01, 0.01)))

    usual = Ratios(math.exp(0.01), math.exp(0.01), math.exp(0.01) * 0.01, math.exp(0.01) * math.hypot(0.01, 0.01))
    assert search.surprise(RELEASE, usual) == pytest.approx(1.0, rel=0.01)


def test_a_choice_that_is_held_for_longer_is_searched_for_longer(
    truth: TruthTable, log_clocks: NDArray[np.float64]
) -> None:
    def probes(horizon: float) -> float:
        settings = SearchSettings(horizon=horizon, max_probes=60)
        runs = [searched(truth, log_clocks, noise=0.01, seed=seed, settings=settings)[1].asked for seed in range(8)]
        return float(np.mean([len(asked) for asked in runs]))

    assert probes(1000.0) > probes(20.0)


def test_a_search_that_was_cut_off_may_go_on_later(truth: TruthTable, log_clocks: NDArray[np.float64]) -> None:
    search, bench = searched(truth, log_clocks, noise=0.01, settings=SearchSettings(max_probes=2))
    assert len(bench.asked) == 1 + 2
    assert search.ask() is not None
