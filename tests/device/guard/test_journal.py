from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gpoeo_env.device.guard.actuator import ClockRange
from gpoeo_env.device.guard.journal import Journal
from gpoeo_env.device.guard.processes import this_process
from gpoeo_env.errors import ArtefactError, UsageError
from tests.device.guard.place import GPU, Place


@pytest.fixture
def journal(place: Place) -> Journal:
    return Journal.of(place.actuator(), this_process(), pair="1200/5001", restore_to=ClockRange(210, 1410))


def test_a_journal_reads_back_as_it_was_written(journal: Journal) -> None:
    assert Journal.from_text(journal.to_text()) == journal


def test_what_is_optional_may_be_missing(journal: Journal) -> None:
    bare = replace(journal, pair=None, restore_to=None)
    assert Journal.from_text(bare.to_text()) == bare


def test_it_names_the_controller_without_its_arguments(journal: Journal) -> None:
    with open("/proc/self/comm", encoding="utf-8") as file:  # noqa: PTH123 - as the kernel says
        assert json.loads(journal.to_text())["command"] == file.read().strip()


def test_a_journal_is_of_this_boot_until_the_machine_boots(journal: Journal) -> None:
    assert journal.is_of_this_boot
    assert not replace(journal, boot_id="another").is_of_this_boot


def test_a_torn_journal_is_refused_wherever_it_is_torn(journal: Journal) -> None:
    text = journal.to_text().rstrip()
    for length in range(len(text)):
        with pytest.raises(ArtefactError, match="damaged"):
            Journal.from_text(text[:length])


def test_a_newer_version_is_refused_by_name(journal: Journal) -> None:
    text = json.dumps(json.loads(journal.to_text()) | {"version": 2})
    with pytest.raises(ArtefactError, match="version 2"):
        Journal.from_text(text)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("gpu_uuid", 7),
        ("factory", None),
        ("settings", []),
        ("domains", ["sm", "fan"]),
        ("restore_to", [1410, 210]),
        ("restore_to", [True, 2]),
        ("pid", "1"),
        ("pid", True),
        ("boot_id", None),
    ],
)
def test_a_wrong_field_is_named(journal: Journal, field: str, value: Any) -> None:  # Any: JSON
    text = json.dumps(json.loads(journal.to_text()) | {field: value})
    with pytest.raises(ArtefactError, match=field):
        Journal.from_text(text)


@pytest.mark.parametrize("text", ["210", "210,", "a,b", "1410,210", "0,10", "-1,5", "1,2,3"])
def test_what_is_no_clock_range_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="clock range"):
        ClockRange.parse(text)


def test_a_clock_range_reads_as_nvidia_smi_has_it() -> None:
    assert ClockRange.parse("210,1410") == ClockRange(210, 1410)


def test_the_uuid_is_that_of_the_actuator(journal: Journal) -> None:
    assert journal.gpu_uuid == GPU
