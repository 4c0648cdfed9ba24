"""The GPU as a Gymnasium environment: less energy for the same machine-learning work.

    import gymnasium
    import gpoeo_env                                        # registers the environments
    env = gymnasium.make("gpoeo/GpuSim-v0", gpu="rtx3080ti", workload="resnet50")

Importing this package loads no heavy library; the sub-packages say what they need.
"""

from gpoeo_env.env.registration import register_envs
from gpoeo_env.version import __version__

__all__ = ["__version__"]

register_envs()
