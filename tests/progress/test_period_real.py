"""Real training loops on an H200 against the marks of the programs themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gpoeo_env.progress.period import PeriodEstimate, estimate_period
from gpoeo_env.trace.logs import read_recording
from gpoeo_env.trace.recording import Recording

Floats = NDArray[np.float64]

TRAINING = ("gpt2_accum", "gpt2_eval", "gcn", "resnet50_stall", "stream", "dcgan", "shift")
REFRESH = ("dcgan_20ms", "gpt2_accum_20ms", "gpt2_accum_random_60_140ms")
CUTS_S = ((0.0, 30.0), (17.3, 15.0), (17.3, 45.0), (24.1, 12.0), (24.1, 30.0), (30.0, 90.0))
SENSORS = ("power_w", "power_instant_w", "energy_j", "gpu_util", "mem_util")


def path_of(shared_data: Path, name: str) -> Path:
    return shared_data / ("h200_training" if name in TRAINING else "h200_gpm_refresh") / f"{name}.csv"


def true_periods(shared_data: Path, name: str) -> list[float]:
    """Iterations by kind of work, and the whole cycle where every few iterations are followed by an evaluation."""
    path = path_of(shared_data, name).with_suffix(".marks.csv")
    rows = [line.split(",") for line in path.read_text().split()[1:]]
    starts_s, kinds = np.array([float(row[0]) for row in rows]), np.array([row[2] for row in rows])
    if "iter+eval" in kinds:
        evaluations_s = starts_s[kinds == "iter+eval"]
        return [float(np.median(np.diff(starts_s))), float(np.mean(np.diff(evaluations_s)))]
    return [float(np.median(np.diff(starts_s[kinds == kind]))) for kind in set(kinds)]


def is_true(estimate: PeriodEstimate, truths_s: list[float], tolerance: float = 0.01) -> bool:
    ratios = [estimate.period_s / true_s for true_s in truths_s]
    return any(1 <= round(ratio) <= 8 and abs(ratio / round(ratio) - 1) <= tolerance for ratio in ratios)


def estimate_of(
    recording: Recording, rows: NDArray[np.intp] | slice = slice(None), names: tuple[str, ...] | None = None
) -> PeriodEstimate:
    columns = [i for i, name in enumerate(recording.names) if names is None or name in names]
    chosen = [recording.names[column] for column in columns]
    return estimate_period(recording.t_s[rows], recording.values[rows][:, columns], chosen)


@pytest.mark.parametrize("name", ["gcn", "resnet50_stall"])
def test_the_loops_with_pauses_are_resolved(shared_data: Path, name: str) -> None:
    estimate = estimate_of(read_recording(path_of(shared_data, name)))
    assert estimate.kind == "periodic", estimate.reason
    assert estimate.period_s == pytest.approx(true_periods(shared_data, name)[0], rel=0.003)
    assert abs(estimate.period_s - true_periods(shared_data, name)[0]) < 3 * estimate.uncertainty_s


def test_an_evaluation_every_few_iterations_gives_the_whole_cycle(shared_data: Path) -> None:
    estimate = estimate_of(read_recording(path_of(shared_data, "gpt2_eval")))
    assert estimate.kind == "periodic", estimate.reason
    assert estimate.period_s == pytest.approx(true_periods(shared_data, "gpt2_eval")[1], rel=0.005)


@pytest.mark.parametrize("name", ["gpt2_accum", "gpt2_accum_20ms", "gpt2_accum_random_60_140ms"])
def test_the_beat_of_the_micro_steps_is_refused_as_an_alias(shared_data: Path, name: str) -> None:
    estimate = estimate_of(read_recording(path_of(shared_data, name)))
    assert estimate.kind == "refused"
    assert "alias" in estimate.reason
    assert estimate.suspected_s == pytest.approx(1.24, abs=0.05)


@pytest.mark.parametrize("name", [*TRAINING, *REFRESH])
@pytest.mark.parametrize("channels", [None, SENSORS, ("power_w", "power_instant_w"), ("sm_active", "dram_active")])
def test_no_cut_and_no_choice_of_channels_gives_a_false_period(
    shared_data: Path, name: str, channels: tuple[str, ...] | None
) -> None:
    recording = read_recording(path_of(shared_data, name))
    truths_s = true_periods(shared_data, name)
    for start_s, length_s in CUTS_S:
        rows = np.flatnonzero((recording.t_s >= start_s) & (recording.t_s <= start_s + length_s))
        estimate = estimate_of(recording, rows, channels)
        assert not estimate.is_periodic or is_true(estimate, truths_s), (start_s, length_s, estimate)


@pytest.mark.parametrize("poll_s", [0.05, 0.1])
@pytest.mark.parametrize("name", ["gcn", "resnet50_stall"])
def test_slower_polling_gives_the_same_period(shared_data: Path, name: str, poll_s: float) -> None:
    recording = read_recording(path_of(shared_data, name))
    every = round(poll_s / 0.02)
    has_counters = np.isfinite(recording.values[:, recording.names.index("sm_active")])
    rows = np.flatnonzero(has_counters | (np.arange(len(recording.t_s)) % every == 0))
    estimate = estimate_of(recording, rows)
    assert estimate.kind == "periodic", estimate.reason
    assert is_true(estimate, true_periods(shared_data, name), tolerance=0.005)
