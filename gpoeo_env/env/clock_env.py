"""The Gymnasium environment: choose clocks, get a window measured by the same core that measures every policy.

    env = ClockEnv(open_device("sim:rtx3080ti"), ControlSettings(limit=0.05))
    observation, info = env.reset(seed=0, options={"workload": "resnet50"})     # measures the driver's default
    observation, reward, terminated, truncated, info = env.step(env.clocks.action_of(ClockPair(1500, 9501)))

A learned agent in here and a policy under `run_episode` meet the same windows, the same books and the same seeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.device.base import Device
from gpoeo_env.env.control import ControlLoop, ControlSettings
from gpoeo_env.errors import ConfigError, DeviceLostError, UnknownNameError, UsageError
from gpoeo_env.features import observation_bounds, observation_of
from gpoeo_env.policy import Decision, Step
from gpoeo_env.progress.meter import ProgressMeter
from gpoeo_env.records import Reference, Totals

__all__ = ["EXCESS_PENALTY", "ClockEnv"]

EXCESS_PENALTY = 10.0
"""Reward lost for one unit of excess over the whole budget. On simulated and measured curves one percent more
slowdown buys at most a few percent of energy, so that ten makes breaking the limit a loss everywhere."""

_OPTIONS = ("workload",)


class ClockEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """One device as an environment.

    Actions: ``Discrete(1 + number of clock pairs)``; 0 releases to the driver, ``i`` locks pair ``i - 1``.
    Observations: float32, see `gpoeo_env.features.OBSERVATION_NAMES`.
    Reward: ``saved_frac - excess_penalty * cost * share``, where ``share`` is the window's part of the work budget.
    Its undiscounted sum is the share of the default's energy that was saved on the budget, search and settling
    included, less the penalty on the mean excess. A window whose progress is unknown earns 0.
    Episodes: `terminated` when the work budget is done or the device is lost, `truncated` by time, steps or log end.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - the attribute is Gymnasium's

    def __init__(
        self,
        device: Device,
        settings: ControlSettings | None = None,
        *,
        workload: str | Sequence[str] | None = None,
        excess_penalty: float = EXCESS_PENALTY,
        meter: ProgressMeter | None = None,
    ) -> None:
        """Take a device; `close` closes it.

        Args:
            device: any device; its clock table is the action space.
            settings: objective, limit, windows and budget; defaults where None.
            workload: what episodes run: one name, several to draw from at every reset, or None for all that the
                device has.
            excess_penalty: weight of the cost in the reward, 0 or more.
            meter: how progress is measured; the work counter where None.

        Raises:
            UnknownNameError: the device has no such workload.
            UsageError: the workloads have different clock tables.
            ConfigError: the penalty is negative or not finite.
        """
        if not (math.isfinite(excess_penalty) and excess_penalty >= 0):
            raise ConfigError(f"excess_penalty is a number, 0 or more; got {excess_penalty:g}")
        self._loop = ControlLoop(device, settings, meter)
        self._workloads = _chosen_workloads(device.info.workloads, workload)
        self._clocks = _common_table(device, self._workloads)
        self._excess_penalty = excess_penalty
        self._workload: str | None = None
        self._step: Step | None = None
        low, high = observation_bounds()
        self.action_space = gymnasium.spaces.Discrete(self._clocks.n_actions)
        self.observation_space = gymnasium.spaces.Box(low, high, dtype=np.float32)

    @property
    def clocks(self) -> ClockTable:
        """The pairs behind the actions."""
        return self._clocks

    @property
    def settings(self) -> ControlSettings:
        """How an episode is measured and when it ends."""
        return self._loop.settings

    @property
    def last_step(self) -> Step:
        """The last window as policies see it.

        Raises:
            UsageError: no episode has begun.
        """
        if self._step is None:
            raise UsageError("no episode has begun; call reset() first")
        return self._step

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start an episode and measure the driver's default.

        Args:
            seed: of this episode, for device noise and the choice of workload; None draws one from `np_random`.
            options: ``workload`` names what to run. `Any`: Gymnasium's signature.

        Raises:
            UsageError: an option is unknown.
            UnknownNameError: the device has no such workload.
            ConfigError: the reference windows alone use up the episode.
            DeviceLostError: the device was lost while the reference was measured.
        """
        super().reset(seed=seed)
        self._workload = self._draw_workload(options or {})
        episode_seed = int(self.np_random.integers(2**31)) if seed is None else seed
        step = self._loop.begin(episode_seed, self._workload)
        if step.fault is not None:
            raise DeviceLostError("the device was lost while the driver's default was measured; open it again")
        if step.is_last:
            raise ConfigError(
                f"the episode ended within its {self.settings.reference_windows} reference windows of "
                f"{self.settings.window_s:g} s; raise budget_s ({self.settings.budget_s:g}) or max_steps, or shorten "
                "the windows"
            )
        self._step = step
        return self._observation(step), self._info(step, Totals())

    def step(self, action: np.int64 | int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Lock the action's pair for one window.

        Raises:
            UsageError: no episode is running.
            ClockNotSupportedError: the action is outside the action space.
        """
        before = self._step.totals if self._step else Totals()
        step = self._loop.step(Decision(int(action)))
        self._step = step
        reward = self._reward(step, before)
        return self._observation(step), reward, step.terminated, step.truncated, self._info(step, before)

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions are valid: all, because the table holds only what the device offers.

        bool, shape (n_actions,), as sb3-contrib's MaskablePPO asks for it.
        """
        return np.ones(self._clocks.n_actions, dtype=np.bool_)

    def close(self) -> None:
        """Give the clocks back; calling it twice is fine."""
        self._loop.close()

    def _draw_workload(self, options: Mapping[str, Any]) -> str | None:
        """Return what to run. `Any`: Gymnasium's options."""
        for name in options:
            if name not in _OPTIONS:
                raise UnknownNameError("reset option", name, _OPTIONS)
        wanted = options.get("workload")
        if wanted is not None:
            return _chosen_workloads(self._workloads, str(wanted))[0]
        if not self._workloads:
            return None
        return self._workloads[int(self.np_random.integers(len(self._workloads)))]

    def _observation(self, step: Step) -> NDArray[np.float32]:
        power_limit_w = self._loop.device.info.power_limit_w
        return observation_of(step.measurement, step.pair, self._clocks, power_limit_w)

    def _reward(self, step: Step, before: Totals) -> float:
        share = (step.totals.reference_seconds - before.reference_seconds) / self.settings.budget_s
        if share <= 0:
            return 0.0
        return step.saved_frac - self._excess_penalty * step.excess * share

    def _info(self, step: Step, before: Totals) -> dict[str, Any]:
        """Return everything that a trainer or a log may want; None = unknown. `Any`: Gymnasium's signature.

        The first level describes this window, settling included in seconds and joules; ``totals`` the episode.
        """
        measurement, ratios = step.measurement, step.measurement.ratios
        return {
            "workload": self._workload,
            "device": self._loop.device.info.kind,
            "seconds": step.totals.seconds - before.seconds,
            "joules": step.totals.joules - before.joules,
            "slowdown": ratios.slowdown if ratios else None,
            "saving": ratios.saving if ratios else None,
            "saved_frac": step.saved_frac,
            "cost": _known(step.excess),
            "requested": _mhz(step.pair),
            "observed": _mhz(measurement.observed),
            "honoured": measurement.honoured,
            "throttled": measurement.throttled,
            "settle": {"seconds": measurement.settle.seconds, "joules": measurement.settle.joules},
            "purpose": step.decision.purpose.value,
            "progress": {
                "kind": measurement.progress.kind,
                "work_rate": _known(measurement.progress.work_rate),
                "rel_sd": _known(measurement.progress.rel_sd),
                "reason": measurement.progress.reason,
            },
            "shifted": step.shifted,
            "missing": measurement.missing,
            "fault": step.fault,
            "reference": _reference(step.reference),
            "totals": {
                **{part.name: getattr(step.totals, part.name) for part in fields(Totals)},
                "saving": _known(step.totals.saving),
                "slowdown": _known(step.totals.slowdown),
            },
        }


