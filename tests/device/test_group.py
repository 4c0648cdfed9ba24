from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.device.base import DeviceInfo
from gpoeo_env.device.group import GroupDevice
from gpoeo_env.device.group_window import merged
from gpoeo_env.errors import ClockNotSupportedError, DeviceError, UsageError
from gpoeo_env.progress.group_meter import GroupMeter
from gpoeo_env.progress.meter import WorkCounterMeter
from gpoeo_env.records import Settle, Window, WindowEnd
from gpoeo_env.signals import ENERGY, POWER, SM_CLOCK, TEMPERATURE, THROTTLE_REASONS, WORK, Signal

TABLE = ClockTable.from_product(sm_mhz=(900, 1200), mem_mhz=(5000,))
SIGNALS = (ENERGY, WORK, POWER, SM_CLOCK, TEMPERATURE, THROTTLE_REASONS)


class ByHand:
    """A live GPU of which a test says what it shows."""

    missed_ticks = 2

    def __init__(
        self,
        *,
        watts: float = 100.0,
        work_rate: float = 1.0,
        name: str = "A",
        clocks: ClockTable = TABLE,
        fault: Exception | None = None,
    ) -> None:
        self.info = DeviceInfo("live", name, (), None, 300.0, "by hand", is_deterministic=False)
        self.clocks = clocks
        self.signals: tuple[Signal, ...] = SIGNALS
        self.watts, self.work_rate, self.fault = watts, work_rate, fault
        self.pair: ClockPair | None = None
        self.is_closed = False
        self.waited_s = math.nan
        self.is_over: Callable[[], bool] = lambda: False

    def end_when(self, is_over: Callable[[], bool]) -> None:
        self.is_over = is_over

    def begin(self, seed: int | None, workload: str | None = None) -> None:  # noqa: ARG002 - as the protocol has it
        self.pair = None

    def set_clocks(self, pair: ClockPair | None) -> None:
        self.pair = pair

    def observe(self, seconds: float) -> Window:
        if self.fault is not None:
            raise self.fault
        start_s = time.monotonic()
        while time.monotonic() < start_s + seconds and not self.is_over():
            time.sleep(0.005)
        self.waited_s = time.monotonic() - start_s
        return window(self.watts, self.work_rate, requested=self.pair)

    def close(self) -> None:
        self.is_closed = True


def window(
    watts: float, work_rate: float = 1.0, *, celsius: float = 50.0, requested: ClockPair | None = None
) -> Window:
    t_s = np.array([0.0, 1.0, 2.0])
    sm_mhz = requested.sm_mhz if requested else 1200
    columns = [watts * t_s, work_rate * t_s, *(np.full(3, value) for value in (watts, sm_mhz, celsius, 0.0))]
    return Window(
        t_s=t_s,
        values=np.column_stack(columns),
        signals=SIGNALS,
        requested=requested,
        observed=requested or ClockPair(1200, 5000),
    )


def group_of(*members: ByHand) -> GroupDevice:
    return GroupDevice(members)


# What is seen


def test_energy_and_power_are_summed_clocks_averaged_and_the_hottest_counts() -> None:
    parts = [window(100, celsius=50), replace(window(200, celsius=70), observed=ClockPair(900, 5000))]
    together = merged(parts, SIGNALS)
    assert together.rate("energy_j") == pytest.approx(300)
    assert together.mean(POWER) == pytest.approx(300)
    assert together.mean(TEMPERATURE) == 70
    assert together.mean(SM_CLOCK) == 1200
    assert together.observed == ClockPair(900, 5000)
    assert together.parts == tuple(parts)


def test_rows_that_were_not_taken_at_the_same_time_are_paired_with_the_nearest() -> None:
    late = window(200)
    late = replace(late, t_s=late.t_s + 0.1)
    assert merged([window(100), late], SIGNALS).mean(POWER) == pytest.approx(300)


def test_a_counter_that_one_gpu_lacks_is_not_the_counter_of_the_group() -> None:
    broken = window(200)
    broken.values[:, SIGNALS.index(ENERGY)] = math.nan
    assert math.isnan(merged([window(100), broken], SIGNALS).rate("energy_j"))


def test_reasons_for_low_clocks_are_those_of_all() -> None:
    parts = [replace(window(100), throttle_reasons=("power cap",)), window(100)]
    parts[1].values[:, SIGNALS.index(THROTTLE_REASONS)] = 4
    together = merged(parts, SIGNALS)
    assert together.throttle_reasons == ("power cap",)
    column = together.column(THROTTLE_REASONS.name)
    assert column is not None
    assert set(column.tolist()) == {4.0}


def test_the_wait_is_that_of_the_slowest_and_the_others_go_on_meanwhile() -> None:
    parts = [replace(window(100), settle=Settle(2.0, 200.0)), replace(window(100), settle=Settle(1.0, 100.0))]
    settle = merged(parts, SIGNALS).settle
    assert (settle.seconds, settle.joules) == (2.0, 400.0)


