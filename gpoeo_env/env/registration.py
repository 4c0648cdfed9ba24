"""The environments' names in Gymnasium: ``gpoeo/GpuSim-v0``, ``gpoeo/GpuReplay-v0``, ``gpoeo/GpuLive-v0``.

Importing `gpoeo_env` registers them; ``gymnasium.make("gpoeo_env:gpoeo/GpuSim-v0")`` does both in one line.
"""

from __future__ import annotations

from gymnasium.envs.registration import register, registry

__all__ = ["LIVE_ID", "REPLAY_ID", "SIMULATED_ID", "register_envs"]

SIMULATED_ID = "gpoeo/GpuSim-v0"
REPLAY_ID = "gpoeo/GpuReplay-v0"
LIVE_ID = "gpoeo/GpuLive-v0"

_MAKERS = {
    SIMULATED_ID: "gpoeo_env.env.making:make_simulated",
    REPLAY_ID: "gpoeo_env.env.making:make_replay",
    LIVE_ID: "gpoeo_env.env.making:make_live",
}
"""Named, not imported: a device room is loaded when an environment is made."""


def register_envs() -> None:
    """Tell Gymnasium about the environments; calling it twice is fine."""
    for name, maker in _MAKERS.items():
        if name not in registry:
            register(name, entry_point=maker, nondeterministic=name == LIVE_ID)
