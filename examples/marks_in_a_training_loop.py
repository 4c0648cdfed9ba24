"""A training loop that tells its iterations, and somebody who watches.

    python examples/marks_in_a_training_loop.py

The loop stands for any other: what GPOEO needs are the two lines with ``marks``. Here the watcher lives in the same
process; normally it is another one, beside a program that was started with ``GPOEO_MARKS=FILE``.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from gpoeo_env.progress.marks import MarksMeter, open_marks, read_marks
from gpoeo_env.records import Window


def train(_batch: int) -> None:
    """Stand for a step of 50 ms."""
    time.sleep(0.05)


def main() -> None:
    """Train for two seconds and print the rate that the marks show."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "marks"
        begin_s = time.monotonic()
        with open_marks(path) as marks:
            for batch in marks.iterate(range(40)):
                train(batch)
        t_s = np.array([begin_s, time.monotonic()])
        window = Window(t_s, np.empty((2, 0)), (), requested=None, observed=None)
        progress = MarksMeter(lambda: read_marks(path)).measure(window)
    print(f"{progress.work_rate:.2f} iterations a second, +-{100 * progress.rel_sd:.1f} %")


if __name__ == "__main__":
    main()
