"""The contract of a device, as checks that anybody can run on their own.

    check_device(lambda: MyDevice())                            # all of it; AssertionError names what is broken

    @pytest.mark.parametrize("check", DEVICE_CONTRACT, ids=str) # or one test a check
    def test_my_device(check): check.run(lambda: MyDevice())

Every check makes a fresh device, runs a few short windows and closes it. On a live GPU this changes clocks, and takes
about fifteen seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np

from gpoeo_env.clocks import RELEASE, ClockPair
from gpoeo_env.device.base import Device, HasTruth
from gpoeo_env.errors import (
    ClockNotSupportedError,
    DeviceError,
    GpoeoError,
    NotRecordedError,
    UnknownNameError,
    UsageError,
)
from gpoeo_env.progress.meter import WorkCounterMeter
from gpoeo_env.progress.summary import HONOURED_TOLERANCE_MHZ, reference_of, relative_to, summarise
from gpoeo_env.records import Measurement, Settle, Window
from gpoeo_env.signals import ENERGY, POWER, Behaviour
from gpoeo_env.testing.contract import check_clauses, require

__all__ = ["DEVICE_CONTRACT", "DeviceCheck", "MakeDevice", "check_device"]

MakeDevice = Callable[[], Device]
"""Opens a fresh device; the check closes it."""

WINDOW_S = 2.0
LIVE_WINDOW_S = 0.5
"""On a live GPU time really passes; five refreshes of its sensors are enough to look at a window."""
LONG_WINDOW_S = 60.0
SEED = 7


@dataclass(frozen=True, slots=True)
class DeviceCheck:
    """One clause of the contract.

    Attributes:
        name: the clause as a sentence.
        examine: looks at an open device; raises AssertionError where the clause is broken.
    """

    name: str
    examine: Callable[[Device], None]

    def __str__(self) -> str:
        """Return the clause."""
        return self.name

    def run(self, make_device: MakeDevice) -> None:
        """Run the check on a fresh device.

        Raises:
            AssertionError: the device breaks the clause.
        """
        device = make_device()
        try:
            self.examine(device)
        except BaseException:
            with suppress(Exception):  # what broke first is what the reader needs to see
                device.close()
            raise
        device.close()


def check_device(make_device: MakeDevice) -> None:
    """Run the whole contract.

    Raises:
        AssertionError: names every broken clause and how it showed.
    """
    check_clauses("device", {check.name: partial(check.run, make_device) for check in DEVICE_CONTRACT})


def _describes_itself(device: Device) -> None:
    info = device.info
    require(info.kind in {"replay", "simulated", "live"}, f"kind {info.kind!r} is not replay, simulated or live")
    require(bool(info.gpu_name and info.provenance), "gpu_name and provenance must not be empty")
    require(len(set(info.workloads)) == len(info.workloads), f"workloads are listed twice: {info.workloads}")
    require(
        info.default_pair is None or info.default_pair in device.clocks,
        f"default pair {info.default_pair} is not in the clock table",
    )


def _reports_energy_or_power(device: Device) -> None:
    names = [signal.name for signal in device.signals]
    require(len(set(names)) == len(names), f"signals are listed twice: {names}")
    require(ENERGY in device.signals or POWER in device.signals, f"neither {ENERGY} nor {POWER} among the signals")


def _refuses_unknown_workload(device: Device) -> None:
    if device.info.workloads:
        _expect(UnknownNameError, "begin() with an unknown workload", lambda: device.begin(SEED, "no such workload"))


def _needs_begin(device: Device) -> None:
    _expect(DeviceError, "observe() before begin()", lambda: _look(device))


def _refuses_bad_durations(device: Device) -> None:
    device.begin(SEED)
    _expect(UsageError, "observe(0)", lambda: device.observe(0.0))
    _expect(UsageError, "observe(-1)", lambda: device.observe(-1.0))
    _expect(UsageError, "observe(nan)", lambda: device.observe(math.nan))


def _closes_twice(device: Device) -> None:
    device.begin(SEED)
    device.close()
    device.close()
    _expect(DeviceError, "observe() after close()", lambda: _look(device))


def _closes_as_context(device: Device) -> None:
    with device as entered:
        require(entered is device, "__enter__ must return the device")
        device.begin(SEED)
    _expect(DeviceError, "observe() after the with block", lambda: _look(device))


def _returns_sound_windows(device: Device) -> None:
    device.begin(SEED)
    window = _look(device)
    n, k = len(window.t_s), len(device.signals)
    require(n >= 2, f"a window needs two rows or more; got {n}")
    require(window.signals == device.signals, "a window must have the device's signals")
    require(window.values.shape == (n, k), f"values need shape {(n, k)}; got {window.values.shape}")
    require(window.t_s.dtype == window.values.dtype == np.float64, "times and values are float64")
    require(bool(np.all(np.diff(window.t_s) > 0)), "row times must rise")
    require(not np.isinf(window.values).any(), "a missing value is NaN, never infinite")
    for column, signal in zip(window.values.T, window.signals, strict=True):
        if signal.unit == "1":
            require(not ((column < 0) | (column > 1)).any(), f"ratio {signal.name} leaves 0..1: {column}")


def _takes_the_time_asked_for(device: Device) -> None:
    device.begin(SEED)
    for seconds in (_window_s(device), 2 * _window_s(device)):
        took = device.observe(seconds).duration_s
        slack = 1e-6 if device.info.is_deterministic else 0.2 * seconds
        require(abs(took - seconds) <= slack, f"observe({seconds:g}) gave a window of {took:g} s")


def _starts_released(device: Device) -> None:
    device.begin(SEED)
    device.set_clocks(device.clocks.pairs[0])
    _look(device)
    device.begin(SEED)
    window = _look(device)
    require(window.requested is None, f"begin() must release the clocks; {window.requested} is still requested")


def _reports_the_request(device: Device) -> None:
    device.begin(SEED)
    for pair in (device.clocks.top, None, device.clocks.pairs[0]):
        device.set_clocks(pair)
        requested = _look(device).requested
        require(requested == pair, f"requested {pair}, the window says {requested}")


def _honours_pairs_or_says_why(device: Device) -> None:
    device.begin(SEED)
    for pair in _a_few_pairs(device):
        device.set_clocks(pair)
        window = _look(device)
        if window.observed is None or window.throttle_reasons:
            continue
        require(_is_near(window.observed, pair), f"requested {pair}, {window.observed} ran, and no reason is given")


def _never_invents_pairs(device: Device) -> None:
    device.begin(SEED)
    device.set_clocks(device.clocks.pairs[0])
    _look(device)
    absent = ClockPair(device.clocks.top.sm_mhz + 10_000, device.clocks.top.mem_mhz)
    try:
        device.set_clocks(absent)
    except (ClockNotSupportedError, NotRecordedError):
        window = _look(device)
        require(window.requested == device.clocks.pairs[0], "a refused pair must change nothing")
        return
    window = _look(device)
    require(
        window.requested == absent and window.observed in device.clocks,
        f"{absent} is not in the table: refuse it, or run a pair of the table and report both",
    )


def _unchanged_clocks_cost_nothing(device: Device) -> None:
    device.begin(SEED)
    device.set_clocks(None)
    require(_look(device).settle == Settle(), "releasing released clocks must cost nothing")
    device.set_clocks(device.clocks.pairs[0])
    _look(device)
    device.set_clocks(device.clocks.pairs[0])
    require(_look(device).settle == Settle(), "locking the locked pair must cost nothing")


def _accounts_for_settling(device: Device) -> None:
    device.begin(SEED)
    before = _look(device)
    device.set_clocks(device.clocks.pairs[0])
    after = _look(device)
    gap_s = float(after.t_s[0] - before.t_s[-1])
    settle = after.settle
    require(settle.seconds >= 0 and not settle.joules < 0 and not settle.work < 0, f"{settle} is negative")
    require(gap_s >= settle.seconds - 1e-6, f"{settle.seconds:g} s of settling do not fit a gap of {gap_s:g} s")
    if device.info.is_deterministic:
        require(gap_s <= settle.seconds + 1e-6, f"{gap_s:g} s passed between windows, {settle.seconds:g} s settling")


def _counters_never_fall(device: Device) -> None:
    device.begin(SEED)
    windows = [_look(device)]
    for pair in _a_few_pairs(device):
        device.set_clocks(pair)
        windows.append(_look(device))
    for signal in device.signals:
        if signal.behaviour is Behaviour.COUNTER:
            values = np.concatenate([_column(window, signal.name) for window in windows])
            require(bool(np.all(np.diff(values[np.isfinite(values)]) >= 0)), f"counter {signal.name} went back")
    starts = [float(window.t_s[0]) for window in windows[1:]]
    ends = [float(window.t_s[-1]) for window in windows[:-1]]
    require(all(start >= end for start, end in zip(starts, ends, strict=True)), "windows overlap in time")


def _equal_seeds_give_equal_windows(device: Device) -> None:
    if not device.info.is_deterministic:
        return
    first, second = _two_windows(device), _two_windows(device)
    for one, other in zip(first, second, strict=True):
        require(
            np.array_equal(one.t_s, other.t_s) and np.array_equal(one.values, other.values, equal_nan=True),
            "the same seed gave other windows after a second begin()",
        )


def _truth_has_every_action(device: Device) -> None:
    if not isinstance(device, HasTruth):
        return
    device.begin(SEED)
    truth = device.truth()
    shape = (device.clocks.n_actions,)
    require(truth.time.shape == truth.energy.shape == shape, f"time and energy need shape {shape}")
    require(truth.time[RELEASE] == truth.energy[RELEASE] == 1.0, "action 0 is the reference: its ratios are 1")
    values = np.concatenate((truth.time, truth.energy))
    require(bool(np.all(np.isfinite(values) & (values > 0))), "every ratio is positive and finite")


def _truth_is_what_windows_show(device: Device) -> None:
    if not isinstance(device, HasTruth):
        return
    device.begin(SEED)
    reference = reference_of(_measured(device), segment=0)
    assert reference is not None, "a virtual device counts its work and its energy"
    for pair in _a_few_pairs(device):
        device.set_clocks(pair)
        shown = relative_to(_measured(device), reference)
        assert shown is not None, "a virtual device counts its work and its energy"
        told = device.truth().of(device.clocks.action_of(pair))
        # Six standard errors: a sound device fails once in a hundred million windows.
        require(
            abs(shown.time - told.time) <= 6 * shown.time_sd + 1e-6 * told.time,
            f"truth() gives time ratio {told.time:.4f} at {pair}, windows show {shown.time:.4f}",
        )
        require(
            abs(shown.energy - told.energy) <= 6 * shown.energy_sd + 1e-6 * told.energy,
            f"truth() gives energy ratio {told.energy:.4f} at {pair}, windows show {shown.energy:.4f}",
        )


DEVICE_CONTRACT: tuple[DeviceCheck, ...] = (
    DeviceCheck("describes itself", _describes_itself),
    DeviceCheck("reports energy or power", _reports_energy_or_power),
    DeviceCheck("refuses an unknown workload", _refuses_unknown_workload),
    DeviceCheck("needs begin before observe", _needs_begin),
    DeviceCheck("refuses durations that are not positive", _refuses_bad_durations),
    DeviceCheck("can be closed twice and then answers no more", _closes_twice),
    DeviceCheck("closes at the end of a with block", _closes_as_context),
    DeviceCheck("returns windows of the stated shape and range", _returns_sound_windows),
    DeviceCheck("takes the time that was asked for", _takes_the_time_asked_for),
    DeviceCheck("starts every run released", _starts_released),
    DeviceCheck("reports the requested pair", _reports_the_request),
    DeviceCheck("honours the pairs of its table or says why not", _honours_pairs_or_says_why),
    DeviceCheck("never invents a pair outside its table", _never_invents_pairs),
    DeviceCheck("charges nothing for clocks that are set already", _unchanged_clocks_cost_nothing),
    DeviceCheck("accounts for the time of settling", _accounts_for_settling),
    DeviceCheck("lets no counter fall and no windows overlap", _counters_never_fall),
    DeviceCheck("gives equal windows for equal seeds", _equal_seeds_give_equal_windows),
    DeviceCheck("knows the truth of every action", _truth_has_every_action),
    DeviceCheck("shows in its windows what it tells as the truth", _truth_is_what_windows_show),
)
"""Every clause that a device keeps; those on truth and seeds bind virtual devices only."""


def _expect(kind: type[GpoeoError], what: str, call: Callable[[], object]) -> None:
    try:
        call()
    except kind:
        return
    except Exception as error:
        raise AssertionError(f"{what} must raise {kind.__name__}; it raised {type(error).__name__}: {error}") from error
    raise AssertionError(f"{what} must raise {kind.__name__}; it raised nothing")


def _look(device: Device) -> Window:
    return device.observe(_window_s(device))


def _window_s(device: Device) -> float:
    """Return how long a window is that is only looked at."""
    return LIVE_WINDOW_S if device.info.kind == "live" else WINDOW_S


def _a_few_pairs(device: Device) -> tuple[ClockPair, ...]:
    """Return the first, a middle and the last pair of the table."""
    pairs = device.clocks.pairs
    return tuple(dict.fromkeys((pairs[0], pairs[len(pairs) // 2], pairs[-1])))


def _is_near(observed: ClockPair, requested: ClockPair) -> bool:
    off_by = max(abs(observed.sm_mhz - requested.sm_mhz), abs(observed.mem_mhz - requested.mem_mhz))
    return off_by <= HONOURED_TOLERANCE_MHZ


def _column(window: Window, name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    column = window.column(name)
    assert column is not None, "the signal is one of the device's"
    return column.ravel()


def _two_windows(device: Device) -> tuple[Window, Window]:
    device.begin(SEED)
    released = _look(device)
    device.set_clocks(device.clocks.pairs[0])
    return released, _look(device)


def _measured(device: Device) -> Measurement:
    return summarise(device.observe(LONG_WINDOW_S), WorkCounterMeter())
