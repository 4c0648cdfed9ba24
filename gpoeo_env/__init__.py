"""The GPU as a Gymnasium environment: less energy for the same machine-learning work.

    import gymnasium
    env = gymnasium.make("gpoeo/GpuSim-v0", gpu="rtx3080ti", workload="resnet50")

Importing this package loads no heavy library; the sub-packages say what they need.
"""

from importlib.metadata import version

__all__ = ["__version__"]

__version__ = version("gpoeo-env")
