"""Recordings at a glance."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from gpoeo_env.signals import POWER
from gpoeo_env.trace.recording import Recording
from gpoeo_env.trace.recording_facts import recording_facts


def test_times_and_gaps_are_summarised(recording: Recording) -> None:
    facts = recording_facts(replace(recording, t_s=np.array([10.0, 10.5, 11.0, 11.5, 14.5])))

    assert (facts.n_rows, facts.start_s, facts.end_s) == (5, 10.0, 14.5)
    assert (facts.poll_s, facts.longest_gap_s) == (0.5, 3.0)


def test_missing_values_count_as_missing_and_for_nothing_else(recording: Recording) -> None:
    power = recording_facts(recording).signals[2]

    assert power.signal == POWER
    assert power.missing == pytest.approx(0.2)
    assert (power.least, power.median, power.most) == (100.0, 120.0, 130.0)


def test_a_signal_without_any_value_has_no_range(recording: Recording) -> None:
    silent = recording_facts(replace(recording, values=np.full((5, 4), np.nan))).signals[0]

    assert silent.missing == 1.0
    assert all(map(math.isnan, (silent.least, silent.median, silent.most, silent.refresh_s)))


def test_the_refresh_of_a_sensor_is_found_in_its_repeats(recording: Recording) -> None:
    t_s = np.linspace(0.0, 19.98, 1000)
    held = np.repeat(np.arange(200.0), 5)  # a new value every 100 ms
    series = replace(recording, t_s=t_s, values=held[:, None], signals=(POWER,))

    assert recording_facts(series).signals[0].refresh_s == pytest.approx(0.1, rel=0.02)
