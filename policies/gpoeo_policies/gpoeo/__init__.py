"""GPOEO, the reference policy: boosted models predict every clock pair, a local search measures the best of them.

models (training, bundle) -> prior -> belief -> search (goal; ask/tell) -> policy (states, segment)
"""

from gpoeo_policies.gpoeo.building import build
from gpoeo_policies.gpoeo.policy import GpoeoPolicy

__all__ = ["GpoeoPolicy", "build"]
