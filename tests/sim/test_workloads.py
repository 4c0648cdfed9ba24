from __future__ import annotations

from dataclasses import replace

import pytest

from gpoeo_env.errors import UsageError
from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.phases import Mix, Phase
from gpoeo_env.sim.workloads import Shift, Workload, placed


@pytest.mark.parametrize(
    ("field", "value"),
    [("memory_s", -1.0), ("host_s", float("nan")), ("overlap", 1.0), ("every", 0), ("pcie_bytes", -1)],
)
def test_a_phase_refuses_numbers_out_of_range(field: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"phase 'step': {field}"):
        replace(Phase(name="step", compute_s=0.1), **{field: value})  # type: ignore[arg-type]


def test_a_phase_that_takes_no_time_is_refused() -> None:
    with pytest.raises(UsageError, match="phase 'nothing' takes no time"):
        Phase(name="nothing")


@pytest.mark.parametrize(("field", "value"), [("tensor", 1.2), ("bandwidth", -0.1), ("toggling", float("inf"))])
def test_a_mix_refuses_numbers_out_of_range(field: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"mix: {field}"):
        replace(Mix(), **{field: value})


@pytest.mark.parametrize(("field", "value"), [("jitter", 1.0), ("length_sd", -0.1), ("drift_per_hour", 1.0)])
def test_a_workload_refuses_numbers_out_of_range(field: str, value: float, demo: dict[str, Workload]) -> None:
    with pytest.raises(UsageError, match=f"'gcn': {field}"):
        replace(demo["gcn"], **{field: value})  # type: ignore[arg-type]


def test_a_workload_without_gpu_work_in_every_iteration_is_refused() -> None:
    evaluation = Phase(name="evaluation", compute_s=0.1, every=5)
    with pytest.raises(UsageError, match="uses the GPU in every iteration"):
        Workload(name="w", family="f", phases=(Phase(name="wait", host_s=1.0), evaluation))


def test_a_shift_at_the_very_start_is_refused(demo: dict[str, Workload]) -> None:
    with pytest.raises(UsageError, match="after some work"):
        Shift(after_work=0.0, becomes=demo["gcn"])


def _card(gpu: Gpu, name: str, **peaks: float) -> Gpu:
    return gpu.model_copy(update={"name": name, "throughput": gpu.throughput.model_copy(update=peaks)})


def test_a_workload_stays_as_it_is_on_its_own_gpu(gpu: Gpu, demo: dict[str, Workload]) -> None:
    assert placed(demo["gcn"], gpu, gpu) is demo["gcn"]


def test_a_placed_workload_keeps_its_gpu_and_host_time(gpu: Gpu, demo: dict[str, Workload]) -> None:
    faster = _card(gpu, "faster", tensor_tflops=500.0, fp32_tflops=60.0, dram_gb_s=3000.0)
    for workload in demo.values():
        for before, after in zip(workload.phases, placed(workload, gpu, faster).phases, strict=True):
            assert after.compute_s + after.onchip_s + after.memory_s == pytest.approx(
                before.compute_s + before.onchip_s + before.memory_s
            )
            assert after.host_s == before.host_s


def test_more_arithmetic_for_the_same_bandwidth_shifts_the_balance_to_memory(
    gpu: Gpu, demo: dict[str, Workload]
) -> None:
    tensor_card = _card(gpu, "tensor card", tensor_tflops=4 * gpu.throughput.tensor_tflops)
    before, after = demo["bert-base"].phases[0], placed(demo["bert-base"], gpu, tensor_card).phases[0]
    assert after.memory_s / after.compute_s > 1.5 * before.memory_s / before.compute_s


def test_what_a_workload_becomes_is_placed_with_it(gpu: Gpu, demo: dict[str, Workload]) -> None:
    shifting = replace(demo["bert-base"], shift=Shift(after_work=10, becomes=demo["gcn"]))
    other = _card(gpu, "other", dram_gb_s=3000.0)
    moved = placed(shifting, gpu, other)
    assert moved.shift is not None
    assert moved.shift.becomes == placed(demo["gcn"], gpu, other)
