"""An idle GPU runs where it was measured to draw the least; the policy sees nothing of it."""

from __future__ import annotations

import math
from dataclasses import replace

from gpoeo_env.clocks import RELEASE
from gpoeo_env.policy import Purpose, Step
from gpoeo_env.records import Window
from gpoeo_env.runner.safety import IdleClocks
from gpoeo_env.signals import ENERGY, POWER, WORK
from tests.runner.stage import LOW, MIDDLE, Change, Scripted, played, with_column


def idle_at(default_w: float, lowest_w: float) -> Change:
    """Return a change to a window in which nothing runs."""

    def change(window: Window) -> Window:
        watts = default_w if window.requested is None else lowest_w
        values = window.values.copy()
        for column, signal in enumerate(window.signals):
            if signal == ENERGY:
                values[:, column] = watts * (window.t_s - window.t_s[0])
            elif signal == POWER:
                values[:, column] = watts
            elif signal == WORK or signal.name == "gpu_util":
                values[:, column] = 0.0
        return replace(window, values=values)

    return change


def shown(steps: list[Step]) -> list[tuple[int, Purpose]]:
    return [(step.decision.action, step.decision.purpose) for step in steps]


HOLD, IDLE = Purpose.HOLD, Purpose.IDLE


def test_the_lowest_pair_is_kept_where_it_draws_less_and_the_policys_decision_is_carried_out_on_waking() -> None:
    policy = Scripted(MIDDLE)
    steps = played(IdleClocks(policy), 8, dict.fromkeys(range(2, 7), idle_at(100.0, 60.0)))

    assert shown(steps)[1:] == [
        (MIDDLE, HOLD),
        (MIDDLE, HOLD),
        (RELEASE, IDLE),
        (LOW, IDLE),
        (LOW, IDLE),
        (LOW, IDLE),
        (LOW, IDLE),
        (MIDDLE, HOLD),
    ]
    assert "60 W at the lowest clocks, 100 W at the default" in steps[6].decision.reason
    assert steps[8].decision.reason == "there is work again; wish 2"
    assert [step.index for step in policy.seen] == [0, 1]


def test_the_default_is_kept_where_the_lowest_pair_draws_no_less() -> None:
    steps = played(IdleClocks(Scripted(MIDDLE)), 6, dict.fromkeys(range(2, 7), idle_at(60.0, 60.0)))

    assert shown(steps)[3:] == [(RELEASE, IDLE), (LOW, IDLE), (RELEASE, IDLE), (RELEASE, IDLE)]


def test_idle_time_is_neither_gain_nor_loss() -> None:
    steps = played(IdleClocks(Scripted(RELEASE)), 6, dict.fromkeys(range(2, 7), idle_at(100.0, 60.0)))

    assert math.isclose(steps[-1].totals.saving, 0.0, abs_tol=1e-9)
    assert math.isclose(steps[-1].totals.slowdown, 0.0, abs_tol=1e-9)


def test_nothing_is_idle_where_the_utilisation_is_unknown() -> None:
    unknown = dict.fromkeys(range(9), with_column("gpu_util", math.nan))

    assert shown(played(IdleClocks(Scripted(MIDDLE)), 3, unknown))[1:] == [(MIDDLE, HOLD)] * 3
