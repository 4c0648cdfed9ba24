"""Raw recordings played as a device: a program of three phases, logged at three clocks as a poller of 20 ms would.

At 1500 MHz a lap takes 2.0 s: 1.0 s of arithmetic (as fast as the SM clock), 0.4 s in which the host works and 0.6 s of
memory traffic (as fast at any clock). Power is 300 W, 100 W and 200 W; in the first phase it falls with the clock.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpoeo_env.clocks import ClockPair
from gpoeo_env.device.base import lessons_of
from gpoeo_env.device.measured_sweep import measured_sweeps
from gpoeo_env.device.opening import open_device
from gpoeo_env.device.recorded_run import RecordedRun
from gpoeo_env.device.recordings import RecordingsDevice
from gpoeo_env.device.replay import ReplayDevice
from gpoeo_env.errors import ClockNotSupportedError, ConfigError, TraceError, UsageError
from gpoeo_env.records import Window
from gpoeo_env.signals import ENERGY, POWER, SM_CLOCK, Behaviour, Signal
from gpoeo_env.testing.devices import DEVICE_CONTRACT, DeviceCheck
from gpoeo_env.trace.recording import Recording
from gpoeo_env.trace.recording_set import LockedRecording, RecordingSet
from gpoeo_env.trace.recording_set_store import write_recording_set
from gpoeo_env.trace.sweep import Provenance, SweepSet

ROW_S = 0.02
MEM_MHZ = 5000
TOP_MHZ = 1500
ORIGIN = Provenance("made for a test", "2026-01-01T00:00:00Z", "test", is_simulated=True, is_relative=False)
SIGNALS = (
    *(Signal(name, "1", Behaviour.INTERVAL) for name in ("graphics_active", "sm_active", "fp32_active", "dram_active")),
    POWER,
    ENERGY,
    SM_CLOCK,
)
SIGNALS_BY_NAME = {signal.name: index for index, signal in enumerate(SIGNALS)}


def pair_at(sm_mhz: int) -> ClockPair:
    return ClockPair(sm_mhz, MEM_MHZ)


def lap_s(sm_mhz: int) -> float:
    """Return how long a lap takes: rows of 20 ms divide every phase."""
    return 1.0 * TOP_MHZ / sm_mhz + 0.6 + 0.4


def lap_j(sm_mhz: int) -> float:
    """Return what a lap costs."""
    return 1.0 * TOP_MHZ / sm_mhz * arithmetic_w(sm_mhz) + 0.6 * 200.0 + 0.4 * 100.0


def arithmetic_w(sm_mhz: int) -> float:
    return 300.0 * (sm_mhz / TOP_MHZ) ** 2


def recording(sm_mhz: int, *, head_s: float = 1.0, tail_s: float = 2.0) -> Recording:
    """Log one lap, with an idle head and tail. The host works between the two kinds of kernels."""
    phases = [  # seconds, graphics, sm, fp32, dram, watts, clock
        (head_s, 0.0, 0.0, 0.0, 0.0, 50.0, 210.0),
        (1.0 * TOP_MHZ / sm_mhz, 0.9, 0.9, 0.5, 0.1, arithmetic_w(sm_mhz), sm_mhz),
        (0.4, 0.0, 0.0, 0.0, 0.0, 100.0, sm_mhz),
        (0.6, 0.9, 0.7, 0.0, 0.8, 200.0, sm_mhz),
        (tail_s, 0.0, 0.0, 0.0, 0.0, 50.0, 210.0),
    ]
    rows = np.concatenate([np.tile(phase[1:], (round(phase[0] / ROW_S), 1)) for phase in phases])
    energy_j = 12345.678 + np.concatenate(([0.0], np.cumsum(rows[1:, 4] * ROW_S)))
    values = np.column_stack([rows[:, :5], energy_j, rows[:, 5]])
    # The traffic of the arithmetic is spread over its time, so that a lap's work is the same at any clock.
    is_arithmetic = values[:, 2] > 0
    values[is_arithmetic, 3] *= sm_mhz / TOP_MHZ
    return Recording(
        f"made at {sm_mhz}", "a small gpu", np.arange(len(values), dtype=np.float64) * ROW_S, values, SIGNALS, ORIGIN
    )


def recordings(*sm_mhz: int, workloads: tuple[str, ...] = ("made", "copied")) -> RecordingSet:
    runs = [
        LockedRecording(workload, pair_at(mhz), recording(mhz))
        for workload in workloads
        for mhz in sm_mhz or (750, 1000, 1500)
    ]
    return RecordingSet("a small gpu", pair_at(max(run.pair.sm_mhz for run in runs)), tuple(runs), ORIGIN)


@pytest.fixture
def device() -> RecordingsDevice:
    return RecordingsDevice(recordings())


def column(window: Window, name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    found = window.column(name)
    assert found is not None
    return found.ravel()


@pytest.mark.parametrize("check", DEVICE_CONTRACT, ids=str)
def test_it_keeps_every_clause_of_a_device(check: DeviceCheck) -> None:
    check.run(lambda: RecordingsDevice(recordings()))


# One run.


@pytest.mark.parametrize("sm_mhz", [750, 1000, 1500])
def test_a_lap_is_the_program_without_the_loggers_waiting(sm_mhz: int) -> None:
    run = RecordedRun.of(recording(sm_mhz))

    assert run.lap_s == pytest.approx(lap_s(sm_mhz))
    assert run.totals[-1, SIGNALS.index(ENERGY)] == pytest.approx(lap_j(sm_mhz), rel=1e-6)


def test_a_late_word_of_the_engine_belongs_to_no_lap() -> None:
    logged = recording(1500)
    logged.values[-20, SIGNALS_BY_NAME["graphics_active"]] = 0.02

    assert RecordedRun.of(logged).lap_s == pytest.approx(lap_s(1500))


def test_what_the_host_does_after_the_context_was_made_belongs_to_the_lap() -> None:
    logged = recording(1500)
    logged.values[20, SIGNALS_BY_NAME["graphics_active"]] = 0.1

    assert RecordedRun.of(logged).lap_s == pytest.approx(lap_s(1500) + 1.0 - 20 * ROW_S)


def test_without_activity_the_whole_recording_is_a_lap() -> None:
    logged = recording(1500)
    power_only = replace(logged, values=logged.values[:, 4:], signals=SIGNALS[4:])

    assert RecordedRun.of(power_only).lap_s == pytest.approx(logged.duration_s + ROW_S)


def test_a_counter_with_gaps_grows_by_the_same_a_lap() -> None:
    whole, gappy = recording(1500), recording(1500)
    energy = SIGNALS.index(ENERGY)
    gappy.values[60:70, energy] = np.nan
    one, other = RecordedRun.of(whole), RecordedRun.of(gappy)

    assert other.totals[-1, energy] == one.totals[-1, energy]
    assert np.isnan(other.values_at(np.arange(5, 30))[:, energy]).sum() == 10


def test_the_same_share_of_work_is_found_in_another_recording() -> None:
    fast, slow = RecordedRun.of(recording(1500)), RecordedRun.of(recording(750))
    middle_of_the_arithmetic = round(0.5 / ROW_S)

    there = slow.row_of_share(fast.share_at(middle_of_the_arithmetic))

    assert there * ROW_S == pytest.approx(1.0, abs=2 * ROW_S)


def test_in_a_pause_the_middle_of_the_pause_is_meant() -> None:
    run = RecordedRun.of(recording(1500))
    in_the_pause = round(1.1 / ROW_S)

    assert run.row_of_share(run.share_at(in_the_pause)) * ROW_S == pytest.approx(1.2, abs=2 * ROW_S)


# The device.


def test_windows_hold_the_rows_that_were_logged(device: RecordingsDevice) -> None:
    device.begin(0, "made")
    device.set_clocks(pair_at(1000))

    window = device.observe(3 * lap_s(1000))

    logged = {tuple(row) for row in recording(1000).values[:, :5].tolist()}
    assert {tuple(row) for row in window.values[:, :5].tolist()} <= logged


def test_whole_laps_cost_what_was_recorded(device: RecordingsDevice) -> None:
    for sm_mhz in (1500, 750):
        device.begin(3, "made")
        device.set_clocks(pair_at(sm_mhz))
        window = device.observe(10 * lap_s(sm_mhz))
        assert window.rate(ENERGY.name) == pytest.approx(lap_j(sm_mhz) / lap_s(sm_mhz), rel=0.01)


def test_released_clocks_play_the_reference(device: RecordingsDevice) -> None:
    device.begin(0, "made")
    released = device.observe(4.0)
    device.begin(0, "made")
    device.set_clocks(pair_at(1500))

    np.testing.assert_array_equal(released.values, device.observe(4.0).values)
    assert released.requested is None
    assert released.observed == pair_at(1500)


def test_a_pair_without_a_recording_is_refused(device: RecordingsDevice) -> None:
    device.begin(0, "made")

    with pytest.raises(ClockNotSupportedError, match="no clock pair 1200/5000 MHz"):
        device.set_clocks(pair_at(1200))


def test_a_change_of_clocks_keeps_the_place_in_the_program(device: RecordingsDevice) -> None:
    for seed in range(8):
        device.begin(seed, "made")
        device.observe(1.0)
        before = device.observe(ROW_S)
        device.set_clocks(pair_at(750))
        after = device.observe(ROW_S)
        assert column(after, "dram_active")[0] > 0.3 or column(before, "dram_active")[-1] < 0.3
        assert after.t_s[0] == pytest.approx(before.t_s[-1])
        assert column(after, ENERGY.name)[0] == column(before, ENERGY.name)[-1]


def test_seeds_begin_at_different_places(device: RecordingsDevice) -> None:
    starts = set()
    for seed in range(6):
        device.begin(seed, "made")
        starts.add(tuple(column(device.observe(1.0), POWER.name).tolist()))

    assert len(starts) >= 4


def test_it_is_opened_by_its_spec(tmp_path: Path) -> None:
    file = tmp_path / "made.recordings.parquet"
    write_recording_set(file, recordings())

    with open_device(f"recordings:{file}") as opened:
        assert opened.info.workloads == ("made", "copied")
        assert opened.info.is_simulated
    with pytest.raises(ConfigError, match="noise"):
        open_device(f"recordings:{file},noise=0.01")
    with pytest.raises(UsageError, match="needs a recording set"):
        open_device("recordings")


# What can be learned from recordings.


@pytest.fixture
def swept() -> SweepSet:
    return measured_sweeps(RecordingsDevice(recordings()), ["made"], window_s=200.0)


def test_a_measured_sweep_has_the_ratios_of_the_laps(swept: SweepSet) -> None:
    truth = swept.named("made").truth()

    for action, sm_mhz in enumerate((750, 1000, 1500), start=1):
        assert truth.time[action] == pytest.approx(lap_s(sm_mhz) / lap_s(1500), rel=0.02)
        assert truth.energy[action] == pytest.approx(lap_j(sm_mhz) / lap_j(1500), rel=0.02)


def test_a_measured_sweep_can_be_replayed(swept: SweepSet) -> None:
    with ReplayDevice(swept, noise=0.0) as replayed:
        replayed.begin(0)
        assert replayed.observe(10.0).rate(ENERGY.name) == pytest.approx(lap_j(1500) / lap_s(1500), rel=0.01)


def test_its_counters_are_those_of_an_interval(swept: SweepSet) -> None:
    assert swept.sweeps[0].counter_names == ("graphics_active", "sm_active", "fp32_active", "dram_active")
    assert swept.provenance.is_simulated


def test_a_device_teaches_its_other_workloads_and_stays_where_it_is(device: RecordingsDevice) -> None:
    device.begin(0, "made")
    device.observe(1.0)
    lessons = lessons_of(device, "made")

    assert lessons is not None
    assert [sweep.workload for sweep in lessons] == ["copied"]
    assert device.observe(1.0).t_s[0] == pytest.approx(1.0)


def test_recordings_of_one_workload_teach_nothing() -> None:
    assert lessons_of(RecordingsDevice(recordings(workloads=("alone",))), None) is None


def test_work_that_cannot_be_measured_makes_no_sweep() -> None:
    def blind(logged: Recording) -> Recording:
        return replace(logged, values=logged.values[:, 4:], signals=SIGNALS[4:])

    runs = tuple(replace(run, recording=blind(run.recording)) for run in recordings().runs)
    with pytest.raises(TraceError, match="cannot be measured at the default"):
        measured_sweeps(RecordingsDevice(replace(recordings(), runs=runs)), ["made"], window_s=20.0)


def test_a_sweep_needs_a_workload(device: RecordingsDevice) -> None:
    with pytest.raises(UsageError, match="at least one workload"):
        measured_sweeps(device, [], window_s=20.0)
