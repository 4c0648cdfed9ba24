"""Synthetic workloads whose shifts are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gpoeo_env.clocks import ClockPair
from gpoeo_env.progress.shift import Shift, ShiftDetector, detect_shifts
from gpoeo_env.records import Window
from gpoeo_env.signals import signal_named

Floats = NDArray[np.float64]

NAMES = ("power_w", "sm_active", "tensor_active", "dram_active")
SHAPES: dict[str, Callable[[Floats], Any]] = {  # numpy's scalars times arrays lose their type
    "square": lambda phase: (phase < 0.5) * 1.0,
    "dip": lambda phase: (phase > 0.12) * 1.0,
    "four phases": lambda phase: np.array([1.0, 0.4, 0.7, 0.1])[(4 * phase).astype(np.int64) % 4],
    "sine": lambda phase: 0.5 + 0.5 * np.sin(2 * np.pi * phase),
}


@dataclass(frozen=True)
class Load:
    """A workload: a periodic activity, and what it costs."""

    shape: str = "square"
    period_s: float = 1.1
    depth: float = 0.5
    jitter: float = 0.03
    noise: float = 0.02
    power_w: float = 500.0
    sm_active: float = 0.95
    tensor_active: float = 0.30
    dram_active: float = 0.40


IDLE = Load(depth=0.0, noise=0.001, power_w=120.0, sm_active=0.0, tensor_active=0.0, dram_active=0.0)


def rows(load: Load, duration_s: float, rng: np.random.Generator, poll_s: float = 0.1) -> Floats:
    """Return rows of NAMES: each the mean over its poll, as integrated sensors report."""
    inner = 10
    t_s = np.arange(round(duration_s / poll_s) * inner) * poll_s / inner
    steps = load.period_s * np.maximum(
        1 + load.jitter * rng.standard_normal(int(2 * duration_s / load.period_s) + 9), 0.3
    )
    edges = np.concatenate(([0.0], np.cumsum(steps))) - rng.uniform(0, load.period_s)
    at = np.searchsorted(edges, t_s, side="right") - 1
    phase = (t_s - edges[at]) / (edges[at + 1] - edges[at])
    activity = (1 - load.depth * (1 - SHAPES[load.shape](phase))).reshape(-1, inner).mean(axis=1)
    levels = np.array([load.power_w, load.sm_active, load.tensor_active, load.dram_active])
    return np.asarray(activity[:, None] * levels * (1 + load.noise * rng.standard_normal((len(activity), 4))))


def recording(*pieces: tuple[Load, float], seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    values = np.concatenate([rows(load, duration_s, rng) for load, duration_s in pieces])
    return np.arange(1, len(values) + 1, dtype=np.float64) * np.float64(0.1), values


def shifts_of(*pieces: tuple[Load, float], seed: int = 0) -> tuple[Shift, ...]:
    return detect_shifts(*recording(*pieces, seed=seed), NAMES)


def window(t_s: Floats, values: Floats, pair: ClockPair | None = None) -> Window:
    return Window(t_s, values, tuple(signal_named(name) for name in NAMES), requested=pair, observed=pair)


def assert_one_shift(shifts: tuple[Shift, ...], at_s: float, within_s: float = 2.0) -> None:
    assert len(shifts) == 1
    assert abs(shifts[0].at_s - at_s) < within_s


OTHERS = {
    "work mix": replace(Load(), tensor_active=0.20, dram_active=0.50),
    "power": replace(Load(), power_w=360.0),
    "activity": replace(Load(), sm_active=0.70),
}


@pytest.mark.parametrize("what", OTHERS)
@pytest.mark.parametrize("seed", range(3))
def test_a_change_triggers_exactly_one_event(what: str, seed: int) -> None:
    assert_one_shift(shifts_of((Load(), 40), (OTHERS[what], 40), seed=seed), at_s=40)


@pytest.mark.parametrize("what", OTHERS)
def test_a_change_is_seen_within_six_seconds(what: str) -> None:
    (shift,) = shifts_of((Load(), 40), (OTHERS[what], 40))
    assert shift.seen_s - 40 < 6


def test_the_event_names_what_changed() -> None:
    (shift,) = shifts_of((Load(), 40), (OTHERS["power"], 40))
    assert shift.what == "power"
    assert shift.strength > 1


@pytest.mark.parametrize(("before_s", "after_s"), [(1.0, 1.7), (2.0, 1.2), (1.2, 2.4)])
def test_another_period_at_the_same_level_is_one_event(before_s: float, after_s: float) -> None:
    assert_one_shift(shifts_of((Load(period_s=before_s), 45), (Load(period_s=after_s), 45)), at_s=45, within_s=6)


def test_stationary_workloads_never_trigger() -> None:
    rng = np.random.default_rng(7)
    events = {}
    for seed in range(200):
        load = Load(
            shape=str(rng.choice(list(SHAPES))),
            period_s=float(np.exp(rng.uniform(np.log(0.2), np.log(5)))),
            depth=float(rng.uniform(0.05, 0.8)),
            jitter=float(rng.choice([0, 0.05, 0.1])),
            noise=float(rng.choice([0.01, 0.03, 0.1])),
        )
        if shifts := shifts_of((load, 50), seed=seed):
            events[load] = shifts
    assert events == {}


def test_a_cycle_that_was_seen_once_is_no_event() -> None:
    cycle = [(Load(), 3.0), (OTHERS["work mix"], 1.2)] * 20
    assert shifts_of(*cycle) == ()


@pytest.mark.parametrize("change", [-0.1, 0.1])
def test_slow_drift_of_power_is_no_event(change: float) -> None:
    t_s, values = recording((Load(), 180))
    values[:, 0] *= 1 + change * t_s / t_s[-1]
    assert detect_shifts(t_s, values, NAMES) == ()


def test_start_and_end_of_a_program_are_no_events() -> None:
    warm_up = replace(Load(), tensor_active=0.1, power_w=300.0)
    assert shifts_of((IDLE, 15), (warm_up, 5), (Load(), 40), (IDLE, 15)) == ()


def test_a_pause_is_no_event() -> None:
    assert shifts_of((Load(), 30), (IDLE, 6), (Load(), 30), (IDLE, 3), (Load(), 30)) == ()


def test_a_hiccup_of_a_second_is_no_event() -> None:
    assert shifts_of((Load(), 30), (IDLE, 1.2), (Load(), 30)) == ()


def test_another_program_after_a_pause_is_one_event_at_its_start() -> None:
    assert_one_shift(shifts_of((Load(), 30), (IDLE, 10), (OTHERS["work mix"], 30)), at_s=40)


def test_two_changes_are_two_events() -> None:
    third = replace(Load(), tensor_active=0.1, power_w=250.0)
    shifts = shifts_of((Load(), 40), (OTHERS["work mix"], 40), (third, 40))
    assert [round(shift.at_s, -1) for shift in shifts] == [40, 80]


def test_phases_that_alternate_are_silent_once_both_are_known() -> None:
    phases = [(Load(), 25.0), (OTHERS["work mix"], 25.0)] * 4
    assert [round(shift.at_s) for shift in shifts_of(*phases)] == [25, 50]


def test_power_alone_is_enough() -> None:
    t_s, values = recording((Load(), 40), (OTHERS["power"], 40))
    assert_one_shift(detect_shifts(t_s, values[:, :1], ("power_w",)), at_s=40)


def test_energy_is_heard_before_sampled_power() -> None:
    t_s, values = recording((Load(noise=0.0, depth=0.0), 80))
    energy_j = 100.0 + np.cumsum(values[:, 0]) * 0.1
    beating_w = values[:, 0] * np.where((t_s // 15) % 2, 0.7, 1.0)
    assert detect_shifts(t_s, np.stack([beating_w, energy_j], axis=1), ("power_w", "energy_j")) == ()


def test_utilisation_is_not_heard_as_a_level() -> None:
    t_s, values = recording((Load(), 80))
    beating = np.where((t_s // 15) % 2, 0.75, 1.0)
    assert detect_shifts(t_s, np.column_stack([values, beating]), (*NAMES, "gpu_util")) == ()


def commanded(pair: ClockPair) -> Load:
    """What a program looks like at another clock: other levels, the same mix."""
    clock = pair.sm_mhz / 1980
    speed = clock**0.7
    return replace(Load(), power_w=500 * clock**2, tensor_active=0.30 * speed / clock, dram_active=0.40 * speed)


def run_at_pairs(detector: ShiftDetector, *parts: tuple[ClockPair, Load]) -> list[Shift]:
    t_s, values = recording(*((load, 30.0) for _, load in parts))
    found = []
    for index in range(3 * len(parts)):
        here = slice(100 * index, 100 * (index + 1))
        shift = detector.update(window(t_s[here], values[here], parts[index // 3][0]))
        found += [shift] if shift else []
    return found


HIGH, LOW = ClockPair(sm_mhz=1980, mem_mhz=2619), ClockPair(sm_mhz=1200, mem_mhz=2619)


def test_a_commanded_clock_change_is_no_event() -> None:
    parts = [(HIGH, commanded(HIGH)), (LOW, commanded(LOW)), (HIGH, commanded(HIGH))]
    assert run_at_pairs(ShiftDetector(), *parts) == []


def test_the_work_mix_is_watched_across_a_clock_change() -> None:
    other = replace(commanded(LOW), tensor_active=0.15, dram_active=0.55)
    shifts = run_at_pairs(ShiftDetector(), (HIGH, commanded(HIGH)), (LOW, other))
    assert_one_shift(tuple(shifts), at_s=30)


def test_a_detector_can_be_told_of_a_clock_change() -> None:
    t_s, values = recording((Load(), 40), (commanded(LOW), 40))
    detector = ShiftDetector()
    assert detector.update(window(t_s[:400], values[:400])) is None
    detector.clocks_changed()
    assert detector.update(window(t_s[400:], values[400:])) is None


def test_clocks_that_follow_another_workload_do_not_hide_it() -> None:
    t_s, values = recording((Load(), 40), (replace(Load(), power_w=700.0), 40))
    sm_clock_mhz = np.where(t_s < 40, 1980.0, 1450.0)
    names = ("power_w", "sm_clock_mhz")
    assert_one_shift(detect_shifts(t_s, np.stack([values[:, 0], sm_clock_mhz], axis=1), names), at_s=40)


@pytest.mark.parametrize("window_s", [0.7, 10.0])
def test_windows_of_any_length_give_the_same_event(window_s: float) -> None:
    t_s, values = recording((Load(), 40), (OTHERS["power"], 40))
    detector = ShiftDetector()
    cuts = np.searchsorted(t_s, np.arange(window_s, t_s[-1], window_s))
    pieces = zip(np.split(t_s, cuts), np.split(values, cuts), strict=True)
    found = [shift for times, part in pieces if len(times) > 1 and (shift := detector.update(window(times, part)))]
    assert tuple(found) == detect_shifts(t_s, values, NAMES)


def test_reset_forgets_the_workload() -> None:
    t_s, values = recording((Load(), 40), (OTHERS["power"], 40))
    detector = ShiftDetector()
    detector.update(window(t_s[:400], values[:400]))
    detector.reset()
    assert detector.update(window(t_s[400:], values[400:])) is None


def test_dropouts_are_no_events() -> None:
    t_s, values = recording((Load(), 90))
    rng = np.random.default_rng(3)
    for begin in rng.integers(0, len(t_s), 12):
        values[begin : begin + 25, rng.random(4) < 0.5] = np.nan
    assert detect_shifts(t_s, values, NAMES) == ()


ODD: dict[str, tuple[Any, Any]] = {  # as above
    "no rows": (np.empty(0), np.empty((0, 4))),
    "two rows": (np.array([0.0, 0.1]), np.ones((2, 4))),
    "all NaN": (np.arange(900) * 0.1, np.full((900, 4), np.nan)),
    "all zero": (np.arange(900) * 0.1, np.zeros((900, 4))),
    "constant": (np.arange(900) * 0.1, np.full((900, 4), 0.5)),
    "unsorted": (np.random.default_rng(0).permutation(900) * 0.1, np.full((900, 4), 0.5)),
    "repeated times": (np.repeat(np.arange(300) * 0.3, 3), np.full((900, 4), 0.5)),
    "NaN times": (np.where(np.arange(900) % 7, np.arange(900) * 0.1, np.nan), np.full((900, 4), 0.5)),
    "negative": (np.arange(900) * 0.1, np.full((900, 4), -1.0)),
    "infinite": (np.arange(900) * 0.1, np.full((900, 4), np.inf)),
    "long gap": (np.concatenate((np.arange(450) * 0.1, 1e6 + np.arange(450) * 0.1)), np.full((900, 4), 0.5)),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_data_is_no_event(name: str) -> None:
    assert detect_shifts(*ODD[name], NAMES) == ()
