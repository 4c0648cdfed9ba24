from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gpoeo_env.errors import ConfigError, UnknownNameError
from gpoeo_env.objective import Objective
from gpoeo_env.records import Ratios

ratios = st.floats(0.2, 5.0)
curves = st.integers(1, 20).flatmap(
    lambda n: st.tuples(arrays(np.float64, n, elements=ratios), arrays(np.float64, n, elements=ratios))
)
LIMIT = 0.05


def test_anything_within_the_limit_beats_anything_outside_it() -> None:
    barely_within = Objective.ENERGY.score(Ratios(1.05, 1.5), LIMIT)
    far_cheaper_but_outside = Objective.ENERGY.score(Ratios(1.06, 0.2), LIMIT)
    assert barely_within < far_cheaper_but_outside


@pytest.mark.parametrize(
    ("objective", "better", "worse"),
    [
        (Objective.ENERGY, Ratios(1.04, 0.8), Ratios(1.00, 0.9)),
        (Objective.PERFORMANCE, Ratios(1.00, 0.9), Ratios(1.04, 0.8)),
        (Objective.EDP, Ratios(1.2, 0.7), Ratios(1.0, 0.9)),
        (Objective.ED2P, Ratios(1.0, 0.9), Ratios(1.2, 0.7)),
    ],
)
def test_each_objective_prefers_what_it_is_named_after(objective: Objective, better: Ratios, worse: Ratios) -> None:
    assert objective.score(better, LIMIT) < objective.score(worse, LIMIT)


@pytest.mark.parametrize(
    ("objective", "time", "energy", "expected"),
    [
        (Objective.ENERGY, 1.08, 2.0, 0.03),
        (Objective.ENERGY, 1.05, 2.0, 0.0),
        (Objective.PERFORMANCE, 9.0, 0.98, 0.03),
        (Objective.PERFORMANCE, 9.0, 0.95, 0.0),
        (Objective.EDP, 9.0, 9.0, 0.0),
        (Objective.ED2P, 9.0, 9.0, 0.0),
    ],
)
def test_a_violation_is_what_exceeds_the_limit(
    objective: Objective, time: float, energy: float, expected: float
) -> None:
    assert objective.violation(time, energy, LIMIT) == pytest.approx(expected, abs=1e-12)


@given(curves, st.sampled_from(Objective), st.floats(0.0, 0.5))
def test_the_best_candidate_has_the_smallest_score_of_all(
    curve: tuple[np.ndarray, np.ndarray], objective: Objective, limit: float
) -> None:
    time, energy = curve
    scores = [objective.score(Ratios(float(t), float(e)), limit) for t, e in zip(time, energy, strict=True)]
    assert objective.best(time, energy, limit) == scores.index(min(scores))


@pytest.mark.parametrize(
    ("objective", "quantity"),
    [
        (Objective.ENERGY, "slowdown"),
        (Objective.PERFORMANCE, "saving"),
        (Objective.EDP, None),
        (Objective.ED2P, None),
    ],
)
def test_an_objective_knows_what_its_limit_bounds(objective: Objective, quantity: str | None) -> None:
    assert objective.limited_quantity == quantity


def test_an_objective_is_found_by_its_name() -> None:
    assert Objective.named("ED2P") is Objective.ED2P


def test_an_unknown_objective_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean energy"):
        Objective.named("enrgy")


@pytest.mark.parametrize("limit", [5.0, 1.0, -0.01, float("nan")])
def test_a_limit_that_is_no_fraction_is_refused(limit: float) -> None:
    with pytest.raises(ConfigError, match=r"0\.05 means 5 %"):
        Objective.ENERGY.check_limit(limit)
