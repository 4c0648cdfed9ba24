"""One workload of a sweep as a fit sees it: a bounded number of pairs, and numbers that are the same on every CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpoeo_env.signals import ENERGY, MEM_CLOCK, POWER, SM_CLOCK, WORK
from gpoeo_env.trace.sweep import Sweep
from gpoeo_policies.gpoeo.clock_grid import spaced
from gpoeo_policies.gpoeo.prior import log_relative_clocks
from gpoeo_policies.gpoeo.roofline import knows_roofline

__all__ = ["Sample", "chosen_features", "rounded"]

Array = NDArray[np.float64]

SIGNIFICANT = 6
"""Significant digits of all that trees are grown from: the last bits of a logarithm differ between CPUs, and a split
that hangs on them would give another model."""
_OWN_SIGNALS = {signal.name for signal in (ENERGY, WORK, POWER, SM_CLOCK, MEM_CLOCK)}


@dataclass(frozen=True, slots=True)
class Sample:
    """What one workload teaches.

    Attributes:
        workload: its name.
        log_clocks: ln of the clocks relative to the reference pair, float64, shape (n, 2).
        log_ratios: ln of time and energy ratios, float64, shape (2, n).
        features: power in W and counters at the reference pair, float64, shape (k,); NaN where missing.
    """

    workload: str
    log_clocks: Array
    log_ratios: Array
    features: Array

    @classmethod
    def of(cls, sweep: Sweep, names: Sequence[str]) -> Sample:
        """Take the pairs and the named features of a sweep."""
        log_clocks = log_relative_clocks(sweep.clocks, sweep.reference)[1:]
        rows = spaced(log_clocks)
        at_reference = {POWER.name: sweep.watts[sweep.reference_row]} | dict(
            zip(sweep.counter_names, sweep.counters[sweep.reference_row], strict=True)
        )
        return cls(
            workload=sweep.workload,
            log_clocks=rounded(log_clocks[rows]),
            log_ratios=rounded(np.log([sweep.time_ratio[rows], sweep.energy_ratio[rows]])),
            features=rounded(np.array([at_reference[name] for name in names])),
        )


def chosen_features(sweeps: Sequence[Sweep]) -> tuple[str, ...]:
    """Return the features of a reference window that a fit uses: its power, which every device reports, and counters.

    What a device reports in its own right is no counter of a recording. Where shares of the peak describe a workload
    already, only shares are taken: with a dozen workloads, trees mistake temperatures and bus traffic for reasons.
    """
    names = [name for name in sweeps[0].counter_names if name not in _OWN_SIGNALS]
    if knows_roofline(names):
        names = [name for name in names if all(_is_share(sweep, name) for sweep in sweeps)]
    return (POWER.name, *names)


def rounded(values: Array) -> Array:
    """Return values to `SIGNIFICANT` digits; below one, digits after the point."""
    magnitude = np.floor(np.log10(np.maximum(np.abs(np.nan_to_num(values)), 0.1))) + 1.0
    scale = 10.0 ** (SIGNIFICANT - magnitude)
    result: Array = np.round(values * scale) / scale
    return result


def _is_share(sweep: Sweep, name: str) -> bool:
    values = sweep.counters[:, sweep.counter_names.index(name)]
    values = values[np.isfinite(values)]
    return bool(np.all((values >= 0.0) & (values <= 1.0)))
