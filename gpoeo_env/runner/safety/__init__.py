"""What stands between a policy and a live GPU; each piece wraps any policy and is one itself.

slowdown  a broken limit is left in one window, whoever decided
idle      a GPU without work runs where it was measured to draw the least
dry_run   says what would be locked, and locks nothing
"""

from __future__ import annotations

from gpoeo_env.policy import Policy
from gpoeo_env.runner.safety.dry_run import DryRun
from gpoeo_env.runner.safety.idle import IdleClocks
from gpoeo_env.runner.safety.slowdown import SlowdownGuard

__all__ = ["DryRun", "IdleClocks", "SlowdownGuard", "safe"]


def safe(policy: Policy, *, dry_run: bool = False) -> Policy:
    """Wrap a policy as every live GPU gets it."""
    guarded = SlowdownGuard(policy)
    return DryRun(guarded) if dry_run else IdleClocks(guarded)
