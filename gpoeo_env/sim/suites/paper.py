"""71 training workloads over the families that GPOEO's authors tested on: AIBench's components and benchmarking-gnns.

The names are those that the two suites publish (17 components; 9 models on 6 data sets). The parameters are ours,
chosen to be plausible on a card of 350 W. They are not measurements of these programs, and which 71 the paper ran is
not known.
"""

from __future__ import annotations

from dataclasses import replace

from gpoeo_env.sim.phases import Mix
from gpoeo_env.sim.suites.recipe import Recipe, phases_of
from gpoeo_env.sim.workloads import Workload

__all__ = ["paper_workloads"]


def paper_workloads() -> tuple[Workload, ...]:
    """Return the suite: components first, then graph networks by data set and model."""
    components = [
        _workload(name, family, recipe, length_sd) for name, (family, recipe, length_sd) in _components().items()
    ]
    graphs = [_graph(data_set, model) for data_set in _DATA_SETS for model in _MODELS]
    return (*components, *graphs)


def _workload(name: str, family: str, recipe: Recipe, length_sd: float) -> Workload:
    return Workload(name=name, family=family, phases=phases_of(recipe), jitter=0.015, length_sd=length_sd)


def _conv(tensor: float, fp32: float, **changes: float) -> Mix:
    return replace(Mix(tensor=tensor, fp32=fp32, integer=0.14, occupancy=0.42, fill=0.96, l1_hit=0.45), **changes)


def _components() -> dict[str, tuple[str, Recipe, float]]:
    """Return family, recipe and spread of lengths by AIBench component."""
    return {
        **_vision(),
        **_language(),
        **_generative(),
        **_three_d(),
    }


def _vision() -> dict[str, tuple[str, Recipe, float]]:
    return {
        "image-classification": (
            "vision",
            Recipe(gpu_s=0.160, balance=(1.0, 0.52, 0.72), mix=_conv(0.44, 0.22), launch_s=0.008, pcie_mb=38),
            0.0,
        ),
        "object-detection": (
            "vision",
            Recipe(
                gpu_s=0.310, balance=(1.0, 0.55, 0.66), mix=_conv(0.33, 0.26, fill=0.88), launch_s=0.060, pcie_mb=24
            ),
            0.08,
        ),
        "face-embedding": (
            "vision",
            Recipe(gpu_s=0.120, balance=(1.0, 0.50, 0.60), mix=_conv(0.50, 0.20), stall_s=0.020, pcie_mb=45),
            0.0,
        ),
        "spatial-transformer": (
            "vision",
            Recipe(gpu_s=0.012, balance=(0.8, 0.6, 1.0), mix=_conv(0.06, 0.28, fill=0.6), launch_s=0.014, pcie_mb=2),
            0.0,
        ),
        "neural-architecture-search": (
            "vision",
            Recipe(gpu_s=0.055, balance=(0.9, 0.6, 1.0), mix=_conv(0.10, 0.33, fill=0.7), launch_s=0.040),
            0.10,
        ),
        "video-prediction": (
            "vision",
            Recipe(gpu_s=0.240, balance=(1.0, 0.60, 0.85), mix=_conv(0.22, 0.40), launch_s=0.020, pcie_mb=30),
            0.0,
        ),
    }


def _language() -> dict[str, tuple[str, Recipe, float]]:
    return {
        "text-to-text-translation": (
            "translation",
            Recipe(gpu_s=0.210, balance=(1.0, 0.48, 0.50), mix=_conv(0.58, 0.17), launch_s=0.012),
            0.12,
        ),
        "text-summarization": (
            "translation",
            Recipe(gpu_s=0.095, balance=(1.0, 0.60, 0.80), mix=_conv(0.22, 0.24, fill=0.66), launch_s=0.050),
            0.15,
        ),
        "image-to-text": (
            "translation",
            Recipe(gpu_s=0.130, balance=(1.0, 0.55, 0.75), mix=_conv(0.30, 0.24, fill=0.8), launch_s=0.030, pcie_mb=20),
            0.06,
        ),
        "speech-recognition": (
            "speech",
            Recipe(gpu_s=0.330, balance=(1.0, 0.65, 0.90), mix=_conv(0.28, 0.26, fill=0.75), launch_s=0.050, pcie_mb=8),
            0.18,
        ),
        "recommendation": (
            "recommendation",
            Recipe(
                gpu_s=0.030,
                balance=(0.35, 0.4, 1.0),
                mix=_conv(0.05, 0.2, fill=0.7, l1_hit=0.15),
                stall_s=0.024,
                launch_s=0.008,
                pcie_mb=12,
            ),
            0.0,
        ),
        "learning-to-rank": (
            "recommendation",
            Recipe(
                gpu_s=0.022,
                balance=(0.5, 0.4, 1.0),
                mix=_conv(0.03, 0.22, fill=0.55, l1_hit=0.2),
                stall_s=0.030,
                launch_s=0.010,
                pcie_mb=6,
            ),
            0.05,
        ),
    }


