"""One window out of the windows of several GPUs that were taken at the same time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.clocks import ClockPair
from gpoeo_env.records import Settle, Window, WindowEnd
from gpoeo_env.signals import TEMPERATURE, THROTTLE_REASONS, Behaviour, Signal

__all__ = ["merged"]

Floats = NDArray[np.float64]
_ENDS = (WindowEnd.LOST, WindowEnd.OVERHEATED, WindowEnd.WORK_DONE, WindowEnd.LOG_END)
"""The graver one first: one member is enough to end a group."""


def merged(parts: Sequence[Window], signals: Sequence[Signal]) -> Window:
    """Return the window of a group.

    Power, energy and byte rates are summed, ratios and clocks averaged; the temperature is the highest. Rows are those
    of the first member, with the nearest row of every other one.

    Args:
        parts: one window a GPU.
        signals: columns that all of them have.
    """
    first = parts[0]
    columns = [_column(signal, parts, first.t_s) for signal in signals]
    return Window(
        t_s=first.t_s,
        values=np.column_stack(columns) if columns else np.empty((len(first.t_s), 0)),
        signals=tuple(signals),
        requested=first.requested,
        observed=_slowest(parts),
        settle=_settle(parts),
        end=next((end for end in _ENDS if any(part.end is end for part in parts)), None),
        parts=tuple(parts),
        throttle_reasons=tuple(dict.fromkeys(reason for part in parts for reason in part.throttle_reasons)),
    )


def _column(signal: Signal, parts: Sequence[Window], t_s: Floats) -> Floats:
    if signal.behaviour is Behaviour.COUNTER:
        return _counted(signal, parts, t_s)
    rows = np.array([_at(t_s, part, signal) for part in parts])
    return _together(signal)(rows)


def _counted(signal: Signal, parts: Sequence[Window], t_s: Floats) -> Floats:
    """Return a counter that grows as those of the members together do, each at its own rate between its own edges."""
    starts = [part.values[0, part.signals.index(signal)] for part in parts]
    rate = math.fsum(part.rate(signal.name) for part in parts)
    column = np.full(len(t_s), np.nan)
    column[0] = math.fsum(starts)
    column[-1] = column[0] + rate * (t_s[-1] - t_s[0])
    return column


def _at(t_s: Floats, part: Window, signal: Signal) -> Floats:
    """Return a member's values in the rows nearest to given times."""
    nearest = np.abs(part.t_s[None, :] - t_s[:, None]).argmin(axis=1)
    values: Floats = part.values[nearest, part.signals.index(signal)]
    return values


def _together(signal: Signal) -> Callable[[Floats], Floats]:
    if signal == THROTTLE_REASONS:
        return _any_reason
    if signal == TEMPERATURE:
        return lambda rows: rows.max(axis=0)
    return (lambda rows: rows.sum(axis=0)) if signal.unit in ("W", "B/s") else (lambda rows: rows.mean(axis=0))


def _any_reason(rows: Floats) -> Floats:
    masks = np.where(np.isfinite(rows), rows, 0).astype(np.int64)
    together: Floats = np.bitwise_or.reduce(masks, axis=0).astype(np.float64)
    return together


def _slowest(parts: Sequence[Window]) -> ClockPair | None:
    observed = [part.observed for part in parts if part.observed is not None]
    return min(observed) if len(observed) == len(parts) else None


def _settle(parts: Sequence[Window]) -> Settle:
    """Return the longest wait; whoever arrived earlier went on at about the same power."""
    seconds = max(part.settle.seconds for part in parts)
    joules = math.fsum(
        part.settle.joules * (seconds / part.settle.seconds) if part.settle.seconds > 0 else 0.0 for part in parts
    )
    return Settle(seconds, joules, math.nan if seconds > 0 else 0.0)
