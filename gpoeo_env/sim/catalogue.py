"""The GPUs that can be simulated: clocks, limits and physical constants, one TOML file each.

    gpu = load_gpu("rtx3080ti")
    gpu.clocks.top                              # 1995/9501

The files are package data in ``sim/gpus``. A file ``configs/gpus/NAME.toml`` of the working folder wins over the one of
the same name in the package, adds a GPU otherwise, and may name the entry that it changes: ``base = "h200"`` takes over
everything that the file does not say.
"""

from __future__ import annotations

import tomllib
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, model_validator

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.config import validated
from gpoeo_env.errors import ConfigError, UnknownNameError

__all__ = [
    "ClockRange",
    "Gpu",
    "PowerConstants",
    "SensorConstants",
    "SwitchingConstants",
    "ThermalConstants",
    "ThroughputConstants",
    "VoltageCurve",
    "gpu_names",
    "load_gpu",
    "packaged_gpu_names",
]

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Fraction = Annotated[float, Field(ge=0, lt=1)]
PositiveMhz = Annotated[int, Field(gt=0)]

OWN_FOLDER = Path("configs") / "gpus"
"""Where a user's own entries are looked for, in the working folder."""
BASE = "base"
"""The key by which an entry names the one that it changes."""


class ClockRange(BaseModel, extra="forbid", frozen=True):
    """Every SM clock is offered with every memory clock.

    Attributes:
        sm_step_mhz: distance of the SM clocks; 7.5 on Volta, whose drivers list 7.5 MHz steps cut to whole MHz.
        mem_mhz: memory clocks; a single one where the driver does not let anybody choose.
        default_sm_mhz: SM clock that the driver's boost aims at while a kernel runs.
        default_mem_mhz: memory clock that the driver chooses for compute work.
    """

    sm_first_mhz: PositiveMhz
    sm_last_mhz: PositiveMhz
    sm_step_mhz: Positive
    mem_mhz: tuple[PositiveMhz, ...] = Field(min_length=1)
    default_sm_mhz: PositiveMhz
    default_mem_mhz: PositiveMhz

    @model_validator(mode="after")
    def _check_range(self) -> Self:
        span_mhz = self.sm_last_mhz - self.sm_first_mhz
        if span_mhz <= 0 or span_mhz % self.sm_step_mhz:
            raise ValueError("sm_last_mhz must lie a whole number of sm_step_mhz above sm_first_mhz")
        if self.default_sm_mhz not in self.sm_mhz or self.default_mem_mhz not in self.mem_mhz:
            raise ValueError("default_sm_mhz and default_mem_mhz must be clocks that the GPU offers")
        return self

    @cached_property
    def sm_mhz(self) -> tuple[int, ...]:
        """The SM clocks in whole MHz, ascending."""
        steps = round((self.sm_last_mhz - self.sm_first_mhz) / self.sm_step_mhz)
        return tuple(int(self.sm_first_mhz + step * self.sm_step_mhz) for step in range(steps + 1))


class VoltageCurve(BaseModel, extra="forbid", frozen=True):
    """Core voltage over SM clock: flat up to a clock, then rising to the top clock.

    Attributes:
        floor_v: the lowest voltage at which the chip works.
        floor_until_mhz: SM clock up to which the floor is enough.
        top_v: voltage at the top SM clock.
        curvature: exponent of the rise; 1 is a straight slope, above 1 the last clocks cost the most voltage.
    """

    floor_v: Positive
    floor_until_mhz: Positive
    top_v: Positive
    curvature: Annotated[float, Field(ge=1)]


