"""A profile is what the device would have told, survives an interruption, and leaves out what was throttled."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpoeo_env.device.analytic import AnalyticDevice
from gpoeo_env.env.control import ControlLoop, ControlSettings
from gpoeo_env.errors import ArtefactError, UsageError
from gpoeo_env.records import Window
from gpoeo_env.runner.profile_journal import Entry, ProfileJournal
from gpoeo_env.runner.profile_plan import ProfilePlan, plan_profile
from gpoeo_env.runner.profiling import Profiled, profile
from gpoeo_env.sim.catalogue import load_gpu
from gpoeo_env.sim.suites.demo import demo_workloads

SETTINGS = ControlSettings(window_s=10.0, budget_s=1e9)
IDENTITY = {"device": "sim", "seed": 0}


def device(power_limit_w: float = 350.0) -> AnalyticDevice:
    gpu = load_gpu("rtx3080ti").model_copy(update={"power_limit_w": power_limit_w})
    return AnalyticDevice(gpu, demo_workloads(), noise=0.0)


def plan_of(opened: AnalyticDevice) -> ProfilePlan:
    return plan_profile(opened.clocks, opened.info.default_pair, window_s=10.0, budget_s=600.0)


def profiled(opened: AnalyticDevice, journal: ProfileJournal) -> Profiled:
    with ControlLoop(opened, SETTINGS) as loop:
        return profile(loop, plan_of(opened), journal, workload="bert-base", seed=0)


def journal_in(folder: Path, **more: object) -> ProfileJournal:
    journal = ProfileJournal(folder / "journal.jsonl", IDENTITY | more)
    journal.open()
    return journal


def test_without_noise_a_profile_is_the_truth(tmp_path: Path) -> None:
    opened = device()
    sweep = profiled(opened, journal_in(tmp_path)).sweep
    fresh = device()
    fresh.begin(0, "bert-base")
    truth = fresh.truth()
    actions = [fresh.clocks.action_of(pair) for pair in sweep.clocks]
    assert sweep.time_ratio == pytest.approx(truth.time[actions])
    assert sweep.energy_ratio == pytest.approx(truth.energy[actions])
    assert sweep.reference == fresh.info.default_pair
    assert "dram_active" in sweep.counter_names
    assert np.isfinite(sweep.counters).all()


def test_throttled_pairs_stay_out_and_are_named(tmp_path: Path) -> None:
    result = profiled(device(power_limit_w=240.0), journal_in(tmp_path))
    assert result.skipped
    assert set(result.skipped.values()) <= {"throttled", "not honoured"}
    assert not set(result.skipped) & set(result.sweep.clocks)


class InterruptedDevice(AnalyticDevice):
    """Ctrl-C in its twentieth window."""

    n_windows = 0

    def observe(self, seconds: float) -> Window:
        self.n_windows += 1
        if self.n_windows == 20:
            raise KeyboardInterrupt
        return super().observe(seconds)


def test_an_interrupted_profile_goes_on_to_the_same_sweep(tmp_path: Path) -> None:
    whole = profiled(device(), journal_in(tmp_path / "whole")).sweep
    interrupted = InterruptedDevice(load_gpu("rtx3080ti"), demo_workloads(), noise=0.0)
    with pytest.raises(KeyboardInterrupt):
        profiled(interrupted, journal_in(tmp_path / "parts"))
    again = journal_in(tmp_path / "parts")
    assert len(again.entries) == 19
    rest = profiled(device(), again).sweep
    assert rest.clocks == whole.clocks
    assert rest.time_ratio == pytest.approx(whole.time_ratio)
    assert rest.energy_ratio == pytest.approx(whole.energy_ratio)


class SilentDevice(AnalyticDevice):
    """Reports neither work nor counters that tell of it."""

    def observe(self, seconds: float) -> Window:
        window = super().observe(seconds)
        window.values[:, [1, *range(3, len(self.signals))]] = np.nan  # work and counters
        return window


def test_a_profile_without_progress_gives_up_and_names_the_ways_out(tmp_path: Path) -> None:
    silent = SilentDevice(load_gpu("rtx3080ti"), demo_workloads(), noise=0.0)
    with pytest.raises(UsageError, match=r"progress cannot be measured.*docs/marks\.md.*--window"):
        profiled(silent, journal_in(tmp_path))


def test_a_journal_of_another_profile_is_refused_with_the_difference(tmp_path: Path) -> None:
    journal_in(tmp_path)
    with pytest.raises(UsageError, match="seed = 0, and this one has 1"):
        journal_in(tmp_path, seed=1)


def test_a_journal_can_be_begun_anew(tmp_path: Path) -> None:
    journal_in(tmp_path).add(Entry(None, 1.0, 1.0, 200.0, {}))
    fresh = ProfileJournal(tmp_path / "journal.jsonl", IDENTITY)
    fresh.open(fresh=True)
    assert fresh.entries == []


def test_a_line_that_a_kill_cut_off_is_measured_again(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)
    journal.add(Entry(None, 1.0, 1.0, 200.0, {"sm_active": 0.5}))
    journal.add(Entry(None, 1.0, 1.0, 201.0, {"sm_active": 0.5}))
    text = journal.file.read_text()
    journal.file.write_text(text[:-10])
    again = journal_in(tmp_path)
    assert [entry.power_w for entry in again.entries] == [200.0]
    again.add(Entry(None, 1.0, 1.0, 202.0, {}))
    assert [entry.power_w for entry in journal_in(tmp_path).entries] == [200.0, 202.0]


def test_a_file_that_is_no_journal_is_refused(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").write_text("not a journal")
    with pytest.raises(ArtefactError, match="--fresh"):
        journal_in(tmp_path)
