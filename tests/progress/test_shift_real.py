"""Real training loops on an H200, as recorded and disturbed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpoeo_env.progress.shift import Shift, ShiftDetector, detect_shifts
from gpoeo_env.trace.logs import read_recording
from gpoeo_env.trace.recording import Recording

SHIFT_S = 32.8677
"""The last iteration of the first program in the marks of the recording `shift`."""
TRAINING = ("gpt2_accum", "gpt2_eval", "gcn", "resnet50_stall", "stream", "dcgan")
REFRESH = ("dcgan_20ms", "gpt2_accum_20ms", "gpt2_accum_random_60_140ms")
STEADY = (*TRAINING, *REFRESH)
SUBSETS: dict[str, Callable[[str], bool]] = {
    "no counters": lambda name: "active" not in name and "occupancy" not in name,
    "averaged power": lambda name: name == "power_w",
    "energy": lambda name: name == "energy_j",
    "interval counters": lambda name: name.endswith("_active"),
    "pipes": lambda name: name in ("tensor_active", "dram_active", "power_w"),
}


def recorded(shared_data: Path, name: str) -> Recording:
    folder = "h200_gpm_refresh" if name in REFRESH else "h200_training"
    return read_recording(shared_data / folder / f"{name}.csv")


def shifts_of(recording: Recording) -> tuple[Shift, ...]:
    return detect_shifts(recording.t_s, recording.values, recording.names)


def assert_the_shift(shifts: tuple[Shift, ...]) -> None:
    assert len(shifts) == 1
    assert abs(shifts[0].at_s - SHIFT_S) < 1.5
    assert shifts[0].seen_s - SHIFT_S < 6


def test_a_change_of_program_is_one_event(shared_data: Path) -> None:
    assert_the_shift(shifts_of(recorded(shared_data, "shift")))


@pytest.mark.parametrize("name", STEADY)
def test_one_program_from_start_to_end_is_no_event(shared_data: Path, name: str) -> None:
    assert shifts_of(recorded(shared_data, name)) == ()


@pytest.mark.parametrize("channels", SUBSETS)
@pytest.mark.parametrize("name", [*TRAINING, "shift"])
def test_some_channels_are_enough(shared_data: Path, name: str, channels: str) -> None:
    recording = recorded(shared_data, name)
    columns = [index for index, column in enumerate(recording.names) if SUBSETS[channels](column)]
    names = [recording.names[index] for index in columns]
    shifts = detect_shifts(recording.t_s, recording.values[:, columns], names)
    if name == "shift":
        assert_the_shift(shifts)
    else:
        assert shifts == ()


@pytest.mark.parametrize("name", [*STEADY, "shift"])
def test_other_polling_and_dropouts_change_nothing(shared_data: Path, name: str) -> None:
    recording = recorded(shared_data, name)
    rng = np.random.default_rng(5)
    is_kept = rng.random(len(recording.t_s)) > 0.3
    t_s, values = recording.t_s[is_kept], recording.values[is_kept]
    for begin in rng.integers(0, len(t_s), 5):
        values[begin : begin + 100, rng.random(values.shape[1]) < 0.5] = np.nan
    shifts = detect_shifts(t_s, values, recording.names)
    if name == "shift":
        assert_the_shift(shifts)
    else:
        assert shifts == ()


@pytest.mark.parametrize("name", STEADY)
def test_a_drift_of_power_is_no_event(shared_data: Path, name: str) -> None:
    recording = recorded(shared_data, name)
    values = recording.values.copy()
    power = [index for index, column in enumerate(recording.names) if column.startswith("power")]
    values[:, power] *= np.linspace(0.97, 1.03, len(values))[:, None]
    assert detect_shifts(recording.t_s, values, recording.names) == ()


def busy_span(recording: Recording) -> tuple[float, float]:
    active = recording.column("sm_active")
    assert active is not None
    busy_s = recording.t_s[np.nan_to_num(active) > 0.05]
    return float(busy_s[0]), float(busy_s[-1])


def joined(first: Recording, second: Recording, rng: np.random.Generator) -> tuple[Recording, float]:
    """Cut one recording somewhere in its load and go on somewhere in the load of another."""
    (begin_s, end_s), (other_begin_s, other_end_s) = busy_span(first), busy_span(second)
    cut_s, from_s = rng.uniform(begin_s + 17, end_s - 1), rng.uniform(other_begin_s + 1, other_end_s - 12)
    head, tail = first.t_s < cut_s, second.t_s >= from_s
    names = [name for name in first.names if name in second.names and name != "energy_j"]
    values = np.concatenate(
        [
            recording.values[rows][:, [recording.names.index(name) for name in names]]
            for recording, rows in ((first, head), (second, tail))
        ]
    )
    t_s = np.concatenate((first.t_s[head], second.t_s[tail] - from_s + cut_s))
    signals = tuple(first.signals[first.names.index(name)] for name in names)
    return Recording("joined", first.gpu_name, t_s, values, signals, first.provenance), cut_s


@pytest.mark.parametrize("first", ["gpt2_accum", "gcn", "resnet50_stall", "stream", "dcgan"])
def test_two_programs_after_one_another_are_one_event(shared_data: Path, first: str) -> None:
    rng = np.random.default_rng(1)
    for second in ("gpt2_eval", "gcn", "resnet50_stall", "stream", "dcgan"):
        if second == first or {first, second} == {"gpt2_accum", "gpt2_eval"}:  # the same network and batch
            continue
        recording, cut_s = joined(recorded(shared_data, first), recorded(shared_data, second), rng)
        shifts = shifts_of(recording)
        assert len(shifts) == 1, second
        assert abs(shifts[0].at_s - cut_s) < 1.5, second
        assert shifts[0].seen_s - cut_s < 6, second


def test_ten_second_windows_show_the_same_event(shared_data: Path) -> None:
    recording = recorded(shared_data, "shift")
    detector = ShiftDetector()
    found = [detector.update(recording.window(start_s, start_s + 10)) for start_s in np.arange(0.0, 50.0, 10.0)]
    assert_the_shift(tuple(shift for shift in found if shift is not None))
