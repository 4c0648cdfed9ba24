import numpy as np
import pytest
from numpy.typing import NDArray

from gpoeo_env.progress.series import Series
from gpoeo_env.progress.spectrum import spectrum_of, strongest_lines, without_trend

Floats = NDArray[np.float64]


def sampled(t_s: Floats, values: Floats, step_s: float) -> Series:
    return Series("power_w", t_s, values, step_s, is_integrated=False, is_ratio=False, repeats=False)


def noise(size: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=size)


@pytest.mark.parametrize("frequency_hz", [0.21, 0.7777, 3.3])
def test_the_strongest_line_is_the_frequency_of_a_sine(frequency_hz: float) -> None:
    t_s = np.arange(0, 60, 0.1)
    spectrum = spectrum_of(sampled(t_s, np.sin(2 * np.pi * frequency_hz * t_s) + 0.3 * noise(len(t_s)), 0.1))
    lines_hz, _ = strongest_lines(spectrum, 3, 12.0)
    assert lines_hz[0] == pytest.approx(frequency_hz, abs=0.1 * spectrum.resolution_hz)


def test_random_sampling_times_do_not_move_a_line() -> None:
    t_s: Floats = np.add.accumulate(np.random.default_rng(3).uniform(0.06, 0.14, 600))
    spectrum = spectrum_of(sampled(t_s, np.sin(2 * np.pi * 0.7777 * t_s) + 0.3 * noise(len(t_s)), 0.1))
    lines_hz, _ = strongest_lines(spectrum, 1, 12.0)
    assert lines_hz[0] == pytest.approx(0.7777, abs=0.1 * spectrum.resolution_hz)


@pytest.mark.parametrize("is_red", [False, True])
def test_noise_has_a_mean_strength_of_one_whatever_its_colour(is_red: bool) -> None:
    values: Floats = np.add.accumulate(noise(6000)) if is_red else noise(6000)
    spectrum = spectrum_of(sampled(np.arange(6000.0) * 0.1, values, 0.1))
    middle = spectrum.frequencies_hz > 0.2
    assert spectrum.strength[middle].mean() == pytest.approx(1.0, abs=0.15)


def test_noise_has_no_strong_lines() -> None:
    found = [
        len(strongest_lines(spectrum_of(sampled(np.arange(900.0) * 0.1, noise(900, seed), 0.1)), 5, 16.0)[0])
        for seed in range(50)
    ]
    assert sum(found) <= 1


def test_a_trend_is_no_line() -> None:
    t_s = np.arange(0, 60, 0.1)
    spectrum = spectrum_of(sampled(t_s, 5.0 * t_s + noise(len(t_s)), 0.1))
    assert len(strongest_lines(spectrum, 3, 16.0)[0]) == 0


def test_the_spectrum_ends_at_the_nyquist_rate_of_the_refresh() -> None:
    spectrum = spectrum_of(sampled(np.arange(0, 60, 0.1), noise(600), 0.1))
    assert spectrum.frequencies_hz[-1] == pytest.approx(5.0, abs=spectrum.step_hz)


def test_a_straight_line_without_its_trend_is_zero() -> None:
    t_s = np.array([0.0, 1.0, 4.0, 5.5])
    assert without_trend(t_s, 3.0 - 2.0 * t_s) == pytest.approx(0.0, abs=1e-12)
