"""What watching a real GPU costs: processor time of the watcher and speed of a training loop, against nvidia-smi.

python benchmarks/observing.py        # needs an NVIDIA GPU and torch; only reads, never sets a clock

One training loop runs all the time. Each watcher in turn attaches to the GPU for a while and stays away for as long, so
that every stretch of the loop with a watcher has a stretch without one beside it.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WATCHED_S, SHORT_S = 20.0, 5.0
PAIRS = 3
RATE_HZ = 10
QUERY = "power.draw,utilization.gpu,utilization.memory,clocks.sm,clocks.mem,temperature.gpu"
LOOP = """
import sys, time, torch
size = 2048
net = torch.nn.Sequential(*(torch.nn.Linear(size, size) for _ in range(8))).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
batch = torch.randn(512, size, device="cuda")
with open(sys.argv[1], "w", buffering=1) as log:
    while True:
        for _ in range(10):
            optimizer.zero_grad()
            net(batch).square().mean().backward()
            optimizer.step()
        torch.cuda.synchronize()
        log.write(f"{time.monotonic()}\\n")
"""


def watchers(folder: Path) -> dict[str, list[str]]:
    """Return the commands that watch GPU 0 until they are ended."""
    gpoeo = [sys.executable, "-c", "from gpoeo_env.cli.main import main; main()"]
    record = ["record", "--gpu", "0", "--rate", str(RATE_HZ), "--force", "-o", str(folder / "loop.recording.parquet")]
    smi = ["nvidia-smi", "--id=0", f"--query-gpu={QUERY}", "--format=csv", f"--loop-ms={1000 // RATE_HZ}"]
    return {
        "nvidia-smi": smi,
        "gpoeo run --observe": [*gpoeo, "run", "--gpu", "0", "--observe", "--no-log"],
        "gpoeo record": [*gpoeo, *record],
    }


def watch(command: list[str], seconds: float) -> float:
    """Run a watcher for a while; return the processor seconds that it used, its children included."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    if process.poll() is not None:
        raise SystemExit(f"`{' '.join(command)}` ended by itself with exit code {process.returncode}")
    process.terminate()
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0  # it has been waited for
    return usage.ru_utime + usage.ru_stime


def iterations_per_s(log: Path, since_s: float, until_s: float) -> float:
    """Return how fast the loop went in a stretch of monotonic time; a line of its log is ten iterations."""
    ends = [end for end in map(float, log.read_text().split()) if since_s <= end <= until_s]
    return 10 * (len(ends) - 1) / (ends[-1] - ends[0])


def stretch(log: Path, command: list[str] | None) -> float:
    """Return the loop's speed with a watcher, or without; the first seconds, in which Python starts, do not count."""
    start_s = time.monotonic()
    if command is None:
        time.sleep(WATCHED_S)
    else:
        watch(command, WATCHED_S)
    return iterations_per_s(log, start_s + SHORT_S, start_s + WATCHED_S)


def cores(command: list[str]) -> float:
    """Return the share of a core in steady running: what a longer run uses more than a short one."""
    return (watch(command, WATCHED_S) - watch(command, SHORT_S)) / (WATCHED_S - SHORT_S)


def main() -> None:
    """Print a line per watcher."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "iterations")
        loop = subprocess.Popen([sys.executable, "-c", LOOP, str(log)])
        try:
            while not log.exists() or not log.read_text():
                time.sleep(0.1)
            time.sleep(WATCHED_S)  # clocks and temperature settle
            for name, command in watchers(Path(folder)).items():
                share = cores(command)
                ratios = [stretch(log, command) / stretch(log, None) for _ in range(PAIRS)]
                spread = f"{min(ratios):.4f} to {max(ratios):.4f}"
                print(f"{name:22} {share:6.2%} of a core; loop {statistics.median(ratios):.4f} of its speed ({spread})")
        finally:
            loop.kill()
            loop.wait()


if __name__ == "__main__":
    main()
