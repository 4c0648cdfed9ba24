"""The GPUs of one data-parallel job as one device: the same clocks everywhere, energy summed, one window a GPU inside.

    device = GroupDevice([open_device(uuid, settings) for uuid in uuids])

Every member keeps its own guard. Progress is that of the slowest: `gpoeo_env.progress.group_meter` reads it from the
parts of a window.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from threading import Event
from types import TracebackType
from typing import Protocol, Self

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.device.base import DeviceInfo
from gpoeo_env.device.group_window import merged
from gpoeo_env.errors import DeviceError, UsageError
from gpoeo_env.records import Window
from gpoeo_env.signals import Signal

__all__ = ["GroupDevice", "Member"]


class Member(Protocol):
    """What a group needs of a device: the protocol, and that it can be told to end."""

    missed_ticks: int

    @property
    def info(self) -> DeviceInfo:
        """What stays the same while the device is open."""

    @property
    def clocks(self) -> ClockTable:
        """The pairs that the device offers."""

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The columns of every window."""

    def end_when(self, is_over: Callable[[], bool]) -> None:
        """Let the work be done as soon as a function says so."""

    def begin(self, seed: int | None, workload: str | None = None) -> None:
        """Start a run at the driver's default."""

    def set_clocks(self, pair: ClockPair | None) -> None:
        """Lock a pair; None releases to the driver."""

    def observe(self, seconds: float) -> Window:
        """Wait and measure."""

    def close(self) -> None:
        """Give the clocks back."""


class GroupDevice:
    """Several live GPUs of one model that work on one job, in step."""

    def __init__(self, members: Sequence[Member]) -> None:
        """Take open devices; the group closes them.

        Raises:
            UsageError: there is none, or they are not of one model.
            DeviceError: no clock pair is offered by all of them.
        """
        names = sorted({member.info.gpu_name for member in members})
        if len(names) != 1:
            raise UsageError(
                f"the GPUs of one group are of one model; these are: {', '.join(names) or 'none'}; "
                "run one gpoeo for each model"
            )
        self._members = tuple(members)
        self._clocks = _common_clocks(members)
        self._signals = tuple(s for s in members[0].signals if all(s in member.signals for member in members))
        first = members[0].info
        self._info = replace(
            first,
            power_limit_w=math.fsum(member.info.power_limit_w for member in members),
            provenance=f"group of {len(members)}: {'; '.join(member.info.provenance for member in members)}",
            n_gpus=len(members),
        )
        self._pool = ThreadPoolExecutor(len(members), thread_name_prefix="gpoeo-gpu")
        self._stops = Event()
        self.end_when(lambda: False)

    @property
    def info(self) -> DeviceInfo:
        """Of the group; ``power_limit_w`` is the sum."""
        return self._info

    @property
    def clocks(self) -> ClockTable:
        """The pairs that every member offers."""
        return self._clocks

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The columns that every member has."""
        return self._signals

    @property
    def missed_ticks(self) -> int:
        """Rows that were due and not taken, of all members."""
        return sum(member.missed_ticks for member in self._members)

    def end_when(self, is_over: Callable[[], bool]) -> None:
        """Let the work be done, on all members, as soon as a function says so."""
        for member in self._members:
            member.end_when(lambda: self._stops.is_set() or is_over())

    def begin(self, seed: int | None, workload: str | None = None) -> None:
        """Start a run at the driver's default on every member."""
        for member in self._members:
            member.begin(seed, workload)

    def set_clocks(self, pair: ClockPair | None) -> None:
        """Lock a pair on every member, one after the other; None releases to the driver.

        Raises:
            ClockNotSupportedError: not every member offers the pair; nothing is changed.
            DeviceError: as a member's. Members before it have changed by then: close the group.
        """
        self._clocks.action_of(pair)
        for member in self._members:
            member.set_clocks(pair)

    def observe(self, seconds: float) -> Window:
        """Measure all members at the same time; the window of the group holds theirs as ``parts``.

        Raises:
            GpoeoError: as the first member that failed; the others have stopped by then.
        """
        waiting = [self._pool.submit(self._observe, member, seconds) for member in self._members]
        try:
            return merged([future.result() for future in waiting], self._signals)
        except BaseException:  # a signal, too: threads that go on for a whole window would keep the clocks locked
            self._stops.set()
            for future in waiting:
                future.exception()
            raise

    def _observe(self, member: Member, seconds: float) -> Window:
        """Observe one member; where it fails, the others need not finish their windows."""
        try:
            window = member.observe(seconds)
        except BaseException:
            self._stops.set()
            raise
        if window.end is not None:
            self._stops.set()
        return window

    def close(self) -> None:
        """Give the clocks of every member back; calling it twice is fine.

        Raises:
            DeviceError: as the members' that could not be given back; all the others have been.
        """
        self._stops.set()
        with ExitStack() as stack:
            stack.callback(self._pool.shutdown)
            for member in self._members:
                stack.callback(member.close)

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()


def _common_clocks(members: Sequence[Member]) -> ClockTable:
    pairs = set.intersection(*(set(member.clocks) for member in members))
    if not pairs:
        raise DeviceError("no clock pair is offered by every GPU of the group; run one gpoeo for each of them")
    return ClockTable(pairs)
