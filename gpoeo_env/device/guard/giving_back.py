"""Giving clocks back: the one routine that the guard, the watchdog and ``gpoeo restore`` share."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from gpoeo_env.device.guard.actuator import Actuator, ClockRange, Domain, LocksRanges
from gpoeo_env.errors import DeviceError

__all__ = ["GivenBack", "give_back"]

_LOG = logging.getLogger(__name__)
_WORDS = {"sm": "SM clock", "memory": "memory clock"}


@dataclass(frozen=True, slots=True)
class GivenBack:
    """What came of it.

    Attributes:
        done: what was restored, in that order, in words.
        failed: what was not, each with the reason.
    """

    done: tuple[str, ...]
    failed: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to do."""
        return not self.failed


def give_back(actuator: Actuator, restore_to: ClockRange | None = None) -> GivenBack:
    """Restore every domain, last set first. What fails is logged, and the rest is restored all the same.

    Args:
        actuator: what set the clocks, or can reset them.
        restore_to: SM clocks to lock; None = the driver's default. The memory clock always goes to the driver.
    """
    done, failed = [], []
    for domain in reversed(actuator.domains):
        try:
            done.append(_restore(actuator, domain, restore_to))
        except Exception as error:  # whatever one domain raises, the others must be given back
            failed.append(f"{_WORDS[domain]}: {error}")
            _LOG.error("the %s of %s could not be given back: %s", _WORDS[domain], actuator.gpu_uuid, error)
    return GivenBack(tuple(done), tuple(failed))


def _restore(actuator: Actuator, domain: Domain, restore_to: ClockRange | None) -> str:
    if domain == "memory":
        actuator.release_memory()
    elif restore_to is None:
        actuator.release_sm()
    elif isinstance(actuator, LocksRanges):
        actuator.lock_sm_range(restore_to)
        return f"{_WORDS[domain]} to {restore_to} MHz"
    else:
        raise DeviceError(f"actuator {actuator.name} cannot lock a range; set {restore_to} MHz by hand")
    return _WORDS[domain]
