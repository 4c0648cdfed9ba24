"""From settings to a policy: the entry point ``gpoeo``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, Field

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.config import validated
from gpoeo_env.errors import UsageError
from gpoeo_env.policy import PolicyContext
from gpoeo_env.records import Features
from gpoeo_policies.gpoeo.belief import Prior
from gpoeo_policies.gpoeo.bundle import load_model
from gpoeo_policies.gpoeo.models import EnergyTimeModel
from gpoeo_policies.gpoeo.policy import GpoeoPolicy, Predictor
from gpoeo_policies.gpoeo.prior import log_relative_clocks, uninformed_prior
from gpoeo_policies.gpoeo.search import SearchSettings
from gpoeo_policies.gpoeo.shipped import shipped_model
from gpoeo_policies.gpoeo.training import fitted_model

__all__ = ["ModelStart", "ShippedStart", "Start", "UninformedStart", "build"]


class Start(Enum):
    """Where the search starts."""

    MODEL = "model"
    """From the boosted models' prediction."""
    TOP = "top"
    """Without a model, at the highest clocks: what the models are worth is the difference."""
    RANDOM = "random"
    """Without a model, at a pair drawn with the episode's seed."""


class ModelStart:
    """Starts from fitted models."""

    def __init__(self, model: EnergyTimeModel) -> None:
        """Take a fitted model."""
        self.model = model

    def begin(self, context: PolicyContext) -> None:
        """Need nothing."""

    def predict(self, features: Features, clocks: ClockTable, base: ClockPair) -> Prior:
        """Return the model's prediction."""
        return self.model.predict(features, clocks, base)

    def first_probe(self, clocks: ClockTable, seed: int) -> None:
        """Leave the first probe to the search."""


class ShippedStart(ModelStart):
    """Starts from the models that come with the package, once it knows the GPU."""

    def __init__(self) -> None:
        """Wait for an episode."""

    def begin(self, context: PolicyContext) -> None:
        """Read the models for the GPU.

        Raises:
            UsageError: there are none.
            ModelError: they are damaged.
        """
        self.model = shipped_model(context.gpu_name)


class UninformedStart:
    """Starts without a model, at the top clocks or at a random pair."""

    def __init__(self, *, is_random: bool) -> None:
        """Choose where."""
        self.is_random = is_random

    def begin(self, context: PolicyContext) -> None:
        """Need nothing."""

    def predict(self, features: Features, clocks: ClockTable, base: ClockPair) -> Prior:  # noqa: ARG002 - knows nothing
        """Return the uninformed prior."""
        return uninformed_prior(log_relative_clocks(clocks, base))

    def first_probe(self, clocks: ClockTable, seed: int) -> int:
        """Return the top pair, or one drawn with the seed."""
        if self.is_random:
            return int(np.random.default_rng(seed).integers(1, clocks.n_actions))
        return clocks.action_of(clocks.top)


_DEFAULTS = SearchSettings()


class _Settings(BaseModel, extra="forbid", frozen=True):
    start: Start = Start.MODEL
    model: Path | None = None
    confidence: float = Field(default=_DEFAULTS.confidence, gt=0.5, lt=1.0)
    horizon: float = Field(default=_DEFAULTS.horizon, gt=0.0)
    overhead: float = Field(default=_DEFAULTS.overhead, ge=0.0)
    loyalty: float = Field(default=_DEFAULTS.loyalty, ge=0.0)
    max_probes: int = Field(default=_DEFAULTS.max_probes, ge=1)


def build(config: Mapping[str, Any], sweeps: Sequence[Any] | None = None) -> GpoeoPolicy:
    """Build the policy.

    Settings: ``start`` (model, top, random), ``model`` (folder of a fitted model; else one is fitted to ``sweeps``;
    else the one that comes with the package for the GPU), ``confidence``, ``horizon``, ``overhead``, ``loyalty``,
    ``max_probes`` (see `SearchSettings`).

    Raises:
        ConfigError: a setting is unknown or out of range.
        UsageError: a start without a model is asked to use one.
        ModelError: the model cannot be read or fitted.
    """
    settings = validated(_Settings, config, "policy gpoeo")
    search = SearchSettings(
        settings.confidence, settings.horizon, settings.overhead, settings.loyalty, settings.max_probes
    )
    return GpoeoPolicy(_start(settings, sweeps), search)


def _start(settings: _Settings, sweeps: Sequence[Any] | None) -> Predictor:
    if settings.start is not Start.MODEL:
        if settings.model is not None:
            raise UsageError(f"policy gpoeo: start={settings.start.value} uses no model; leave out model=...")
        return UninformedStart(is_random=settings.start is Start.RANDOM)
    if settings.model is not None:
        return ModelStart(load_model(settings.model))
    return ModelStart(fitted_model(sweeps)) if sweeps else ShippedStart()
