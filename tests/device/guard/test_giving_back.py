from __future__ import annotations

import logging

import pytest

from gpoeo_env.device.guard.actuator import ActuatorDescription, ClockRange, Domain, rebuild, undo_command
from gpoeo_env.device.guard.giving_back import give_back
from gpoeo_env.errors import GpoeoError, UsageError
from gpoeo_env.testing.clock_file import ClockFile, read_clock_file
from tests.device.guard.place import GPU, PAIR, Place


class WithoutRanges:
    """An actuator that can lock and release alone."""

    name = "plain"
    gpu_uuid = GPU
    domains: tuple[Domain, ...] = ("sm",)
    description = ActuatorDescription("nowhere:build")

    def lock(self, pair: object) -> None: ...

    def release_sm(self) -> None: ...

    def release_memory(self) -> None: ...


def test_what_was_set_last_is_given_back_first(place: Place) -> None:
    place.actuator().lock(PAIR)
    given = give_back(place.actuator())
    assert [event.domain for event in read_clock_file(place.gpu)] == ["sm", "memory", "memory", "sm"]
    assert (given.done, given.is_complete) == (("memory clock", "SM clock"), True)


def test_what_fails_is_said_and_the_rest_is_given_back(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    place.actuator().lock(PAIR)
    place.fail("memory")
    with caplog.at_level(logging.ERROR):
        given = give_back(place.actuator())
    assert place.locked() == {"memory": (5001, 5001)}
    assert (given.done, given.is_complete) == (("SM clock",), False)
    assert f"the memory clock of {GPU} could not be given back" in caplog.text


def test_a_stated_former_lock_is_restored(place: Place) -> None:
    place.actuator().lock(PAIR)
    give_back(place.actuator(), ClockRange(210, 1410))
    assert place.locked() == {"sm": (210, 1410)}


def test_an_actuator_without_ranges_says_that_it_cannot_restore_one() -> None:
    given = give_back(WithoutRanges(), ClockRange(210, 1410))
    assert given.failed == ("SM clock: actuator plain cannot lock a range; set 210,1410 MHz by hand",)


def test_an_actuator_is_built_again_from_its_description(place: Place) -> None:
    rebuild(place.actuator().description, GPU).lock(PAIR)
    assert place.locked() == {"sm": (1200, 1200), "memory": (5001, 5001)}


def test_a_factory_that_is_not_there_is_named() -> None:
    with pytest.raises(GpoeoError, match="no_such_module"):
        rebuild(ActuatorDescription("no_such_module:build"), GPU)


def test_a_factory_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot be called"):
        rebuild(ActuatorDescription("gpoeo_env.device.guard.journal:VERSION"), GPU)


def build_for_another_gpu(_gpu_uuid: str, _settings: object) -> WithoutRanges:
    return WithoutRanges()


def test_an_actuator_for_another_gpu_is_refused() -> None:
    with pytest.raises(GpoeoError, match=f"asked for GPU-2 and built {GPU}"):
        rebuild(ActuatorDescription(f"{__name__}:build_for_another_gpu"), "GPU-2")


def test_the_plain_commands_do_the_same_in_the_same_order() -> None:
    undo = "nvidia-smi -i GPU-1 --reset-memory-clocks && nvidia-smi -i GPU-1 --reset-gpu-clocks"
    assert undo_command("GPU-1", ClockFile.domains) == undo


def test_the_plain_command_restores_a_stated_lock() -> None:
    assert undo_command("GPU-1", ("sm",), ClockRange(210, 1410)) == "nvidia-smi -i GPU-1 --lock-gpu-clocks=210,1410"
