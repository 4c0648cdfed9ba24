"""Ten workloads from compute-bound over memory-bound to host-bound, plausible for training jobs of that name."""

from __future__ import annotations

from gpoeo_env.sim.phases import Mix
from gpoeo_env.sim.suites.recipe import Recipe, phases_of
from gpoeo_env.sim.workloads import Workload

__all__ = ["demo_workloads"]


def demo_workloads() -> tuple[Workload, ...]:
    """Return the demonstration workloads."""
    return (
        # Dense matrix products on the tensor cores, long kernels.
        _demo("bert-base", Recipe(gpu_s=0.270, balance=(1.0, 0.45, 0.42), mix=_dense(0.62, 0.16), launch_s=0.006)),
        _demo("gpt2-small", Recipe(gpu_s=0.380, balance=(1.0, 0.50, 0.58), mix=_dense(0.55, 0.18), launch_s=0.008)),
        # Convolutions with much activation traffic.
        _demo(
            "resnet50",
            Recipe(gpu_s=0.145, balance=(1.0, 0.5, 0.74), mix=_dense(0.42, 0.24), launch_s=0.01, pcie_mb=40),
        ),
        _demo(
            "unet3d",
            Recipe(
                gpu_s=0.520, balance=(1.0, 0.5, 0.80), mix=_dense(0.36, 0.40), stall_s=0.03, overlap=0.55, pcie_mb=60
            ),
        ),
        # Depthwise convolutions and message passing: little arithmetic for the bytes.
        _demo(
            "mobilenet",
            Recipe(gpu_s=0.120, balance=(0.50, 0.45, 1.0), mix=_dense(0.12, 0.34), launch_s=0.012, pcie_mb=40),
        ),
        _demo(
            "gcn",
            Recipe(
                gpu_s=0.092,
                balance=(0.32, 0.40, 1.0),
                mix=Mix(fp32=0.30, integer=0.25, occupancy=0.52, fill=0.88, l1_hit=0.2),
                launch_s=0.010,
            ),
        ),
        # Small kernels one after the other, launched by the host.
        _demo(
            "lstm",
            Recipe(
                gpu_s=0.090,
                balance=(1.0, 0.6, 0.85),
                mix=Mix(tensor=0.20, fp32=0.26, integer=0.15, occupancy=0.22, fill=0.62),
                launch_s=0.045,
                overlap=0.45,
                host_overlap=0.4,
            ),
            length_sd=0.15,
        ),
        _demo(
            "dcgan",
            Recipe(
                gpu_s=0.036,
                balance=(1.0, 0.5, 0.70),
                mix=Mix(tensor=0.18, fp32=0.34, occupancy=0.34, fill=0.78),
                launch_s=0.022,
                pcie_mb=6,
            ),
        ),
        # The host feeds the GPU.
        _demo(
            "dlrm",
            Recipe(
                gpu_s=0.042,
                balance=(0.36, 0.35, 1.0),
                mix=Mix(tensor=0.04, fp32=0.22, integer=0.25, occupancy=0.38, fill=0.72, l1_hit=0.15),
                stall_s=0.045,
                launch_s=0.008,
                pcie_mb=30,
            ),
        ),
        _demo(
            "ppo",
            Recipe(
                gpu_s=0.030,
                balance=(1.0, 0.3, 0.14),
                mix=Mix(tensor=0.05, fp32=0.28, occupancy=0.20, fill=0.45),
                launch_s=0.020,
                stall_s=0.090,
                pcie_mb=2,
            ),
        ),
    )


def _dense(tensor: float, fp32: float) -> Mix:
    return Mix(tensor=tensor, fp32=fp32, integer=0.12, occupancy=0.42, fill=0.97, bandwidth=0.92)


def _demo(name: str, recipe: Recipe, *, length_sd: float = 0.0) -> Workload:
    return Workload(name=name, family=f"demo {name}", phases=phases_of(recipe), jitter=0.01, length_sd=length_sd)
