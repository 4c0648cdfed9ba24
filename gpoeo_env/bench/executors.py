"""Many batches of episodes, shared among processes.

arena = partial(open_device, "sim:rtx3080ti,suite=paper")
results = list(in_processes(jobs=2)([batch_of(plan, arena, workload) for workload in workloads]))
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.synchronize import Event

from gpoeo_env.bench.batch import Batch
from gpoeo_env.bench.result import EpisodeResult
from gpoeo_env.errors import ConfigError, GpoeoError

__all__ = ["Executor", "available_cores", "in_processes"]

Executor = Callable[[Sequence[Batch]], Iterator[EpisodeResult]]
"""Runs batches, somewhere, and yields every result. It raises what a policy or the device raises, and GpoeoError where
a worker died."""


def in_processes(jobs: int) -> Executor:
    """Return an executor that shares batches among worker processes, each taking one at a time.

    Results come in the order of the batches, and do not depend on ``jobs``. A caller that stops early (Ctrl-C, or
    closing the iterator) keeps what it has; worker processes end after the episode they are in.

    Args:
        jobs: worker processes; 1 = run in this process.

    Raises:
        ConfigError: ``jobs`` is less than 1.
    """
    if jobs < 1:
        raise ConfigError(f"running episodes needs at least one job; got {jobs}")

    def run(batches: Sequence[Batch]) -> Iterator[EpisodeResult]:
        if min(jobs, len(batches)) > 1:
            yield from _run_in_workers(batches, min(jobs, len(batches)))
        else:
            for batch in batches:
                yield from batch.run()

    return run


def available_cores() -> int:
    """Return how many cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _run_in_workers(batches: Sequence[Batch], jobs: int) -> Iterator[EpisodeResult]:
    context = get_context("spawn")  # a fork would copy the threads and locks of model libraries
    stop = context.Event()
    workers = ProcessPoolExecutor(jobs, context, _enter_worker, (stop,))
    try:
        with _interrupts_held_back():
            futures = [workers.submit(_work, batch) for batch in batches]
        yield from _rows_of_all(futures, stop)
    finally:
        with _interrupts_ignored():  # a second Ctrl-C must not tear the pool apart while it ends
            stop.set()
            workers.shutdown(wait=True, cancel_futures=True)


def _rows_of_all(futures: Sequence[Future[list[EpisodeResult]]], stop: Event) -> Iterator[EpisodeResult]:
    """Yield the rows in order; after Ctrl-C also those that running workers have, and then pass it on."""
    for index, future in enumerate(futures):
        try:
            rows = _rows_of(future)
        except KeyboardInterrupt:
            with _interrupts_ignored():
                stop.set()
                left = [started for started in futures[index:] if not started.cancel()]
                done = [row for started in left for row in _rows_of(started)]
            yield from done
            raise
        yield from rows


def _rows_of(future: Future[list[EpisodeResult]]) -> list[EpisodeResult]:
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise GpoeoError(
            "a worker process died before it answered, perhaps for lack of memory; run it with one job"
        ) from error


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Start processes that never see Ctrl-C: a blocked signal is inherited, and the parent tells them to stop."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Ignore Ctrl-C for a while; outside the main thread, which alone hears it, nothing is to be done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


_stop: Event | None = None
"""State of a worker process: an event reaches it through the pool's initializer alone."""


def _enter_worker(stop: Event) -> None:
    global _stop  # noqa: PLW0603 - see `_stop`
    _stop = stop


def _work(batch: Batch) -> list[EpisodeResult]:
    """Run one batch in a worker process; what was done before a stop is returned."""
    assert _stop is not None, "the pool's initializer sets it"
    done: list[EpisodeResult] = []
    if not _stop.is_set():  # a task that was already handed to this process when the stop came
        for result in batch.run():
            done.append(result)
            if _stop.is_set():
                break
    return done
