"""The GPUs that can be simulated: clocks, limits and physical constants, one TOML file each in ``sim/gpus``.

gpu = load_gpu("rtx3080ti")
gpu.clocks.top                              # 1995/9501
"""

from __future__ import annotations

import tomllib
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Annotated, Self

from pydantic import BaseModel, Field, model_validator

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.errors import UnknownNameError

__all__ = ["ClockRange", "Gpu", "PowerConstants", "VoltageCurve", "gpu_names", "load_gpu"]

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
PositiveMhz = Annotated[int, Field(gt=0)]


class ClockRange(BaseModel, extra="forbid", frozen=True):
    """Every SM clock is offered with every memory clock."""

    sm_first_mhz: PositiveMhz
    sm_last_mhz: PositiveMhz
    sm_step_mhz: PositiveMhz
    mem_mhz: tuple[PositiveMhz, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_range(self) -> Self:
        span_mhz = self.sm_last_mhz - self.sm_first_mhz
        if span_mhz <= 0 or span_mhz % self.sm_step_mhz:
            raise ValueError("sm_last_mhz must lie a whole number of sm_step_mhz above sm_first_mhz")
        return self


class VoltageCurve(BaseModel, extra="forbid", frozen=True):
    """Core voltage over SM clock: flat up to a clock, then rising to the top clock.

    Attributes:
        floor_v: the lowest voltage at which the chip works.
        floor_until_mhz: SM clock up to which the floor is enough.
        top_v: voltage at the top SM clock.
        curvature: exponent of the rise; above 1 the last clocks cost the most voltage.
    """

    floor_v: Positive
    floor_until_mhz: Positive
    top_v: Positive
    curvature: Annotated[float, Field(ge=1)]


class PowerConstants(BaseModel, extra="forbid", frozen=True):
    """What the board draws.

    Attributes:
        board_w: fans, regulators and everything that no clock changes.
        leakage_w: static power of the core at the top voltage; falls with the square of the voltage.
        switching_w: dynamic power of the core at the top clock and voltage with every pipe busy.
        clocking_share: share of ``switching_w`` that clock trees and schedulers draw while a kernel runs at all.
        mem_standing_w: memory power at the top memory clock without access; proportional to the memory clock.
        mem_access_w: what full bandwidth adds at the top memory clock; proportional to the bytes moved.
    """

    board_w: Positive
    leakage_w: Positive
    switching_w: Positive
    clocking_share: Annotated[float, Field(ge=0, lt=1)]
    mem_standing_w: Positive
    mem_access_w: Positive


class Gpu(BaseModel, extra="forbid", frozen=True):
    """One simulated GPU.

    Attributes:
        name: short name for specs.
        full_name: as a driver would name it.
        power_limit_w: board power above which the SM clock is lowered.
        settle_s: seconds that a clock change takes.
    """

    name: str
    full_name: str
    power_limit_w: Positive
    settle_s: Annotated[float, Field(ge=0)]
    clock_range: Annotated[ClockRange, Field(alias="clocks")]
    voltage: VoltageCurve
    power: PowerConstants

    @model_validator(mode="after")
    def _check_voltage(self) -> Self:
        curve = self.voltage
        if curve.floor_until_mhz >= self.clock_range.sm_last_mhz or curve.floor_v > curve.top_v:
            raise ValueError("the voltage floor must end below the top SM clock and lie at or under top_v")
        return self

    @cached_property
    def clocks(self) -> ClockTable:
        """Every pair that the GPU offers."""
        span = self.clock_range
        sm_mhz = range(span.sm_first_mhz, span.sm_last_mhz + 1, span.sm_step_mhz)
        return ClockTable.from_product(sm_mhz, span.mem_mhz)

    @property
    def default_pair(self) -> ClockPair:
        """What the driver chooses when released: the top pair, under the power limit."""
        return self.clocks.top


def gpu_names() -> tuple[str, ...]:
    """Return the names that `load_gpu` knows, sorted."""
    return tuple(sorted(_catalogue()))


def load_gpu(name: str) -> Gpu:
    """Return a GPU of the catalogue.

    Raises:
        UnknownNameError: there is none of that name; the message names the nearest.
    """
    entries = _catalogue()
    if name not in entries:
        raise UnknownNameError("simulated GPU", name, entries)
    return Gpu.model_validate(tomllib.loads(entries[name].read_text(encoding="utf-8")))


def _catalogue() -> dict[str, Traversable]:
    folder = files("gpoeo_env.sim") / "gpus"
    return {entry.name.removesuffix(".toml"): entry for entry in folder.iterdir() if entry.name.endswith(".toml")}
