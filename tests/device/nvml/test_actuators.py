from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpoeo_env.clocks import ClockPair
from gpoeo_env.device.guard.actuator import rebuild
from gpoeo_env.device.nvml.actuators import NvmlActuator
from gpoeo_env.device.nvml.command import CommandActuator, Commands
from gpoeo_env.device.nvml.opening import build
from gpoeo_env.errors import ConfigError, DeviceError, PermissionMissingError
from tests.device.nvml.scenes import OBSERVE, SITE_COMMANDS, observed, told_by, windows_at
from tests.nvml_stand_in.fixtures import Elsewhere, MakeStandIn
from tests.nvml_stand_in.gpus import hand_made
from tests.nvml_stand_in.process import Process
from tests.nvml_stand_in.stand_in import NO_PERMISSION, NOT_SUPPORTED, SetterCall, StandIn

LOW = ClockPair(600, 2000)
SETTERS = (
    "nvmlDeviceSetGpuLockedClocks",
    "nvmlDeviceResetGpuLockedClocks",
    "nvmlDeviceSetMemoryLockedClocks",
    "nvmlDeviceResetMemoryLockedClocks",
)
OURS = {name.removeprefix("nvmlDevice") for name in SETTERS}
SITE = {"actuator": "command", **SITE_COMMANDS}


def forbid(stand_in: StandIn) -> None:
    for setter in SETTERS:
        stand_in.fail(setter, NO_PERMISSION)


def lock_elsewhere(description_of: str, gpu_uuid: str, pair: ClockPair) -> None:
    actuator = (
        NvmlActuator(gpu_uuid) if description_of == "nvml" else CommandActuator(gpu_uuid, 0, Commands(**SITE_COMMANDS))
    )
    copy = rebuild(actuator.description, gpu_uuid)
    copy.lock(pair)


def hold_while_another_comes() -> str:
    with build(None, {}) as first:
        first.begin(None)
        first.set_clocks(LOW)
        try:
            build(None, {}).close()
        except DeviceError as error:
            return str(error)
    return ""


@dataclass(frozen=True)
class Run:
    """Three requests, from opening to closing."""

    calls: list[SetterCall]
    log: tuple[str, ...]
    locked_in_the_end: tuple[int, int]


@pytest.fixture(scope="module")
def run(nvml_process: Process, module_stand_in: StandIn) -> Run:
    _, log = Elsewhere(nvml_process, module_stand_in)(windows_at, [LOW, LOW, None, ClockPair(1800, 3000)])
    return Run(module_stand_in.calls(), log, module_stand_in.locked())


def test_only_locked_clocks_are_ever_set(run: Run) -> None:
    assert {call.name for call in run.calls} <= OURS


def test_the_memory_clock_is_locked_before_the_sm_clock_and_what_is_set_is_not_set_again(run: Run) -> None:
    locks = [(call.name, call.mhz) for call in run.calls if call.name.startswith("Set")]
    assert locks == [
        ("SetMemoryLockedClocks", (2000, 2000)),
        ("SetGpuLockedClocks", (600, 600)),
        ("SetMemoryLockedClocks", (3000, 3000)),
        ("SetGpuLockedClocks", (1800, 1800)),
    ]


def test_clocks_are_given_back_when_the_device_is_closed(run: Run) -> None:
    assert run.locked_in_the_end == (0, 0)


def test_the_first_lock_says_what_will_be_restored(run: Run) -> None:
    said = [line for line in run.log if "the driver's default will be restored" in line]
    assert len(said) == 1
    assert "--restore-to" in said[0]


def test_a_device_that_observes_calls_no_setter(elsewhere: Elsewhere, stand_in: StandIn) -> None:
    elsewhere(observed)
    assert stand_in.calls() == []


def test_a_device_that_observes_refuses_to_lock(elsewhere: Elsewhere, stand_in: StandIn) -> None:
    with pytest.raises(DeviceError, match="only observes"):
        elsewhere(windows_at, [LOW], settings=OBSERVE)
    assert stand_in.calls() == []


def test_missing_rights_are_found_when_the_device_is_opened_and_the_ways_out_are_named(
    elsewhere: Elsewhere, stand_in: StandIn
) -> None:
    forbid(stand_in)
    with pytest.raises(PermissionMissingError, match=r"root.*CAP_SYS_ADMIN.*actuator=command.*actuator=observe"):
        elsewhere(told_by)


def test_without_rights_observing_works(elsewhere: Elsewhere, stand_in: StandIn) -> None:
    forbid(stand_in)
    window, _ = elsewhere(observed)
    assert not math.isnan(window.rate("energy_j"))


def test_without_rights_the_gpu_stays_free_for_others(elsewhere: Elsewhere, stand_in: StandIn) -> None:
    forbid(stand_in)
    with pytest.raises(PermissionMissingError):
        elsewhere(told_by)
    for fault in stand_in.state.faults:
        fault.active = 0
    elsewhere(told_by)


