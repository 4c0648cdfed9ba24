"""Synthetic rhythms: what is reported is right, and what cannot be told is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from gpoeo_env.progress.period import PeriodEstimate, estimate_period

Floats = NDArray[np.float64]
Shape = Callable[[Floats], Floats]

SEEDS = range(5)


def square(phase: Floats) -> Floats:
    return np.where(phase < 0.6, 1.0, 0.2)


def four_phases(phase: Floats) -> Floats:
    return np.select([phase < 0.25, phase < 0.5, phase < 0.75], [0.9, 0.5, 0.8], 0.45)


def accumulation(phase: Floats) -> Floats:
    """Five micro-steps and an optimiser step."""
    micro = (phase / 0.9 * 5) % 1.0
    return np.where(phase > 0.9, 0.3, np.where(micro < 0.7, 0.9, 0.6))


def sparse_dip(phase: Floats) -> Floats:
    return np.where(phase < 0.06, 0.2, 0.9)


def validation(phase: Floats) -> Floats:
    """Eight iterations, then a validation."""
    iteration = (phase / 0.85 * 8) % 1.0
    return np.where(phase > 0.85, 0.4, np.where(iteration < 0.75, 0.95, 0.5))


def weak(phase: Floats) -> Floats:
    return 0.8 + 0.03 * np.sin(2 * np.pi * phase) + 0.02 * (phase < 0.3)


def polled(poll_s: float, duration_s: float, rng: np.random.Generator) -> Floats:
    """Times of polls, some late, some dropped."""
    t_s = np.arange(0, duration_s, poll_s)
    late_s = rng.exponential(0.03 * poll_s, len(t_s)) * (rng.uniform(size=len(t_s)) < 0.3)
    return np.sort(t_s + late_s)[rng.uniform(size=len(t_s)) > 0.02]


def cycle_starts(period_s: float, duration_s: float, jitter: float, drift: float, rng: np.random.Generator) -> Floats:
    count = int(duration_s / period_s * 1.5) + 5
    progress = np.arange(count) * period_s / duration_s - 0.5
    lengths_s = period_s * (1 + jitter * rng.standard_normal(count)) * (1 + drift * progress)
    return np.concatenate(([0.0], np.cumsum(lengths_s)))


def rhythm(
    shape: Shape,
    period_s: float,
    poll_s: float,
    seed: int,
    *,
    duration_s: float = 90.0,
    noise: float = 0.03,
    jitter: float = 0.0,
    drift: float = 0.0,
) -> tuple[Floats, Floats, float]:
    """Return times, values and the mean period of the cycles in them."""
    rng = np.random.default_rng(seed)
    t_s = polled(poll_s, duration_s, rng)
    starts_s = cycle_starts(period_s, duration_s, jitter, drift, rng)
    cycle = np.interp(t_s, starts_s, np.arange(len(starts_s)))
    values = shape(cycle % 1.0) + noise * rng.standard_normal(len(t_s))
    return t_s, values, float((t_s[-1] - t_s[0]) / (cycle[-1] - cycle[0]))


def of_power(t_s: Floats, values: Floats) -> PeriodEstimate:
    return estimate_period(t_s, (300 + 300 * values)[:, None], ("power_w",))


def of_counter(t_s: Floats, values: Floats) -> PeriodEstimate:
    return estimate_period(t_s, values[:, None], ("sm_active",))


def check(estimate: PeriodEstimate, period_s: float) -> None:
    """A period is right, or it is refused with a reason."""
    json.dumps(estimate.as_dict(), allow_nan=False)
    if estimate.is_periodic:
        multiple = max(1, round(estimate.period_s / period_s))
        assert multiple <= 8
        assert estimate.period_s == pytest.approx(multiple * period_s, rel=0.01)
        assert 0 < estimate.uncertainty_s < 0.01 * estimate.period_s
        assert 0.9 < estimate.confidence <= 1.0
    else:
        assert estimate.reason
        assert estimate.confidence == 0.0


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("poll_s", [0.1, 0.02])
@pytest.mark.parametrize(
    ("shape", "period_s"),
    [
        (square, 1.0),
        (square, 5.3),
        (four_phases, 5.3),
        (accumulation, 4.0),
        (sparse_dip, 3.0),
        (validation, 12.0),
        (square, 14.0),
    ],
)
def test_a_steady_rhythm_in_a_counter_is_found_to_a_thousandth(
    shape: Shape, period_s: float, poll_s: float, seed: int
) -> None:
    t_s, values, true_s = rhythm(shape, period_s, poll_s, seed)
    estimate = of_counter(t_s, values)
    assert estimate.kind == "periodic", estimate.reason
    assert estimate.period_s == pytest.approx(true_s, rel=0.001)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("poll_s", [0.1, 0.02])
@pytest.mark.parametrize(("shape", "period_s"), [(square, 5.3), (four_phases, 5.3), (sparse_dip, 8.0), (square, 12.0)])
def test_a_rhythm_that_is_slow_for_the_sensor_is_found_in_power_alone(
    shape: Shape, period_s: float, poll_s: float, seed: int
) -> None:
    t_s, values, true_s = rhythm(shape, period_s, poll_s, seed)
    estimate = of_power(t_s, values)
    assert estimate.kind == "periodic", estimate.reason
    assert estimate.period_s == pytest.approx(true_s, rel=0.001)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("period_s", "duration_s", "poll_s"), [(20.0, 160.0, 0.02), (20.0, 160.0, 0.1), (45.0, 330.0, 0.1)]
)
def test_long_periods_are_found_where_they_repeat_often_enough(
    period_s: float, duration_s: float, poll_s: float, seed: int
) -> None:
    t_s, values, true_s = rhythm(four_phases, period_s, poll_s, seed, duration_s=duration_s)
    estimate = of_power(t_s, values)
    assert estimate.kind == "periodic", estimate.reason
    assert estimate.period_s == pytest.approx(true_s, rel=0.002)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("poll_s", [0.1, 0.02])
@pytest.mark.parametrize(
    ("shape", "period_s", "disturbance"),
    [
        (square, 2.0, {"jitter": 0.1}),
        (square, 5.3, {"jitter": 0.1}),
        (square, 2.0, {"jitter": 0.01}),
        (square, 2.0, {"drift": 0.02}),
        (four_phases, 5.3, {"drift": 0.05}),
        (weak, 5.3, {"noise": 0.05}),
        (square, 20.0, {}),
        (square, 0.45, {}),
        (accumulation, 4.0, {}),
    ],
)
def test_a_difficult_rhythm_is_right_or_refused(
    shape: Shape, period_s: float, disturbance: dict[str, float], poll_s: float, seed: int
) -> None:
    t_s, values, true_s = rhythm(shape, period_s, poll_s, seed, **disturbance)
    check(of_power(t_s, values), true_s)
    check(of_counter(t_s, values), true_s)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_stated_uncertainty_covers_the_mean_cycle_of_a_wandering_rhythm(seed: int) -> None:
    t_s, values, true_s = rhythm(square, 1.0, 0.02, seed, jitter=0.01)
    estimate = of_counter(t_s, values)
    assert estimate.kind == "periodic", estimate.reason
    assert abs(estimate.period_s - true_s) < 3 * estimate.uncertainty_s


@pytest.mark.parametrize("seed", range(100))
@pytest.mark.parametrize("name", ["power_w", "sm_active"])
def test_noise_and_random_steps_are_never_periodic(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    t_s = np.arange(0, 90, 0.1)
    flat = 0.8 + 0.02 * rng.standard_normal(len(t_s))
    edges_s, levels = np.sort(rng.uniform(0, 90, 30)), rng.uniform(0.2, 1, 31)
    steps = levels[np.searchsorted(edges_s, t_s)] + 0.02 * rng.standard_normal(len(t_s))
    for values in (flat, steps):
        assert estimate_period(t_s, values[:, None], (name,)).kind == "aperiodic"


def micro_steps(
    seed: int, *, micro_s: float = 0.1086, refresh_s: float = 0.1
) -> tuple[Floats, Floats, tuple[str, ...]]:
    """Sixteen micro-steps and a short optimiser step, seen by sensors that refresh every 100 ms; polled at 50 Hz."""
    rng = np.random.default_rng(seed)
    fine_s = np.arange(0, 60, 0.001)
    in_iteration_s = fine_s % (16 * micro_s + 0.004)
    activity = np.where(in_iteration_s % micro_s < 0.6 * micro_s, 0.95, 0.45)
    activity[in_iteration_s > 16 * micro_s] = 0.1
    refreshes = np.arange(1, int(60 / refresh_s)) * round(refresh_s / 0.001)
    power_w = 200 + 400 * activity[refreshes] + 3 * rng.standard_normal(len(refreshes))
    done = np.concatenate(([0.0], np.cumsum(activity)))[refreshes] * 0.001
    active = np.diff(done, prepend=0.0) / refresh_s
    t_s = np.arange(0.2, 59, 0.02)
    latest = np.floor((t_s + 1e-9) / refresh_s).astype(int) - 1
    is_refreshed = np.diff(latest, prepend=latest[0] - 1) > 0
    counter = np.where(is_refreshed, active[latest], 0.0)
    return t_s, np.column_stack([power_w[latest], counter]), ("power_instant_w", "sm_active")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("columns", [(0,), (1,), (0, 1)])
def test_a_beat_of_micro_steps_with_the_refresh_is_refused_as_an_alias(columns: tuple[int, ...], seed: int) -> None:
    t_s, values, names = micro_steps(seed)
    chosen = list(columns)
    estimate = estimate_period(t_s, values[:, chosen], [names[column] for column in chosen])
    assert estimate.kind == "refused"
    assert "alias" in estimate.reason
    assert "109 ms" in estimate.reason or "108" in estimate.reason


@pytest.mark.parametrize("micro_s", [0.0417, 0.0523, 0.0934, 0.1007, 0.1533, 0.3313])
def test_no_length_of_micro_step_passes_for_a_wrong_period(micro_s: float) -> None:
    t_s, values, names = micro_steps(0, micro_s=micro_s)
    check(estimate_period(t_s, values, names), 16 * micro_s + 0.004)


def test_marks_confirm_a_period_that_could_be_an_alias() -> None:
    t_s, values, _ = rhythm(square, 2.0, 0.1, 0)
    assert of_power(t_s, values).kind == "refused"
    marked = estimate_period(t_s, values[:, None], ("power_w",), marks_s=np.arange(0, 90, 2.0))
    assert marked.period_s == pytest.approx(2.0, rel=0.001)


def test_marks_of_another_length_confirm_nothing() -> None:
    t_s, values, _ = rhythm(square, 2.0, 0.1, 0)
    assert estimate_period(t_s, values[:, None], ("power_w",), marks_s=np.arange(0, 90, 1.7)).kind == "refused"


def test_a_warm_up_of_another_pace_does_not_hide_the_present() -> None:
    t_s, values, _ = rhythm(square, 2.0, 0.05, 0)
    _, before, _ = rhythm(square, 1.3, 0.05, 1)
    size = min(len(values), len(before))
    mixed = np.where(t_s[:size] < 30, before[:size], values[:size])
    estimate = of_counter(t_s[:size], mixed)
    assert estimate.period_s == pytest.approx(2.0, rel=0.002)
    assert estimate.span_s[0] > 30


def test_idle_before_and_after_the_run_is_left_out() -> None:
    t_s, values, _ = rhythm(square, 2.0, 0.05, 0)
    with_idle = np.where((t_s > 30) & (t_s < 70), values, 0.01 * values)
    estimate = of_counter(t_s, with_idle)
    assert estimate.period_s == pytest.approx(2.0, rel=0.002)
    assert 28 < estimate.span_s[0] < 34
    assert 66 < estimate.span_s[1] < 72


def test_a_composite_with_mean_zero_has_the_same_period() -> None:
    t_s, values, true_s = rhythm(square, 5.3, 0.1, 0)
    estimate = estimate_period(t_s, (values - values.mean())[:, None], ("power_w",))
    assert estimate.period_s == pytest.approx(true_s, rel=0.001)


def test_the_order_of_rows_and_duplicates_do_not_matter() -> None:
    t_s, values, _ = rhythm(square, 5.3, 0.1, 0)
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(len(t_s)), 2))
    assert of_power(t_s[order], values[order]).period_s == of_power(t_s, values).period_s


@pytest.mark.parametrize("poll_s", [0.02, 0.05, 0.1])
def test_the_polling_rate_does_not_change_the_period(poll_s: float) -> None:
    t_s, values, true_s = rhythm(four_phases, 5.3, poll_s, 0)
    assert of_power(t_s, values).period_s == pytest.approx(true_s, rel=0.001)


def test_random_polling_times_do_not_change_the_period() -> None:
    rng = np.random.default_rng(0)
    t_s: Floats = np.add.accumulate(rng.uniform(0.06, 0.14, 900))
    values = four_phases(t_s / 5.3 % 1.0) + 0.03 * rng.standard_normal(len(t_s))
    assert of_power(t_s, values).period_s == pytest.approx(5.3, rel=0.001)


@pytest.mark.parametrize("name", ["power_w", "sm_active", "energy_j", "unheard_of"])
@pytest.mark.parametrize(
    "values",
    [
        np.full(600, 5.0),
        np.zeros(600),
        np.linspace(0, 1, 600),
        np.full(600, np.nan),
        np.array([1.0, 2.0]),
        np.empty(0),
        np.where(np.arange(600) == 300, 1.0, 0.0),
        np.arange(600) % 2.0,
        np.where(np.arange(600) % 7 == 0, np.inf, 1.0),
        1e300 * np.sin(np.arange(600.0)),
    ],
)
def test_odd_series_neither_crash_nor_give_a_period(values: Floats, name: str) -> None:
    estimate = estimate_period(np.arange(float(len(values))) * 0.1, values[:, None], (name,))
    assert not estimate.is_periodic
    assert math.isnan(estimate.period_s)
    assert estimate.as_dict()["period_s"] is None


def test_rows_at_one_instant_do_not_crash() -> None:
    values = np.random.default_rng(0).normal(size=(100, 1))
    assert estimate_period(np.zeros(100), values, ("power_w",)).kind == "aperiodic"


def test_no_channels_are_aperiodic() -> None:
    assert estimate_period(np.arange(50.0), np.empty((50, 0)), ()).kind == "aperiodic"


def test_missing_rows_and_times_are_tolerated() -> None:
    rng = np.random.default_rng(0)
    t_s, values, true_s = rhythm(square, 5.3, 0.1, 0)
    values[rng.uniform(size=len(t_s)) < 0.1] = np.nan
    t_s[rng.uniform(size=len(t_s)) < 0.05] = np.nan
    assert of_power(t_s, values).period_s == pytest.approx(true_s, rel=0.001)


def test_the_evidence_shows_the_line_of_the_period_and_its_profile() -> None:
    t_s, values, _ = rhythm(square, 5.3, 0.1, 0)
    evidence = of_power(t_s, values).evidence
    assert evidence is not None
    assert 1.0 / evidence.frequencies_hz[np.argmax(evidence.strength)] == pytest.approx(5.3, rel=0.02)
    assert np.ptp(evidence.profile) == pytest.approx(300 * 0.8, rel=0.2)