def _chosen_workloads(known: Sequence[str], wanted: str | Sequence[str] | None) -> tuple[str, ...]:
    if wanted is None:
        return tuple(known)
    names = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    if not names:
        raise UsageError("an empty list of workloads was given; name at least one, or none at all for every workload")
    for name in names:
        if name not in known:
            raise UnknownNameError("workload", name, known)
    return names


def _common_table(device: Device, workloads: Sequence[str]) -> ClockTable:
    """Return the one table of all workloads: the action space must not change between episodes."""
    table = device.clocks
    for index, name in enumerate(workloads):
        device.begin(0, name)
        if index == 0:
            table = device.clocks
        elif device.clocks != table:
            raise UsageError(
                f"workloads {workloads[0]!r} and {name!r} have different clock tables ({table} and {device.clocks}), "
                "and an environment has one action space; choose workloads with the same table, or one workload"
            )
    return table


def _known(value: float) -> float | None:
    """Return None for NaN: Gymnasium compares infos, and NaN equals nothing."""
    return value if math.isfinite(value) else None


def _mhz(pair: ClockPair | None) -> tuple[int, int] | None:
    return None if pair is None else (pair.sm_mhz, pair.mem_mhz)


def _reference(reference: Reference | None) -> dict[str, float | None] | None:
    if reference is None:
        return None
    return {
        "seconds_per_work": _known(reference.seconds_per_work),
        "joules_per_work": _known(reference.joules_per_work),
        "power_w": _known(reference.power_w),
        "windows": reference.windows,
        "segment": reference.segment,
    }