def _generative() -> dict[str, tuple[str, Recipe, float]]:
    return {
        "image-generation": (
            "generative",
            Recipe(gpu_s=0.085, balance=(1.0, 0.5, 0.72), mix=_conv(0.26, 0.34, fill=0.86), launch_s=0.020, pcie_mb=6),
            0.0,
        ),
        "image-to-image-translation": (
            "generative",
            Recipe(gpu_s=0.420, balance=(1.0, 0.5, 0.70), mix=_conv(0.35, 0.34), launch_s=0.020, pcie_mb=4),
            0.0,
        ),
        "image-compression": (
            "generative",
            Recipe(gpu_s=0.180, balance=(0.9, 0.7, 1.0), mix=_conv(0.12, 0.42), stall_s=0.025, pcie_mb=18),
            0.0,
        ),
    }


def _three_d() -> dict[str, tuple[str, Recipe, float]]:
    return {
        "3d-face-recognition": (
            "3-d",
            Recipe(gpu_s=0.140, balance=(1.0, 0.55, 0.78), mix=_conv(0.36, 0.26), stall_s=0.040, pcie_mb=50),
            0.0,
        ),
        "3d-object-reconstruction": (
            "3-d",
            Recipe(gpu_s=0.260, balance=(1.0, 0.60, 0.95), mix=_conv(0.18, 0.44), launch_s=0.016, pcie_mb=25),
            0.0,
        ),
    }


_DATA_SETS = {
    # seconds of the busiest GPU part, launches relative to it, stall relative to it, spread of graph sizes
    "mnist": (0.040, 0.55, 0.30, 0.02),
    "cifar10": (0.062, 0.45, 0.28, 0.02),
    "sbm-pattern": (0.070, 0.40, 0.15, 0.05),
    "sbm-cluster": (0.078, 0.38, 0.15, 0.05),
    "zinc": (0.016, 1.10, 0.40, 0.04),
    "tsp": (0.150, 0.20, 0.12, 0.08),
}
_MODELS = {
    # length relative to the data set's, balance of compute, on-chip and DRAM, mix
    "mlp": (0.35, (1.0, 0.4, 0.75), Mix(fp32=0.30, integer=0.10, occupancy=0.40, fill=0.60, l1_hit=0.5)),
    "gcn": (0.60, (0.50, 0.55, 1.0), Mix(fp32=0.26, integer=0.24, occupancy=0.50, fill=0.74, l1_hit=0.25)),
    "graphsage": (0.70, (0.58, 0.60, 1.0), Mix(fp32=0.28, integer=0.24, occupancy=0.48, fill=0.74, l1_hit=0.28)),
    "gin": (0.65, (0.70, 0.55, 1.0), Mix(fp32=0.30, integer=0.22, occupancy=0.46, fill=0.70, l1_hit=0.3)),
    "gat": (0.95, (0.55, 0.80, 1.0), Mix(fp32=0.24, integer=0.28, occupancy=0.52, fill=0.80, l1_hit=0.3)),
    "monet": (1.10, (0.65, 0.75, 1.0), Mix(fp32=0.32, integer=0.26, occupancy=0.50, fill=0.82, l1_hit=0.3)),
    "gatedgcn": (1.25, (0.60, 0.70, 1.0), Mix(fp32=0.30, integer=0.26, occupancy=0.54, fill=0.84, l1_hit=0.25)),
    "ringgnn": (2.60, (1.0, 0.55, 0.55), Mix(fp32=0.52, integer=0.12, occupancy=0.34, fill=0.92, l1_hit=0.5)),
    "3wlgnn": (2.20, (1.0, 0.50, 0.70), Mix(fp32=0.48, integer=0.12, occupancy=0.36, fill=0.94, l1_hit=0.5)),
}


def _graph(data_set: str, model: str) -> Workload:
    """Combine the sizes of a data set's graphs with the kernels of a model."""
    gpu_s, launch, stall, length_sd = _DATA_SETS[data_set]
    length, balance, mix = _MODELS[model]
    recipe = Recipe(
        gpu_s=gpu_s * length,
        balance=balance,
        mix=mix,
        # A heavier model launches more kernels, but not in proportion to their length.
        launch_s=gpu_s * launch * length**0.6,
        stall_s=gpu_s * stall,
        overlap=0.55,
        host_overlap=0.45,
        pcie_mb=2.0,
    )
    return _workload(f"{model}-{data_set}", f"graph {model}", recipe, length_sd)
