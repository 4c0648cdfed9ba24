"""How long the period of a trace takes to find, against a plain spectrum with autocorrelation in the same run.

python benchmarks/period.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.signal import find_peaks, periodogram

from gpoeo_env.progress.period import estimate_period

Floats = NDArray[np.float64]
POLL_S = 0.02
ITERATION_S = 3.7
ROUNDS = 5
NAMES = ("power_w", "sm_active", "dram_active", "tensor_active", "fp32_active", "gpu_util")


def polled(duration_s: float, channels: int) -> tuple[Floats, Floats]:
    """Make rows of a training loop with five micro-steps and a pause; of several channels, power repeats for 100 ms."""
    rng = np.random.default_rng(0)
    t_s = np.arange(0, duration_s, POLL_S)
    phase = t_s / ITERATION_S % 1.0
    busy = np.where(phase > 0.9, 0.1, np.where(phase * 5.5 % 1.0 < 0.7, 0.9, 0.6))
    values = busy[:, None] * np.linspace(1.0, 0.3, channels) + 0.02 * rng.normal(size=(len(t_s), channels))
    if channels > 1:
        held = np.minimum(np.ceil(t_s / 0.1).astype(int) * 5, len(t_s) - 1)
        values[:, 0] = 100 + 500 * values[held, 0]
    return t_s, values


def plain_period(values: Floats) -> float:
    """Return the first strong peak of the autocorrelation near the strongest line of the spectrum: no check at all."""
    centred = values - values.mean()
    frequencies_hz, power = periodogram(centred, 1 / POLL_S)
    strongest_s = 1 / frequencies_hz[1 + int(np.argmax(power[1:]))]
    spectrum = np.fft.rfft(centred, 2 * len(centred))
    correlation = np.fft.irfft(np.abs(spectrum) ** 2)[: len(centred)]
    peaks, _ = find_peaks(correlation, height=0.3 * correlation[0])
    return float(peaks[np.argmin(np.abs(peaks * POLL_S - strongest_s))] * POLL_S) if len(peaks) else float("nan")


def best_ms(run: Callable[[], object]) -> float:
    """Return processor milliseconds, the best of several rounds, so that other work on the machine counts little."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return 1e3 * min(times)


def main() -> None:
    """Print one line per duration and number of channels."""
    print(f"true iteration {ITERATION_S} s; times are of one core")
    print(f"{'seconds':>8} {'channels':>8} {'ms':>9} {'period':>22} {'plain ms':>9} {'ratio':>6} {'plain period':>13}")
    for duration_s in (90.0, 900.0, 3600.0):
        for channels in (1, len(NAMES)):
            t_s, values = polled(duration_s, channels)
            names = NAMES[1:2] if channels == 1 else NAMES
            estimate = estimate_period(t_s, values, names)
            ours_ms = best_ms(lambda: estimate_period(t_s, values, names))  # noqa: B023
            plain_ms = best_ms(lambda: [plain_period(column) for column in values.T])  # noqa: B023
            found = (
                f"{estimate.period_s:.4f} +- {estimate.uncertainty_s:.4f} s" if estimate.is_periodic else estimate.kind
            )
            ratio = ours_ms / max(plain_ms, 1e-3)
            print(
                f"{duration_s:>8.0f} {channels:>8} {ours_ms:>9.1f} {found:>22} {plain_ms:>9.1f} {ratio:>6.1f}"
                f" {plain_period(values[:, 0]):>11.2f} s"
            )


if __name__ == "__main__":
    main()
