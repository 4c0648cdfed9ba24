"""How fast counter work is measured: rows per second for windows of several lengths and polling rates.

python benchmarks/counter_work.py
"""

from __future__ import annotations

import time

import numpy as np

from gpoeo_env.progress.counter_work import CounterWorkMeter
from gpoeo_env.records import Window
from gpoeo_env.signals import signal_named

COLUMNS = ("power_w", "sm_clock_mhz", "mem_clock_mhz", "dram_active", "tensor_active", "fp32_active", "sm_active")
ROUNDS = 20


def polled(rows: int, poll_s: float) -> Window:
    """Make a window of a noisy load; power repeats when it is polled faster than every 100 ms, as on a real GPU."""
    rng = np.random.default_rng(0)
    t_s = np.arange(rows) * poll_s
    busy = 0.4 + 0.3 * np.sin(9 * t_s) + 0.02 * rng.normal(size=rows)
    refresh = np.floor(t_s / 0.1).astype(int)
    power_w = 300 + 100 * np.sin(np.arange(refresh[-1] + 1))[refresh]
    clock = 1400 + 15 * rng.integers(-1, 2, rows)
    values = np.column_stack([power_w, clock, np.full(rows, 3201.0), busy, busy / 2, busy / 3, np.full(rows, 0.9)])
    return Window(t_s, values, tuple(signal_named(name) for name in COLUMNS), None, None)


def seconds_per_window(window: Window) -> float:
    """Return the best of several rounds, so that other work on the machine counts little."""
    meter = CounterWorkMeter()
    meter.measure(window)
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        meter.measure(window)
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    """Print one line a window length."""
    print(f"{'rows':>9} {'poll':>7} {'ms':>9} {'rows/s':>12} {'values/s':>12}")
    for rows, poll_s in ((100, 0.1), (500, 0.02), (10_000, 0.02), (100_000, 0.02), (1_000_000, 0.1)):
        seconds = seconds_per_window(polled(rows, poll_s))
        rate = rows / seconds
        print(f"{rows:>9} {poll_s:>6}s {1e3 * seconds:>9.3f} {rate:>12.3g} {rate * len(COLUMNS):>12.3g}")


if __name__ == "__main__":
    main()
