"""How fast a GPU is simulated: rows as a poll would see them, whole windows, and whole tables of clock pairs.

python benchmarks/simulation.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

from gpoeo_env.device.base import Device
from gpoeo_env.device.opening import open_device
from gpoeo_env.sim.catalogue import load_gpu
from gpoeo_env.sim.closed_form import sweep_of
from gpoeo_env.sim.suites import suite_named

WORKLOADS = ("bert-base", "dcgan", "lstm")
"""Long steady iterations, short ones, and ones of varying length."""
WINDOWS = 200
ROUNDS = 3


def best_s(run: Callable[[], object]) -> float:
    """Return processor seconds, the best of several rounds, so that other work on the machine counts little."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def observe(device: Device, workload: str, window_s: float) -> None:
    """Run some windows, changing the clocks before each."""
    device.begin(0, workload)
    pairs = device.clocks.pairs
    for index in range(WINDOWS):
        device.set_clocks(pairs[-1 - index % 100])
        device.observe(window_s)


def main() -> None:
    """Print simulated seconds for each second of one core; real time, the peer, is 1."""
    print("times real time, rows at 10 Hz, clocks changed before every window; one core")
    for workload in WORKLOADS:
        for kind, window_s in (("sim-samples", 10.0), ("sim-samples", 300.0), ("sim", 10.0)):
            with open_device(f"{kind}:rtx3080ti") as device:
                speed = WINDOWS * window_s / best_s(lambda: observe(device, workload, window_s))  # noqa: B023 - now
            print(f"  {workload:10} {kind:12} windows of {window_s:4.0f} s  {speed:12,.0f} x")
    gpu = load_gpu("rtx3080ti")
    workloads = suite_named("paper", gpu)
    seconds = best_s(lambda: [sweep_of(gpu, workload) for workload in workloads])
    print(f"closed form: {len(workloads) / seconds:,.0f} workloads a second, {len(gpu.clocks)} clock pairs each")


if __name__ == "__main__":
    main()