class PowerConstants(BaseModel, extra="forbid", frozen=True):
    """What the board draws in watts; everything of the core at the top SM clock and voltage.

    Attributes:
        board_w: fans, regulators and everything that no clock changes.
        idle_w: the whole board once the driver has put it to sleep.
        idle_after_s: how long no kernel must run until it does.
        leakage_w: static power of the core at ``leakage_at_c``; falls with the square of the voltage.
        leakage_per_k: relative rise of the leakage with each kelvin.
        leakage_at_c: temperature at which ``leakage_w`` holds.
        clock_tree_w: switching power of the core that runs whether or not it has work.
        sm_w: schedulers, caches and register files while every SM holds a kernel.
        tensor_w: what the tensor pipe adds at full utilisation; likewise the other pipes.
        fp32_w: FP32 pipe.
        fp16_w: FP16 pipe outside the tensor cores.
        fp64_w: FP64 pipe.
        integer_w: integer pipe.
        onchip_w: L1, shared memory, L2 and crossbar at full traffic.
        mem_standing_w: memory power at the top memory clock without access; proportional to the memory clock.
        mem_access_w: what full bandwidth adds at the top memory clock; proportional to the bytes moved.
    """

    board_w: NotNegative
    idle_w: Positive
    idle_after_s: Positive
    leakage_w: NotNegative
    leakage_per_k: NotNegative
    leakage_at_c: float
    clock_tree_w: NotNegative
    sm_w: NotNegative
    tensor_w: NotNegative
    fp32_w: NotNegative
    fp16_w: NotNegative
    fp64_w: NotNegative
    integer_w: NotNegative
    onchip_w: NotNegative
    mem_standing_w: NotNegative
    mem_access_w: NotNegative


class ThermalConstants(BaseModel, extra="forbid", frozen=True):
    """The cooler as one resistance and one capacity.

    Attributes:
        ambient_c: air at the inlet.
        resistance_k_per_w: kelvin above ambient for each watt in the steady state.
        time_constant_s: seconds in which two thirds of a step are reached.
        slowdown_c: temperature at which the driver lowers the SM clock.
    """

    ambient_c: float
    resistance_k_per_w: Positive
    time_constant_s: Positive
    slowdown_c: Positive


class ThroughputConstants(BaseModel, extra="forbid", frozen=True):
    """Peak rates at the top clocks; they decide how a workload's balance shifts from one GPU to another.

    Attributes:
        tensor_tflops: dense 16-bit tensor operations with 32-bit accumulation.
        fp32_tflops: FP32 pipe.
        dram_gb_s: memory bandwidth.
        onchip_floor: share of the on-chip bandwidth that stays at the lowest SM clock (the L2 has a clock domain of
            its own which follows the SM clock in part).
    """

    tensor_tflops: Positive
    fp32_tflops: Positive
    dram_gb_s: Positive
    onchip_floor: Fraction


class SwitchingConstants(BaseModel, extra="forbid", frozen=True):
    """How long a clock change takes; the latency depends on the target (Velicka et al., arXiv 2502.20075).

    Attributes:
        sm_s: seconds for the shortest change of the SM clock.
        sm_span_s: what a rise over the whole range of SM clocks takes beyond that: it waits for the voltage.
        mem_s: seconds for a change of the memory clock, which retrains the memory.
    """

    sm_s: NotNegative
    sm_span_s: NotNegative
    mem_s: NotNegative


class SensorConstants(BaseModel, extra="forbid", frozen=True):
    """How the driver's readings come about; METHODS measured them on an H200.

    Attributes:
        power_refresh_s: seconds between two refreshes of power and energy.
        power_average_s: length of the moving average of the plain power reading.
        power_step_w: resolution of power.
        utilisation_refresh_s: seconds between two refreshes of NVML utilisation.
        counter_refresh_s: seconds between two refreshes of GPM and DCGM counters.
        ratio_step: resolution of utilisations and counters that are ratios.
    """

    power_refresh_s: Positive
    power_average_s: Positive
    power_step_w: Positive
    utilisation_refresh_s: Positive
    counter_refresh_s: Positive
    ratio_step: Positive


