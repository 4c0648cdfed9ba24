from __future__ import annotations

import time

import pytest

from gpoeo_env.device.nvml.pacing import ticks
from gpoeo_env.device.nvml.reasons import reasons_in


def test_ticks_come_at_absolute_times() -> None:
    start_s = time.monotonic()
    came = []
    for _ in ticks(start_s, start_s + 0.1, 0.02):
        came.append(time.monotonic() - start_s)
        time.sleep(0.005)  # work that would add up if each wait began after it
    assert len(came) == 6
    assert all(0.0 <= at_s - number * 0.02 < 0.015 for number, at_s in enumerate(came))


def test_ticks_that_have_passed_are_counted_not_made_up_for() -> None:
    start_s = time.monotonic()
    missed = []
    for number, skipped in enumerate(ticks(start_s, start_s + 0.2, 0.02)):
        missed.append(skipped)
        if number == 1:
            time.sleep(0.09)
    assert len(missed) + sum(missed) == 11
    assert missed[2] in {3, 4}


def test_the_last_tick_comes_even_when_it_is_late() -> None:
    start_s = time.monotonic() - 1.0
    assert list(ticks(start_s, start_s + 0.1, 0.05)) == [0, 1]


@pytest.mark.parametrize(
    ("mask", "words"),
    [(0, ()), (0x102, ()), (0x1, ("GPU idle",)), (0x44, ("power cap", "thermal slowdown (hardware)"))],
)
def test_reasons_are_told_in_words_but_for_settings(mask: int, words: tuple[str, ...]) -> None:
    assert reasons_in(mask) == words
