"""What a set of sweeps says at a glance."""

from __future__ import annotations

import pytest

from gpoeo_env.clocks import ClockPair
from gpoeo_env.errors import ConfigError
from gpoeo_env.trace.facts import CounterFacts, Span, facts_of
from gpoeo_env.trace.sweep import SweepSet


def test_clocks_are_those_of_all_workloads(sweeps: SweepSet) -> None:
    facts = facts_of(sweeps, 0.05)

    assert facts.sm_mhz == (1000, 1500, 2000)
    assert facts.mem_mhz == (4000, 5000)


def test_counters_come_with_unit_and_missing_fraction(sweeps: SweepSet) -> None:
    assert facts_of(sweeps, 0.05).counters == (CounterFacts("sm_active", "1", 0.0), CounterFacts("dram µ", "?", 1 / 8))


def test_spans_are_relative_to_the_reference(sweeps: SweepSet) -> None:
    zeta = facts_of(sweeps, 0.05).workloads[0]

    assert zeta.time_ratio == Span(0.9, 1.3)
    assert zeta.energy_ratio == Span(100 / 120, 150 / 120)


def test_the_best_pair_is_the_cheapest_within_the_limit(sweeps: SweepSet) -> None:
    alpha = facts_of(sweeps, 0.05).workloads[1]

    assert alpha.best == ClockPair(1000, 5000)
    assert alpha.best_saving == pytest.approx(0.2)
    assert alpha.best_slowdown == pytest.approx(0.04)


def test_a_tighter_limit_leaves_the_reference(sweeps: SweepSet) -> None:
    alpha = facts_of(sweeps, 0.03).workloads[1]

    assert alpha.best == alpha.reference
    assert alpha.best_saving == 0.0


def test_pairs_above_the_reference_are_marked(sweeps: SweepSet) -> None:
    assert [facts.has_pairs_above_reference for facts in facts_of(sweeps, 0.05).workloads] == [True, False]


def test_a_percentage_is_refused_as_a_limit(sweeps: SweepSet) -> None:
    with pytest.raises(ConfigError, match="fraction"):
        facts_of(sweeps, 5.0)
