"""A live run: one policy on the GPUs of one job, until somebody says that it is over.

with ended_by_signals(command.send):
    outcome = control(loop, safe(policy), is_over=lambda: command.poll() is not None)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpoeo_env.device.base import CanEnd
from gpoeo_env.env.control import ControlLoop
from gpoeo_env.errors import DeviceError, GpoeoError
from gpoeo_env.policy import Policy, PolicyContext, Step
from gpoeo_env.runner.ending import Ended
from gpoeo_env.runner.episode import Observer, windows

__all__ = ["Outcome", "control"]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a live run ended; the clocks are given back.

    Attributes:
        last: the last window; None = it ended before the first one.
        signal: number of the signal that ended it.
        error: what ended it before its time; also where the device is lost or too hot.
    """

    last: Step | None = None
    signal: int | None = None
    error: GpoeoError | None = None

    @property
    def exit_code(self) -> int:
        """For a run that has no program whose code counts."""
        if self.signal is not None:
            return 128 + self.signal
        return 0 if self.error is None else self.error.exit_code


def control(
    loop: ControlLoop,
    policy: Policy,
    *,
    seed: int,
    is_over: Callable[[], bool],
    observers: Sequence[Observer] = (),
) -> Outcome:
    """Control until the run is over, and give the clocks back.

    Args:
        loop: over a live device; closed afterwards.
        policy: already wrapped; see `gpoeo_env.runner.safety`.
        seed: for policies that draw numbers.
        is_over: is asked some ten times a second.
        observers: one that fails is left out from then on, with a line in the log.

    Raises:
        DeviceError: nobody can tell the device that the run is over.
    """
    if not isinstance(loop.device, CanEnd):
        raise DeviceError(f"a {loop.device.info.kind} device ends by itself; run it with run_episode")
    loop.device.end_when(is_over)
    last: Step | None = None
    try:
        with loop:
            for step, _ in windows(loop, policy, seed=seed, observers=[_Forgiven(each) for each in observers]):
                last = step
    except Ended as end:
        return Outcome(last, signal=end.number)
    except GpoeoError as error:
        return Outcome(last, error=error)
    return Outcome(last, error=_fault(last))


def _fault(last: Step | None) -> DeviceError | None:
    """Return the fault that ended an episode as an error."""
    if last is None or last.fault is None:
        return None
    return DeviceError(f"{_FAULTS[last.fault]}; the run has ended, and its clocks were given back as far as possible")


_FAULTS = {
    "gpu_lost": "the GPU is lost",
    "driver_fault": "the driver failed, and initialising it anew did not help",
    "overheated": "the GPU overheats: its hardware slows it down",
}


class _Forgiven:
    """An observer whose failure ends no run: a full disk must not cost control."""

    def __init__(self, observer: Observer) -> None:
        self._observer: Observer | None = observer

    def begin(self, context: PolicyContext, workload: str | None) -> None:
        """Begin; what fails here is said before anything is locked."""
        assert self._observer is not None, "an episode begins once"
        self._observer.begin(context, workload)

    def step(self, step: Step) -> None:
        """Pass a window on."""
        if self._observer is None:
            return
        try:
            self._observer.step(step)
        except (GpoeoError, OSError) as error:
            _LOG.error("%s: from here on it is left out; the run goes on", error)
            self.end()

    def end(self) -> None:
        """End."""
        observer, self._observer = self._observer, None
        if observer is not None:
            observer.end()
