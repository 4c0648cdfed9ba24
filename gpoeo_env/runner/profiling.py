"""MEASURE mode: one workload over the clock pairs of a device, as a sweep with counters (GPOEO paper, section IV).

    with ControlLoop(open_device("sim:rtx3080ti"), settings) as loop:
        profiled = profile(loop, plan, journal, workload="resnet50", seed=0)
    profiled.sweep, profiled.skipped, profiled.drift

Every window is relative to the driver's default of the same sitting, which is measured before, in between and after.
A pair that was throttled or not honoured does not enter the sweep: what was measured there belongs to other clocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gpoeo_env.clocks import RELEASE, ClockPair, ClockTable
from gpoeo_env.env.control import ControlLoop
from gpoeo_env.errors import UsageError
from gpoeo_env.policy import Decision, Purpose, Step
from gpoeo_env.records import Measurement
from gpoeo_env.runner.profile_journal import Entry, ProfileJournal
from gpoeo_env.runner.profile_plan import REFERENCE_EVERY, ProfilePlan
from gpoeo_env.signals import POWER
from gpoeo_env.trace.sweep import Sweep

__all__ = ["Profiled", "profile"]

THROTTLED = "throttled"
NOT_HONOURED = "not honoured"
PATIENCE = 3
"""Windows without progress in a row after which a profile gives up."""


@dataclass(frozen=True, slots=True)
class Profiled:
    """What a profile came to.

    Attributes:
        sweep: relative to the driver's default: a unit of work is one second there.
        skipped: why some pairs are not in it.
        drift: time per work at the last window at the default over that at the first, - 1.
    """

    sweep: Sweep
    skipped: dict[ClockPair, str]
    drift: float


def profile(
    loop: ControlLoop,
    plan: ProfilePlan,
    journal: ProfileJournal,
    *,
    workload: str | None,
    seed: int,
    advance: Callable[[Entry], None] = lambda _: None,
) -> Profiled:
    """Measure what the journal does not hold yet, and return the whole as a sweep.

    Args:
        loop: of a device; its window is the plan's, and its budget without bound. The caller closes it.
        plan: what to measure.
        journal: opened; every window goes there at once.
        workload: which of a virtual device; None = the first, or whatever runs on a live GPU.
        seed: of virtual devices' noise.
        advance: is told of every window.

    Raises:
        UsageError: progress cannot be measured.
        DeviceError: the device failed, or was lost.
    """
    first = loop.begin(seed, workload)
    base = loop.context.default_pair or first.measurement.observed or loop.device.clocks.top
    reference = loop.device.clocks.nearest(base)
    known = {entry.pair for entry in journal.entries}
    without_progress = 0
    for step in _steps(loop, [pair for pair in plan.pairs if pair not in known], first):
        entry = _entry(step)
        without_progress = 0 if math.isfinite(entry.time) else without_progress + 1
        if without_progress >= PATIENCE:
            raise UsageError(
                f"progress cannot be measured: {step.measurement.progress.reason or 'no reason is known'}; mark the "
                "iterations of the training loop (docs/marks.md), or take longer windows (--window)"
            )
        if without_progress == 0:
            journal.add(entry)
        advance(entry)
    name = workload or next(iter(loop.device.info.workloads), loop.context.gpu_name)
    return _profiled(journal.entries, reference, name)


def _steps(loop: ControlLoop, pairs: Sequence[ClockPair], first: Step) -> Iterator[Step]:
    """Yield windows at the pairs, with the driver's default before, in between, and after."""
    yield first
    released = Decision(RELEASE, counters=True, purpose=Purpose.PROFILE, reason="the driver's default once more")
    for index, pair in enumerate(pairs, start=1):
        action = loop.device.clocks.action_of(pair)
        yield loop.step(Decision(action, counters=True, purpose=Purpose.PROBE, reason="profile"))
        if index % REFERENCE_EVERY == 0 and index < len(pairs):
            yield loop.step(released)
    if pairs:
        yield loop.step(released)


def _entry(step: Step) -> Entry:
    measured = step.measurement
    ratios, features = measured.ratios, measured.features
    return Entry(
        pair=step.pair,
        time=ratios.time if ratios else math.nan,
        energy=ratios.energy if ratios else math.nan,
        power_w=measured.power_w,
        counters=dict(zip(features.names, features.values.tolist(), strict=True)),
        skipped="" if step.pair is None else _why_skipped(measured),
    )


def _why_skipped(measured: Measurement) -> str:
    if measured.throttled:
        return THROTTLED
    return "" if measured.honoured else NOT_HONOURED


def _profiled(entries: Sequence[Entry], reference: ClockPair, workload: str) -> Profiled:
    """Put a sweep together; the windows at the driver's default stand for the reference pair."""
    released = [entry for entry in entries if entry.pair is None]
    kept = {entry.pair: entry for entry in entries if entry.pair not in (None, reference) and not entry.skipped}
    table = ClockTable([reference, *(pair for pair in kept if pair is not None)])
    names = tuple(name for name in released[0].counters if name != POWER.name)
    rows = [kept.get(pair) for pair in table]
    power_w = float(np.mean([entry.power_w for entry in released]))
    default = [float(np.mean([entry.counters.get(name, math.nan) for entry in released])) for name in names]
    sweep = Sweep(
        workload=workload,
        clocks=table,
        reference=reference,
        seconds=np.array([1.0 if row is None else row.time for row in rows]),
        joules=power_w * np.array([1.0 if row is None else row.energy for row in rows]),
        counter_names=names,
        counters=np.array(
            [default if row is None else [row.counters.get(name, math.nan) for name in names] for row in rows]
        ),
    )
    skipped = {entry.pair: entry.skipped for entry in entries if entry.pair is not None and entry.skipped}
    return Profiled(sweep, skipped, released[-1].time / released[0].time - 1.0)
