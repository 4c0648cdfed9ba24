"""The goal against the objective that it translates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpoeo_env.objective import Objective
from gpoeo_policies.gpoeo.goal import Goal

ratios = st.lists(st.tuples(st.floats(0.5, 2.0), st.floats(0.5, 2.0)), min_size=1, max_size=12)


@pytest.mark.parametrize("objective", list(Objective))
@given(rows=ratios, limit=st.floats(0.0, 0.3))
def test_without_doubt_the_goal_prefers_what_the_objective_prefers(
    objective: Objective, rows: list[tuple[float, float]], limit: float
) -> None:
    time, energy = np.array([(1.0, 1.0), *rows]).T  # the driver's default is always there
    goal = Goal.of(objective, limit)

    best = int(
        np.argmin(
            goal.value(goal.cost @ np.log([time, energy]), goal.limited @ np.log([time, energy]), np.zeros(len(time)))
        )
    )

    violation = objective.violation(time, energy, limit)
    assert violation[best] <= violation.min() + 0.02  # PENALTY trades a hair of violation for the best saving
    rivals = violation <= violation[best]
    assert objective.to_minimise(time, energy)[best] <= objective.to_minimise(time, energy)[rivals].min() + 1e-9


def test_doubt_counts_against_a_candidate_near_the_limit() -> None:
    goal = Goal.of(Objective.ENERGY, 0.05)
    cost, limited = np.array([-0.2, -0.1]), np.log([1.04, 1.0])

    assert int(np.argmin(goal.value(cost, limited, np.array([0.0, 0.0])))) == 0
    assert int(np.argmin(goal.value(cost, limited, np.array([0.03, 0.03])))) == 1


def test_objectives_without_a_limit_ignore_doubt() -> None:
    goal = Goal.of(Objective.EDP, 0.05)

    assert goal.value(np.array([-0.1]), np.array([0.0]), np.array([5.0])).tolist() == [-0.1]
