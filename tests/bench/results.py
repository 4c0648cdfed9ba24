"""A result to make others of."""

from __future__ import annotations

from gpoeo_env.bench.result import EpisodeResult

RESULT = EpisodeResult(
    workload="a",
    policy="p",
    seed=0,
    objective="energy",
    sm_mhz=1000,
    mem_mhz=5000,
    is_released=False,
    saving=0.2,
    slowdown=0.04,
    violates=False,
    has_held=True,
    measurements=5,
    search_windows=6,
    first_saving=0.18,
    first_violates=True,
    oracle_saving=0.3,
    run_saving=0.15,
    run_slowdown=0.05,
    excess=0.0,
    run_excess=0.0,
    search_energy_frac=0.1,
    search_joules=1000.0,
    windows=40,
    is_bound=False,
    decision_s=0.1,
    decision_cpu_s=0.1,
)
