"""Workloads whose work changes in mid-run: what a controller must notice."""

from __future__ import annotations

from dataclasses import replace

from gpoeo_env.sim.suites.demo import demo_workloads
from gpoeo_env.sim.workloads import Shift, Workload

__all__ = ["shifting_workloads"]


def shifting_workloads() -> tuple[Workload, ...]:
    """Return workloads of the demonstration that become another one, or that grow."""
    demo = {workload.name: workload for workload in demo_workloads()}
    return (
        _becoming("bert-then-gcn", demo["bert-base"], demo["gcn"], after_s=600.0),
        _becoming("mobilenet-then-resnet", demo["mobilenet"], demo["resnet50"], after_s=600.0),
        _becoming("dlrm-then-gpt2", demo["dlrm"], demo["gpt2-small"], after_s=900.0),
        replace(demo["lstm"], name="lstm-curriculum", family="shifting lstm", drift_per_hour=0.3),
    )


def _becoming(name: str, first: Workload, then: Workload, *, after_s: float) -> Workload:
    """Let a workload become another after about so many seconds at its fastest."""
    fastest_s = sum(max(p.compute_s, p.onchip_s, p.memory_s, p.host_s) / p.every for p in first.phases)
    shift = Shift(after_work=round(after_s / fastest_s), becomes=then)
    return replace(first, name=name, family=f"shifting {name}", shift=shift)
