"""The models that come with the package: one for each GPU of the catalogue, fitted to simulated training workloads.

They are rebuilt by ``make models``, bit for bit from the seed of the training suite. A model fitted to sweeps of one's
own GPU (``gpoeo profile``, ``gpoeo fit``) knows it better.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import as_file, files

from gpoeo_env.errors import UsageError
from gpoeo_policies.gpoeo.bundle import load_model
from gpoeo_policies.gpoeo.models import EnergyTimeModel

__all__ = ["shipped_gpus", "shipped_model"]

FOLDER = files("gpoeo_policies.gpoeo") / "bundles"
INDEX = "index.json"
"""Name of each GPU, as its driver gives it, and the folder of its model."""


@cache
def shipped_gpus() -> dict[str, str]:
    """Return the folder of each model by the name of its GPU, as the driver gives it."""
    index: dict[str, str] = json.loads((FOLDER / INDEX).read_text(encoding="utf-8"))
    return index


def shipped_model(gpu_name: str) -> EnergyTimeModel:
    """Return the model for a GPU.

    Raises:
        UsageError: none comes with the package.
        ModelError: it is damaged.
    """
    known = shipped_gpus()
    if gpu_name not in known:
        raise UsageError(
            f"no model for {gpu_name!r} comes with the package; there are models for {', '.join(known)}; fit one "
            "(gpoeo profile, gpoeo fit) and name it (gpoeo,model=FOLDER), or search without (gpoeo,start=top)"
        )
    with as_file(FOLDER / known[gpu_name]) as folder:
        return load_model(folder)
