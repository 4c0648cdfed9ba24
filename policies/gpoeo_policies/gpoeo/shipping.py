"""``make models``: fits the models that come with the package, each to the training suite on a simulated GPU."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from gpoeo_env.sim.catalogue import Gpu, load_gpu, packaged_gpu_names
from gpoeo_env.sim.closed_form import sweep_of
from gpoeo_env.sim.suites import training_suite
from gpoeo_policies.gpoeo.bundle import save_model
from gpoeo_policies.gpoeo.models import EnergyTimeModel
from gpoeo_policies.gpoeo.shipped import INDEX

__all__ = ["model_of", "ship"]

BUNDLES = Path(__file__).parent / "bundles"


def model_of(gpu: Gpu) -> EnergyTimeModel:
    """Fit the model for a GPU, the same at every call."""
    return EnergyTimeModel().fit([sweep_of(gpu, workload) for workload in training_suite(gpu)])


def ship(folder: Path, names: Sequence[str]) -> None:
    """Write the models of some GPUs and their index; what was in the folder is replaced.

    Raises:
        UnknownNameError: the catalogue has no such GPU.
        ModelError: a model cannot be written.
    """
    gpus = [load_gpu(name) for name in names]
    shutil.rmtree(folder, ignore_errors=True)
    for gpu in gpus:
        save_model(model_of(gpu), folder / gpu.name)
        sys.stderr.write(f"wrote {folder / gpu.name}\n")
    index = {gpu.full_name: gpu.name for gpu in gpus}
    (folder / INDEX).write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    ship(BUNDLES, packaged_gpu_names())
