"""The slowdown guard overrules whoever breaks the limit, in one window."""

from __future__ import annotations

import math

import pytest

from gpoeo_env.clocks import RELEASE
from gpoeo_env.policy import Purpose, Step
from gpoeo_env.runner.safety import SlowdownGuard
from gpoeo_env.signals import WORK
from tests.runner.stage import FAST, LOW, MIDDLE, Change, Scripted, played, with_column


def actions(steps: list[Step]) -> list[int]:
    return [step.decision.action for step in steps]


def all_later(change: Change, first: int, last: int) -> dict[int, Change]:
    return dict.fromkeys(range(first, last), change)


def test_a_policy_within_the_limit_is_left_alone() -> None:
    steps = played(SlowdownGuard(Scripted(FAST, MIDDLE)), 5)

    assert actions(steps) == [RELEASE, FAST, MIDDLE, MIDDLE, MIDDLE, MIDDLE]
    assert steps[-1].decision.reason == "wish 5"


def test_a_breach_is_rolled_back_in_one_window_and_never_tried_again() -> None:
    steps = played(SlowdownGuard(Scripted(LOW)), 5)

    assert actions(steps) == [RELEASE, LOW, RELEASE, RELEASE, RELEASE, RELEASE]
    assert "500/5000 MHz broke the limit by 25.0 %" in steps[2].decision.reason


def test_pairs_below_one_that_broke_the_limit_are_barred_unseen() -> None:
    slow_at_middle = {1: with_column(WORK.name, 0.5)}
    steps = played(SlowdownGuard(Scripted(MIDDLE, LOW, FAST)), 3, slow_at_middle)

    assert actions(steps) == [RELEASE, MIDDLE, RELEASE, FAST]


def test_a_search_goes_on_with_what_is_not_barred() -> None:
    steps = played(SlowdownGuard(Scripted(LOW, MIDDLE, purpose=Purpose.PROBE)), 3)

    assert actions(steps) == [RELEASE, LOW, MIDDLE, MIDDLE]


def test_after_a_breach_another_pair_is_not_held_before_the_default_was_seen() -> None:
    steps = played(SlowdownGuard(Scripted(LOW, MIDDLE)), 3)

    assert actions(steps) == [RELEASE, LOW, RELEASE, MIDDLE]


def test_the_policy_sees_the_windows_that_it_did_not_ask_for() -> None:
    policy = Scripted(LOW)
    played(SlowdownGuard(policy), 4)

    assert actions(policy.seen) == [RELEASE, LOW, RELEASE, RELEASE]


def test_where_the_default_became_as_slow_the_reference_is_measured_anew_and_nothing_is_barred() -> None:
    heavier = all_later(with_column(WORK.name, 0.5), 1, 20)
    steps = played(SlowdownGuard(Scripted(MIDDLE)), 5, heavier)

    assert actions(steps) == [RELEASE, MIDDLE, RELEASE, RELEASE, MIDDLE, MIDDLE]
    assert steps[3].decision.purpose is Purpose.REFERENCE
    assert steps[-1].measurement.ratios is not None
    assert steps[-1].measurement.ratios.time == pytest.approx(1.02)


def test_locked_clocks_are_given_back_where_progress_cannot_be_measured() -> None:
    blind = all_later(with_column(WORK.name, math.nan), 1, 6)
    steps = played(SlowdownGuard(Scripted(MIDDLE)), 8, blind)

    assert actions(steps) == [RELEASE, MIDDLE, MIDDLE, MIDDLE, RELEASE, RELEASE, RELEASE, MIDDLE, MIDDLE]
    assert "released until progress can be measured again" in steps[4].decision.reason


def test_a_new_episode_bars_nothing() -> None:
    policy = SlowdownGuard(Scripted(LOW))
    played(policy, 2)

    assert actions(played(policy, 1)) == [RELEASE, LOW]