@pytest.mark.parametrize("end", [WindowEnd.LOST, WindowEnd.OVERHEATED, WindowEnd.WORK_DONE])
def test_one_that_ends_ends_the_group_and_the_graver_reason_counts(end: WindowEnd) -> None:
    parts = [window(100), replace(window(100), end=end), replace(window(100), end=WindowEnd.WORK_DONE)]
    assert merged(parts, SIGNALS).end is end


def test_progress_is_that_of_the_slowest_against_its_own_first_window() -> None:
    meter = GroupMeter(2, lambda: [WorkCounterMeter()])
    first = meter.measure(merged([window(1, 10.0), window(1, 0.5)], SIGNALS))
    second = meter.measure(merged([window(1, 9.0), window(1, 0.4)], SIGNALS))
    assert first.work_rate == pytest.approx(1.0)
    assert second.work_rate == pytest.approx(0.8)
    meter.reset()
    assert meter.measure(merged([window(1, 9.0), window(1, 0.4)], SIGNALS)).work_rate == pytest.approx(1.0)


def test_where_one_gpu_shows_no_progress_the_group_shows_none_and_says_which() -> None:
    still = window(1)
    still.values[:, SIGNALS.index(WORK)] = math.nan
    progress = GroupMeter(2, lambda: [WorkCounterMeter()]).measure(merged([window(1), still], SIGNALS))
    assert math.isnan(progress.work_rate)
    assert progress.reason.startswith("GPU 2 of the group: ")


# What is done


def test_every_member_gets_the_same_pair() -> None:
    members = [ByHand(), ByHand()]
    with group_of(*members) as group:
        group.begin(None)
        group.set_clocks(ClockPair(900, 5000))
        assert [member.pair for member in members] == [ClockPair(900, 5000)] * 2
        group.set_clocks(None)
        assert [member.pair for member in members] == [None] * 2
    assert [member.is_closed for member in members] == [True] * 2


def test_only_pairs_that_all_offer_are_offered() -> None:
    fewer = ByHand(clocks=ClockTable.from_product(sm_mhz=(1200,), mem_mhz=(5000,)))
    member = ByHand()
    with group_of(member, fewer) as group:
        assert group.clocks.pairs == (ClockPair(1200, 5000),)
        with pytest.raises(ClockNotSupportedError):
            group.set_clocks(ClockPair(900, 5000))
        assert member.pair is None


def test_gpus_without_a_pair_in_common_are_refused() -> None:
    other = ByHand(clocks=ClockTable.from_product(sm_mhz=(700,), mem_mhz=(5000,)))
    with pytest.raises(DeviceError, match="no clock pair is offered by every GPU"):
        group_of(ByHand(), other)


@pytest.mark.parametrize("members", [[ByHand(name="A"), ByHand(name="B")], []])
def test_gpus_of_several_models_or_none_are_refused(members: Sequence[ByHand]) -> None:
    with pytest.raises(UsageError, match="of one model"):
        group_of(*members)


def test_the_group_says_how_many_it_is_and_sums_their_limits() -> None:
    with group_of(ByHand(), ByHand()) as group:
        assert (group.info.n_gpus, group.info.power_limit_w, group.missed_ticks) == (2, 600.0, 4)


def test_members_are_observed_at_the_same_time() -> None:
    with group_of(ByHand(), ByHand(), ByHand()) as group:
        start_s = time.monotonic()
        group.observe(0.3)
        assert time.monotonic() - start_s < 0.6


def test_when_one_fails_the_others_stop_waiting() -> None:
    patient = ByHand()
    with group_of(patient, ByHand(fault=DeviceError("gone"))) as group:
        with pytest.raises(DeviceError, match="gone"):
            group.observe(20.0)
        assert patient.waited_s < 5.0


def test_when_one_is_lost_the_others_stop_waiting() -> None:
    class Lost(ByHand):
        def observe(self, seconds: float) -> Window:
            return replace(super().observe(seconds / 100), end=WindowEnd.LOST)

    patient = ByHand()
    with group_of(patient, Lost()) as group:
        assert group.observe(20.0).end is WindowEnd.LOST
        assert patient.waited_s < 5.0


def test_the_end_is_told_to_all() -> None:
    is_over = threading.Event()
    with group_of(ByHand(), ByHand()) as group:
        group.end_when(is_over.is_set)
        threading.Timer(0.1, is_over.set).start()
        start_s = time.monotonic()
        group.observe(20.0)
        assert time.monotonic() - start_s < 5.0


def test_one_that_cannot_be_closed_keeps_no_other_open() -> None:
    class Stuck(ByHand):
        def close(self) -> None:
            raise DeviceError("stuck")

    member = ByHand()
    group = group_of(member, Stuck())
    with pytest.raises(DeviceError, match="stuck"):
        group.close()
    assert member.is_closed


def test_signals_are_those_that_all_have() -> None:
    poorer = ByHand()
    poorer.signals = tuple(signal for signal in SIGNALS if signal != TEMPERATURE)
    with group_of(ByHand(), poorer) as group:
        assert group.signals == poorer.signals