@pytest.mark.parametrize("settings", [{}, SITE], ids=["nvml", "command"])
def test_a_range_that_an_operator_had_locked_is_restored(
    elsewhere: Elsewhere, stand_in: StandIn, settings: dict[str, object]
) -> None:
    elsewhere(windows_at, [LOW], settings={"restore_to": "600,1200", **settings})
    sm_calls = [call.mhz for call in stand_in.calls() if "Gpu" in call.name]
    assert sm_calls == [(600, 1200), (600, 600), (600, 1200)]


def test_persistence_mode_off_is_warned_about(
    make_stand_in: MakeStandIn, elsewhere_with: Callable[[StandIn], Elsewhere]
) -> None:
    told = elsewhere_with(make_stand_in(hand_made(is_persistent=False)))(told_by)
    assert any("persistence mode of GPU 0 is off" in line for line in told.log)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"is_mig": True}, "MIG instances"), ({"virtualization": 2}, "vGPU: no control, no energy; replay")],
)
def test_what_cannot_be_controlled_is_refused_with_the_reason_and_can_be_watched(
    make_stand_in: MakeStandIn,
    elsewhere_with: Callable[[StandIn], Elsewhere],
    settings: dict[str, object],
    message: str,
) -> None:
    elsewhere = elsewhere_with(make_stand_in(hand_made(**settings)))
    with pytest.raises(DeviceError, match=message):
        elsewhere(told_by)
    assert elsewhere(told_by, OBSERVE).pairs


def test_a_vgpu_that_reports_no_power_is_of_no_use(
    make_stand_in: MakeStandIn, elsewhere_with: Callable[[StandIn], Elsewhere]
) -> None:
    stand_in = make_stand_in(hand_made(virtualization=2))
    for function in ("nvmlDeviceGetPowerUsage", "nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetFieldValues"):
        stand_in.fail(function, NOT_SUPPORTED)
    with pytest.raises(DeviceError, match="this vGPU reports neither energy nor power; replay"):
        elsewhere_with(stand_in)(told_by, OBSERVE)


def test_another_process_builds_the_actuator_from_its_description(stand_in: StandIn) -> None:
    uuid = stand_in.state.gpus[0].uuid.decode()
    with stand_in.process() as process:
        for kind, pair in (("nvml", LOW), ("command", ClockPair(1200, 3000))):
            process.call(lock_elsewhere, kind, uuid, pair)
            assert stand_in.locked() == (pair.sm_mhz, pair.mem_mhz)


def test_a_second_controller_is_refused_and_changes_nothing(elsewhere: Elsewhere, stand_in: StandIn) -> None:
    message = elsewhere(hold_while_another_comes)
    assert "process" in message
    resets = [call for call in stand_in.calls() if call.name.startswith("Reset")]
    assert len(resets) == 4, "two when the first looked, two when it ended"


def test_commands_set_and_release_clocks(elsewhere: Elsewhere, stand_in: StandIn) -> None:
    (window,), _ = elsewhere(windows_at, [LOW], settings=SITE)
    assert window.observed == LOW
    assert stand_in.locked() == (0, 0)


def test_commands_without_one_for_memory_leave_it_alone(elsewhere: Elsewhere, stand_in: StandIn) -> None:
    commands = {name: template for name, template in SITE.items() if "memory" not in name}
    (window,), _ = elsewhere(windows_at, [ClockPair(600, 3000)], settings=commands)
    assert window.observed == ClockPair(600, 3000)
    assert {call.name for call in stand_in.calls()} == {"SetGpuLockedClocks", "ResetGpuLockedClocks"}


def test_a_command_that_fails_is_found_when_the_device_is_opened(elsewhere: Elsewhere, stand_in: StandIn) -> None:
    stand_in.fail("nvmlDeviceResetGpuLockedClocks", NOT_SUPPORTED)
    with pytest.raises(PermissionMissingError, match=r"site_clocks\.py release-sm .*exit code 1: .*Not Supported"):
        elsewhere(told_by, SITE)


@pytest.mark.parametrize(
    ("templates", "message"),
    [
        ({"lock_sm": "true {sm}"}, "both lock_sm and release_sm"),
        ({"lock_sm": "true {sm}", "release_sm": "true", "lock_memory": "true {mem}"}, "belong together"),
        ({"lock_sm": "true {volts}", "release_sm": "true"}, "nothing fills {volts}"),
        ({"lock_sm": "true {sm.real}", "release_sm": "true"}, "plain names"),
        ({"lock_sm": "true '{sm}", "release_sm": "true"}, "cannot be read"),
        ({"lock_sm": "no-such-program {sm}", "release_sm": "true"}, "no program 'no-such-program'"),
    ],
)
def test_templates_that_cannot_work_are_refused_at_once(templates: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Commands(**{"release_sm": "", **templates})


def test_what_is_filled_in_stays_one_word(tmp_path: Path) -> None:
    target = tmp_path / "made"
    actuator = CommandActuator(f"GPU-1; touch {target}", 0, Commands("test {uuid} = {sm}", "test -n {uuid}"))
    actuator.release_sm()
    with pytest.raises(DeviceError, match="exit code"):
        actuator.lock(LOW)
    assert not target.exists()
