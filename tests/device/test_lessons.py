"""What a policy may learn from: never what it is tested on."""

from __future__ import annotations

from gpoeo_env.clocks import ClockTable
from gpoeo_env.device.base import lessons_of
from gpoeo_env.device.opening import open_device
from gpoeo_env.device.replay import ReplayDevice
from gpoeo_env.trace.sweep import SweepSet


def test_a_recording_teaches_its_other_workloads(sweeps: SweepSet) -> None:
    taught = lessons_of(ReplayDevice(sweeps), "overclocked")

    assert taught is not None
    assert [sweep.workload for sweep in taught] == ["steady"]


def test_without_a_name_the_first_workload_is_meant(sweeps: SweepSet) -> None:
    taught = lessons_of(ReplayDevice(sweeps), None)

    assert taught is not None
    assert [sweep.workload for sweep in taught] == ["overclocked"]


def test_a_recording_of_one_workload_teaches_nothing(sweeps: SweepSet) -> None:
    alone = SweepSet(sweeps.gpu_name, sweeps.sweeps[:1], sweeps.provenance)

    assert lessons_of(ReplayDevice(alone), "steady") is None


def test_a_simulated_gpu_teaches_workloads_that_it_does_not_offer() -> None:
    with open_device("sim:rtx3080ti") as device:
        taught = lessons_of(device, device.info.workloads[0])

        assert taught
        assert not {sweep.workload for sweep in taught} & set(device.info.workloads)
        assert {sweep.clocks for sweep in taught} == {ClockTable(device.clocks)}


def test_both_kinds_of_simulated_gpu_teach_the_same() -> None:
    with open_device("sim:rtx3080ti") as by_window, open_device("sim-samples:rtx3080ti") as by_sample:
        first, second = lessons_of(by_window, None), lessons_of(by_sample, None)

    assert first is not None
    assert second is not None
    assert [sweep.workload for sweep in first] == [sweep.workload for sweep in second]
