"""The contract of a policy, as checks that anybody can run on their own.

    check_policy(lambda: MyPolicy(gain=0.5))                    # all of it; AssertionError names what is broken

    @pytest.mark.parametrize("check", POLICY_CONTRACT, ids=str) # or one test a check
    def test_my_policy(check): check.run(lambda: MyPolicy(gain=0.5))

Every check runs a few episodes on small made-up sweeps; it asks whether a policy behaves, not whether it is good.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from gpoeo_env.clocks import RELEASE, ClockTable
from gpoeo_env.device.replay import ReplayDevice
from gpoeo_env.env.control import ControlLoop, ControlSettings
from gpoeo_env.objective import Objective
from gpoeo_env.policy import Decision, Policy, Purpose, Step, UsesTruth
from gpoeo_env.progress.meter import ProgressMeter, WorkCounterMeter
from gpoeo_env.records import Progress, Window
from gpoeo_env.signals import CANONICAL, Behaviour
from gpoeo_env.testing.contract import check_clauses, require
from gpoeo_env.trace.sweep import Provenance, Sweep, SweepSet

__all__ = ["POLICY_CONTRACT", "MakePolicy", "PolicyCheck", "check_policy"]

MakePolicy = Callable[[], Policy]
"""Gives a new policy at every call, always with the same settings."""

TABLES: tuple[ClockTable, ...] = (
    ClockTable.from_product(range(600, 1801, 100), [5000]),
    ClockTable.from_product(range(400, 1601, 200), [810, 5000, 9500]),
    ClockTable.from_product([900, 1500], [5000]),
)
"""A data-centre GPU with one memory clock, a desktop GPU with three, and the smallest table there can be."""

LIMIT = 0.05
LONG = ControlSettings(limit=LIMIT, window_s=10.0, budget_s=900.0)
SHORT = ControlSettings(limit=LIMIT, window_s=10.0, budget_s=900.0, max_steps=4)


@dataclass(frozen=True, slots=True)
class PolicyCheck:
    """One clause of the contract.

    Attributes:
        name: the clause as a sentence.
        run: takes a `MakePolicy`; raises AssertionError where the clause is broken.
    """

    name: str
    run: Callable[[MakePolicy], None]

    def __str__(self) -> str:
        """Return the clause."""
        return self.name


def check_policy(make_policy: MakePolicy) -> None:
    """Run the whole contract.

    Raises:
        AssertionError: names every broken clause and how it showed.
    """
    check_clauses("policy", {check.name: partial(check.run, make_policy) for check in POLICY_CONTRACT})


def _equal_seeds_give_equal_decisions(make_policy: MakePolicy) -> None:
    first, second = (_play(make_policy(), TABLES[1], noise=0.01, seed=7) for _ in range(2))
    require(first == second, "two runs under one seed differ; draw numbers from context.seed alone")


def _forgets_at_reset(make_policy: MakePolicy) -> None:
    fresh = _play(make_policy(), TABLES[0], noise=0.01, seed=1)
    used = make_policy()
    _play(used, TABLES[0], noise=0.01, seed=1)
    require(_play(used, TABLES[0], noise=0.01, seed=1) == fresh, "a second episode differs; reset() left something")
    _play(used, TABLES[1], SHORT, noise=0.01, seed=2)
    require(_play(used, TABLES[0], noise=0.01, seed=1) == fresh, "an episode cut off in its search shows in the next")


def _serves_every_table(make_policy: MakePolicy) -> None:
    policy = make_policy()
    for table in TABLES:
        for workload in ("compute", "memory"):
            _play(policy, table, noise=0.01, workload=workload)


def _serves_every_objective(make_policy: MakePolicy) -> None:
    policy = make_policy()
    for objective in Objective:
        for limit in (0.0, LIMIT):
            _play(policy, TABLES[1], ControlSettings(objective=objective, limit=limit, budget_s=900.0), noise=0.01)


def _survives_windows_without_progress(make_policy: MakePolicy) -> None:
    """Progress is unknown in all windows, in every second one, and from the tenth on."""
    policy = make_policy()
    patterns: tuple[Callable[[int], bool], ...] = (
        lambda _: False,
        lambda index: index % 2 == 0,
        lambda index: index % 2 == 1,
        lambda index: index < 10,
    )
    settings = ControlSettings(limit=LIMIT, window_s=10.0, budget_s=900.0, max_steps=60)
    for is_known in patterns:
        _play(policy, TABLES[1], settings, noise=0.01, meter=_SometimesBlind(is_known))


def _survives_missing_counters(make_policy: MakePolicy) -> None:
    _play(make_policy(), TABLES[1], noise=0.01, has_counters=False)


def _ends_holding(make_policy: MakePolicy) -> None:
    """The workload is steady and free of noise, so that nothing but the policy can keep a search going."""
    for table in TABLES:
        decisions = _play(make_policy(), table, noise=0.0)
        tail = decisions[-(len(decisions) // 4) :]
        require(all(one.purpose is Purpose.HOLD for one in tail), f"the search does not end on {table}")
        require(len({one.action for one in tail}) == 1, f"the action still changes at the end on {table}")


def _answers_the_last_step(make_policy: MakePolicy) -> None:
    policy = make_policy()
    with _loop(TABLES[0], SHORT) as loop:
        step = _begin(policy, loop, seed=0, workload=None)
        while not step.is_last:
            step = loop.step(policy.act(step))
        _check_decision(policy.act(step), loop.context.clocks)


POLICY_CONTRACT: tuple[PolicyCheck, ...] = (
    PolicyCheck("decides alike under equal seeds", _equal_seeds_give_equal_decisions),
    PolicyCheck("forgets at reset", _forgets_at_reset),
    PolicyCheck("serves every clock table", _serves_every_table),
    PolicyCheck("serves every objective and a limit of zero", _serves_every_objective),
    PolicyCheck("survives windows without progress", _survives_windows_without_progress),
    PolicyCheck("survives missing counters", _survives_missing_counters),
    PolicyCheck("ends its search and holds", _ends_holding),
    PolicyCheck("answers the last step like any other", _answers_the_last_step),
)
"""Every clause that a policy keeps. Each check also looks at every decision on its way: the action exists, a reference
is measured released, and no Step is changed."""


class _SometimesBlind:
    """A meter that refuses the windows of a pattern."""

    def __init__(self, is_known: Callable[[int], bool]) -> None:
        self._is_known = is_known
        self._meter = WorkCounterMeter()
        self._windows = 0

    def measure(self, window: Window) -> Progress:
        self._windows += 1
        if self._is_known(self._windows - 1):
            return self._meter.measure(window)
        return Progress(work_rate=float("nan"), rel_sd=float("nan"), kind="none", reason="left out by the contract")


def _play(
    policy: Policy,
    table: ClockTable,
    settings: ControlSettings = LONG,
    *,
    noise: float,
    seed: int = 0,
    workload: str | None = None,
    meter: ProgressMeter | None = None,
    has_counters: bool = True,
) -> list[Decision]:
    """Run one episode and return its decisions, each of them checked."""
    decisions = []
    with _loop(table, settings, noise, meter, has_counters=has_counters) as loop:
        step = _begin(policy, loop, seed, workload)
        while not step.is_last:
            counters = step.measurement.features.values  # the one thing in a frozen Step that can be written to
            seen = counters.copy()
            decision = policy.act(step)
            is_untouched = np.array_equal(counters, seen, equal_nan=True)
            require(is_untouched, f"the policy changed Step {step.index}, which belongs to everybody")
            _check_decision(decision, loop.context.clocks)
            decisions.append(decision)
            step = loop.step(decision)
    return decisions


def _loop(
    table: ClockTable,
    settings: ControlSettings,
    noise: float = 0.01,
    meter: ProgressMeter | None = None,
    *,
    has_counters: bool = True,
) -> ControlLoop:
    return ControlLoop(ReplayDevice(_sweeps(table, has_counters=has_counters), noise=noise), settings, meter)


def _begin(policy: Policy, loop: ControlLoop, seed: int, workload: str | None) -> Step:
    step = loop.begin(seed, workload)
    policy.reset(loop.context)
    if isinstance(policy, UsesTruth):
        policy.learn_truth(loop.truth())
    return step


def _check_decision(decision: Decision, clocks: ClockTable) -> None:
    require(isinstance(decision, Decision), f"act() returned a {type(decision).__name__}, not a Decision")
    require(0 <= decision.action <= len(clocks), f"no action {decision.action}; there are 0 to {len(clocks)}")
    require(decision.window_s is None or decision.window_s > 0, f"a window of {decision.window_s} s")
    is_locked_reference = decision.purpose is Purpose.REFERENCE and decision.action != RELEASE
    require(not is_locked_reference, f"a reference is measured released, not at action {decision.action}")


def _sweeps(table: ClockTable, *, has_counters: bool) -> SweepSet:
    """Return two made-up workloads: one follows the SM clock, one the memory clock."""
    sweeps: tuple[Sweep, ...] = (
        _sweep("compute", table, compute=0.8, memory=0.1),
        _sweep("memory", table, compute=0.2, memory=0.6),
    )
    if not has_counters:
        sweeps = tuple(replace(sweep, counters=np.full_like(sweep.counters, np.nan)) for sweep in sweeps)
    provenance = Provenance(
        source="gpoeo_env.testing.policies",
        created_utc="1970-01-01T00:00:00Z",
        tool="gpoeo_env.testing",
        is_simulated=True,
        is_relative=True,
    )
    return SweepSet("made-up GPU", sweeps, provenance)


def _sweep(workload: str, table: ClockTable, *, compute: float, memory: float) -> Sweep:
    """Return a workload whose compute, memory and fixed time add up to one second at the top pair.

    Every canonical counter is there, so that no policy can miss one.
    """
    sm, mem = (table.mhz / table.mhz[-1]).T
    seconds = compute / sm + memory / mem + (1.0 - compute - memory)
    computing, loading = compute / (sm * seconds), memory / (mem * seconds)
    watts = 60.0 + 160.0 * sm**2.5 * computing + 60.0 * mem * loading + 20.0 * sm
    shares = {
        "sm_active": computing,
        "sm_occupancy": 0.5 * computing,
        "tensor_active": 0.3 * computing,
        "dram_active": loading,
        "fp32_active": 0.4 * computing,
        "integer_active": 0.1 * computing,
        "gpu_util": np.ones_like(sm),
        "mem_util": loading,
    }
    names = tuple(signal.name for signal in CANONICAL if signal.behaviour is Behaviour.INTERVAL)
    counters = np.stack([shares.get(name, np.zeros_like(sm)) for name in names], axis=1)
    return Sweep(workload, table, table.top, seconds, watts * seconds, names, counters)
