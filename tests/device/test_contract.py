from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from gpoeo_env.clocks import ClockPair
from gpoeo_env.device.analytic import AnalyticDevice
from gpoeo_env.device.base import Device, DeviceInfo
from gpoeo_env.device.replay import ReplayDevice
from gpoeo_env.device.simulated import SimulatedDevice
from gpoeo_env.records import Settle, TruthTable, Window
from gpoeo_env.sim.catalogue import Gpu
from gpoeo_env.sim.suites.demo import demo_workloads
from gpoeo_env.testing.devices import DEVICE_CONTRACT, DeviceCheck, check_device
from gpoeo_env.trace.sweep import SweepSet

MakeDevice = Callable[[], Device]
CHECKS = {check.name: check for check in DEVICE_CONTRACT}


@pytest.fixture(params=["replay", "replay, nearest", "replay, settling", "analytic", "analytic, exact", "samples"])
def make_device(request: pytest.FixtureRequest, sweeps: SweepSet, gpu: Gpu) -> MakeDevice:
    makers: dict[str, MakeDevice] = {
        "replay": lambda: ReplayDevice(sweeps),
        "replay, nearest": lambda: ReplayDevice(sweeps, nearest=True),
        "replay, settling": lambda: ReplayDevice(sweeps, settle_s=0.3),
        "analytic": lambda: AnalyticDevice(gpu, demo_workloads()),
        "analytic, exact": lambda: AnalyticDevice(gpu, demo_workloads(), noise=0.0),
        "samples": lambda: SimulatedDevice(gpu, demo_workloads()),
    }
    return makers[request.param]


@pytest.mark.parametrize("check", DEVICE_CONTRACT, ids=str)
def test_every_device_of_ours_keeps_every_clause(check: DeviceCheck, make_device: MakeDevice) -> None:
    check.run(make_device)


class Broken(ReplayDevice):
    """A device that breaks one clause; each subclass says which."""


class BadKind(Broken):
    @property
    def info(self) -> DeviceInfo:
        return replace(super().info, kind="toy")


class MeasuresNothing(Broken):
    @property
    def signals(self) -> tuple[()]:
        return ()


class TakesAnyWorkload(Broken):
    def begin(self, seed: int | None, workload: str | None = None) -> None:
        super().begin(seed, workload if workload in self.info.workloads else None)


class BeginsItself(Broken):
    def observe(self, seconds: float) -> Window:
        if self._run is None and not self._is_closed:
            self.begin(0)
        return super().observe(seconds)


class WaitsForNothing(Broken):
    def observe(self, seconds: float) -> Window:
        return super().observe(abs(seconds) if abs(seconds) > 0 else 1.0)


class NeverCloses(Broken):
    def close(self) -> None:
        pass


class SaysInfinityForMissing(Broken):
    def observe(self, seconds: float) -> Window:
        window = super().observe(seconds)
        return replace(window, values=np.where(np.isnan(window.values), np.inf, window.values))


class WaitsTooLong(Broken):
    def observe(self, seconds: float) -> Window:
        return super().observe(1.5 * seconds)


class ForgetsToRelease(Broken):
    def begin(self, seed: int | None, workload: str | None = None) -> None:
        before = self._run
        super().begin(seed, workload)
        if before is not None:
            self.set_clocks(before.requested)


class ForgetsTheRequest(Broken):
    def observe(self, seconds: float) -> Window:
        return replace(super().observe(seconds), requested=None)


class RunsOtherClocks(Broken):
    def observe(self, seconds: float) -> Window:
        return replace(super().observe(seconds), observed=self.clocks.pairs[0])


class InventsPairs(Broken):
    def _action_of(self, pair: ClockPair | None) -> int:
        return self.clocks.action_of(pair if pair is None else self.clocks.nearest(pair))

    def observe(self, seconds: float) -> Window:
        window = super().observe(seconds)
        return replace(window, observed=window.requested or window.observed)


class ChargesForNothing(Broken):
    def observe(self, seconds: float) -> Window:
        return replace(super().observe(seconds), settle=Settle(0.0, 1.0, 0.0))


class HidesSettling(Broken):
    def observe(self, seconds: float) -> Window:
        window = super().observe(seconds)
        return replace(window, settle=Settle())


class LosesEnergy(Broken):
    def observe(self, seconds: float) -> Window:
        window = super().observe(seconds)
        return replace(window, values=window.values - np.array([window.values[0, 0], *[0.0] * 4]))


class IgnoresTheSeed(Broken):
    def begin(self, seed: int | None, workload: str | None = None) -> None:  # noqa: ARG002 - that is its fault
        super().begin(None, workload)


class KnowsOnlyPairs(Broken):
    def truth(self) -> TruthTable:
        truth = super().truth()
        return TruthTable(truth.time[1:], truth.energy[1:])


class TellsAnotherTruth(Broken):
    def truth(self) -> TruthTable:
        truth = super().truth()
        return TruthTable(truth.time, np.concatenate(([1.0], 0.8 * truth.energy[1:])))


@pytest.mark.parametrize(
    ("clause", "kind"),
    [
        ("describes itself", BadKind),
        ("reports energy or power", MeasuresNothing),
        ("refuses an unknown workload", TakesAnyWorkload),
        ("needs begin before observe", BeginsItself),
        ("refuses durations that are not positive", WaitsForNothing),
        ("can be closed twice and then answers no more", NeverCloses),
        ("closes at the end of a with block", NeverCloses),
        ("returns windows of the stated shape and range", SaysInfinityForMissing),
        ("takes the time that was asked for", WaitsTooLong),
        ("starts every run released", ForgetsToRelease),
        ("reports the requested pair", ForgetsTheRequest),
        ("honours the pairs of its table or says why not", RunsOtherClocks),
        ("never invents a pair outside its table", InventsPairs),
        ("charges nothing for clocks that are set already", ChargesForNothing),
        ("accounts for the time of settling", HidesSettling),
        ("lets no counter fall and no windows overlap", LosesEnergy),
        ("gives equal windows for equal seeds", IgnoresTheSeed),
        ("knows the truth of every action", KnowsOnlyPairs),
        ("shows in its windows what it tells as the truth", TellsAnotherTruth),
    ],
)
def test_a_device_that_breaks_a_clause_fails_its_check(clause: str, kind: type[Broken], sweeps: SweepSet) -> None:
    with pytest.raises(AssertionError):
        CHECKS[clause].run(lambda: kind(sweeps, settle_s=0.2))


def test_every_clause_has_a_name_of_its_own() -> None:
    assert len(CHECKS) == len(DEVICE_CONTRACT)


def test_a_device_that_keeps_its_contract_passes_as_a_whole(sweeps: SweepSet) -> None:
    check_device(lambda: ReplayDevice(sweeps))


def test_the_whole_contract_names_every_broken_clause(sweeps: SweepSet) -> None:
    with pytest.raises(AssertionError) as caught:
        check_device(lambda: NeverCloses(sweeps))
    assert "can be closed twice" in str(caught.value)
    assert "end of a with block" in str(caught.value)
    assert "describes itself" not in str(caught.value)


def test_a_check_closes_the_device_that_it_opened(sweeps: SweepSet) -> None:
    opened: list[ReplayDevice] = []

    def make() -> ReplayDevice:
        opened.append(ReplayDevice(sweeps))
        return opened[-1]

    CHECKS["describes itself"].run(make)
    with pytest.raises(RuntimeError, match="closed"):
        opened[0].begin(0)
