"""Fitting models to sweeps, once for each content: a fitted model is kept in the user's cache folder."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import lightgbm

from gpoeo_env.errors import ModelError
from gpoeo_env.trace.sweep import Sweep
from gpoeo_policies.gpoeo.boosting import BoostingSettings
from gpoeo_policies.gpoeo.bundle import SCHEMA_VERSION, load_model, save_model
from gpoeo_policies.gpoeo.models import EnergyTimeModel

__all__ = ["cache_folder", "fitted_model"]


def fitted_model(sweeps: Sequence[Sweep], settings: BoostingSettings | None = None) -> EnergyTimeModel:
    """Return a model fitted to sweeps, from the cache where the same content was fitted before.

    A cache that cannot be written or has been damaged costs a fit and nothing else.

    Raises:
        ModelError: the sweeps cannot be fitted.
    """
    settings = settings or BoostingSettings()
    folder = cache_folder() / _fingerprint(sweeps, settings)
    try:
        return load_model(folder)
    except ModelError:
        model = EnergyTimeModel(settings).fit(sweeps)
    shutil.rmtree(folder, ignore_errors=True)  # what could not be loaded is damaged
    with suppress(ModelError):  # another process was faster, or the cache is read-only: the model is here all the same
        save_model(model, folder)
    return model


def cache_folder() -> Path:
    """Return where fitted models are kept: ``$XDG_CACHE_HOME/gpoeo-env/models``, by default under ``~/.cache``."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "gpoeo-env" / "models"


def _fingerprint(sweeps: Sequence[Sweep], settings: BoostingSettings) -> str:
    """Return a hash of everything that a fit depends on."""
    digest = hashlib.sha256(f"{SCHEMA_VERSION} {lightgbm.__version__} {asdict(settings)}".encode())
    for sweep in sweeps:
        digest.update(repr((sweep.workload, sweep.reference, sweep.counter_names)).encode())
        for values in (sweep.clocks.mhz, sweep.seconds, sweep.joules, sweep.counters):
            digest.update(values.tobytes())
    return digest.hexdigest()[:32]
