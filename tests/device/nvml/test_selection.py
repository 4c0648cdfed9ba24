from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from gpoeo_env.device.nvml.gpu import GpuFacts
from gpoeo_env.device.nvml.opening import selected_gpus
from gpoeo_env.device.nvml.selection import selected, visible
from gpoeo_env.errors import UnknownNameError, UsageError
from tests.nvml_stand_in.fixtures import Elsewhere, MakeStandIn
from tests.nvml_stand_in.gpus import hand_made
from tests.nvml_stand_in.stand_in import StandIn

UUIDS = ("GPU-aaaa0000-1", "GPU-aaaa1111-2", "GPU-bbbb2222-3")


def machine(*names: str) -> tuple[GpuFacts, ...]:
    names = names or ("NVIDIA H200",) * len(UUIDS)
    return tuple(
        GpuFacts(
            index=index,
            uuid=uuid,
            name=name,
            architecture=9,
            is_persistent=True,
            is_mig=False,
            is_vgpu=False,
            power_limit_w=math.nan,
        )
        for index, (uuid, name) in enumerate(zip(UUIDS, names, strict=True))
    )


def indices(gpus: tuple[GpuFacts, ...]) -> list[int]:
    return [gpu.index for gpu in gpus]


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        (None, [0, 1, 2]),
        ("2,0", [2, 0]),
        (" 1 ", [1]),
        ("GPU-aaaa1111-2", [1]),
        ("GPU-aaaa1", [1]),
        ("GPU-bbbb,0", [2, 0]),
        ("1,-1,2", [1]),
    ],
)
def test_cuda_visible_devices_leaves_what_cuda_would_use(setting: str | None, expected: list[int]) -> None:
    environ = {} if setting is None else {"CUDA_VISIBLE_DEVICES": setting}
    assert indices(visible(machine(), environ)) == expected


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("", "hides every GPU"),
        ("-1", "hides every GPU"),
        ("0,0", "twice"),
        ("0,GPU-aaaa0000-1", "twice"),
        ("3", "unknown GPU of CUDA_VISIBLE_DEVICES='3' '3'"),
        ("MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f", "MIG instance"),
        ("GPU-aaaa", "write more of it"),
        ("GPU-cccc", "unknown GPU 'GPU-cccc'"),
        ("none", "unknown GPU 'none'"),
    ],
)
def test_a_setting_that_names_no_certain_gpu_is_an_error(setting: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        visible(machine(), {"CUDA_VISIBLE_DEVICES": setting})


def test_numbers_of_different_models_are_certain_only_in_the_order_of_the_bus() -> None:
    mixed = machine("NVIDIA H200", "NVIDIA T4", "NVIDIA H200")
    with pytest.raises(UsageError, match="CUDA_DEVICE_ORDER=PCI_BUS_ID"):
        visible(mixed, {"CUDA_VISIBLE_DEVICES": "1"})
    ordered = {"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert indices(visible(mixed, ordered)) == [1]
    assert indices(visible(mixed, {"CUDA_VISIBLE_DEVICES": "GPU-bbbb"})) == [2]


@pytest.mark.parametrize(
    ("wanted", "setting", "expected"),
    [
        ("0", None, [0]),
        ("0", "2,0", [2]),
        ("1", "2,0", [0]),
        ("2,0", None, [2, 0]),
        ("all", None, [0, 1, 2]),
        ("all", "2,0", [2, 0]),
        (None, "1", [1]),
        ("GPU-bbbb2222-3", "0", [2]),
        ("bbbb", None, [2]),
        ("aaaa1,0", None, [1, 0]),
    ],
)
def test_a_number_counts_as_the_training_process_counts(
    wanted: str | None, setting: str | None, expected: list[int]
) -> None:
    environ = {} if setting is None else {"CUDA_VISIBLE_DEVICES": setting}
    assert indices(selected(machine(), wanted, environ)) == expected


@pytest.mark.parametrize("wanted", ["3", "GPU-cccc", "", "-1", "1.5"])
def test_a_gpu_that_is_not_there_is_named_in_the_error(wanted: str) -> None:
    with pytest.raises(UnknownNameError, match=f"unknown GPU '{wanted}'"):
        selected(machine(), wanted, {})


def test_a_gpu_that_is_hidden_from_cuda_is_not_counted() -> None:
    with pytest.raises(UnknownNameError, match="unknown GPU '1'"):
        selected(machine(), "1", {"CUDA_VISIBLE_DEVICES": "2"})


def test_a_gpu_named_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="twice"):
        selected(machine(), "0,aaaa0", {})


def test_the_gpus_of_the_driver_are_found_by_their_uuid(
    make_stand_in: MakeStandIn, elsewhere_with: Callable[[StandIn], Elsewhere], monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = elsewhere_with(make_stand_in(*(hand_made(uuid=uuid) for uuid in UUIDS)))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,0")
    assert [gpu.uuid for gpu in elsewhere(selected_gpus, "0")] == [UUIDS[2]]
    assert [gpu.uuid for gpu in elsewhere(selected_gpus, None)] == [UUIDS[2], UUIDS[0]]