class Gpu(BaseModel, extra="forbid", frozen=True):
    """One simulated GPU.

    Attributes:
        name: short name for specs.
        full_name: as a driver would name it.
        power_limit_w: board power above which the SM clock is lowered.
        sources: for every figure, as ``section.key`` or ``section``, where it comes from, or "fitted", or "plausible"
            (of the right size for this class of card, measured by nobody).
    """

    name: str
    full_name: str
    power_limit_w: Positive
    clock_range: Annotated[ClockRange, Field(alias="clocks")]
    voltage: VoltageCurve
    power: PowerConstants
    thermal: ThermalConstants
    throughput: ThroughputConstants
    switching: SwitchingConstants
    sensors: SensorConstants
    sources: dict[str, str]

    @model_validator(mode="after")
    def _check_voltage(self) -> Self:
        curve = self.voltage
        if curve.floor_until_mhz >= self.clock_range.sm_last_mhz or curve.floor_v > curve.top_v:
            raise ValueError("the voltage floor must end below the top SM clock and lie at or under top_v")
        return self

    @cached_property
    def clocks(self) -> ClockTable:
        """Every pair that the GPU offers."""
        return ClockTable.from_product(self.clock_range.sm_mhz, self.clock_range.mem_mhz)

    @property
    def default_pair(self) -> ClockPair:
        """What the driver aims at when released; power and temperature may hold the SM clock below it."""
        return ClockPair(self.clock_range.default_sm_mhz, self.clock_range.default_mem_mhz)

    def switching_s(self, old: ClockPair | None, new: ClockPair | None) -> float:
        """Return how many seconds a change from one pair to another takes; None = the driver's default."""
        before, after = old or self.default_pair, new or self.default_pair
        span = self.clock_range.sm_last_mhz - self.clock_range.sm_first_mhz
        seconds = 0.0
        if before.sm_mhz != after.sm_mhz:
            seconds += self.switching.sm_s + self.switching.sm_span_s * max(0, after.sm_mhz - before.sm_mhz) / span
        if before.mem_mhz != after.mem_mhz:
            seconds += self.switching.mem_s
        return seconds


def gpu_names() -> tuple[str, ...]:
    """Return the names that `load_gpu` knows, sorted."""
    return tuple(sorted(_catalogue()))


def packaged_gpu_names() -> tuple[str, ...]:
    """Return the names of the catalogue itself, without entries of the working folder, sorted."""
    return tuple(sorted(_entries(files("gpoeo_env.sim") / "gpus")))


def load_gpu(name: str) -> Gpu:
    """Return a GPU of the catalogue, or of the working folder's ``configs/gpus``.

    Raises:
        UnknownNameError: there is none of that name; the message names the nearest.
        ConfigError: the file cannot be read, or a figure in it is missing, unknown or out of range.
    """
    entries = _catalogue()
    if name not in entries:
        raise UnknownNameError("simulated GPU", name, entries)
    return validated(Gpu, _contents(name, entries[name]), f"GPU {entries[name]}")


def _catalogue() -> dict[str, Traversable]:
    return _entries(files("gpoeo_env.sim") / "gpus") | _entries(OWN_FOLDER)


def _entries(folder: Traversable) -> dict[str, Traversable]:
    if not folder.is_dir():
        return {}
    return {file.name.removesuffix(".toml"): file for file in folder.iterdir() if file.name.endswith(".toml")}


def _contents(name: str, file: Traversable) -> dict[str, Any]:
    """Return an entry as plain data, laid over the one that it is based on; `Any`: checked by its model."""
    try:
        entry = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"GPU {file} cannot be read: {error}; mend the file") from error
    base = entry.pop(BASE, None)
    if base is None:
        return entry
    packaged = files("gpoeo_env.sim") / "gpus" / f"{base}.toml"
    if not packaged.is_file():
        raise UnknownNameError(f"base of GPU {name}, which", str(base), gpu_names())
    return _laid_over(tomllib.loads(packaged.read_text(encoding="utf-8")), entry)


def _laid_over(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return ``base`` with ``changes``, table by table; `Any`: parsed TOML."""
    merged = dict(base)
    for key, value in changes.items():
        is_table = isinstance(value, dict) and isinstance(base.get(key), dict)
        merged[key] = _laid_over(base[key], value) if is_table else value
    return merged
