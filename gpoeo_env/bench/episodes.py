"""Many episodes on virtual devices, shared among processes, each scored against the truth.

    arena = partial(open_device, "sim:rtx3080ti,suite=paper")
    results = list(run_episodes(plan, arena, workloads, jobs=2))

Worker processes share the work by workload, because models may be fitted once for each.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.synchronize import Event

from gpoeo_env.bench.plan import EpisodePlan
from gpoeo_env.bench.result import EpisodeResult, result_of
from gpoeo_env.device.base import Device, lessons_of
from gpoeo_env.env.control import ControlLoop
from gpoeo_env.errors import ConfigError, GpoeoError
from gpoeo_env.policy import Policy, UsesTruth, build_policy
from gpoeo_env.runner.episode import run_episode

__all__ = ["Arena", "available_cores", "evaluate", "run_episodes"]

Arena = Callable[[], Device]
"""Opens the device that episodes run on, in whichever process; can be pickled."""


def run_episodes(plan: EpisodePlan, arena: Arena, workloads: Sequence[str], jobs: int = 1) -> Iterator[EpisodeResult]:
    """Run every episode of a plan and yield its results, by workload, then policy, then seed.

    The results do not depend on ``jobs``. A caller that stops early (Ctrl-C, or closing the iterator) keeps what it
    has; worker processes end after the episode they are in.

    Args:
        plan: what to run.
        arena: where.
        workloads: which of the device's.
        jobs: worker processes, each taking one workload at a time; 1 = run in this process.

    Raises:
        ConfigError: ``jobs`` is less than 1.
        GpoeoError: whatever a policy or the device raises; or a worker process died.
    """
    if jobs < 1:
        raise ConfigError(f"running episodes needs at least one job; got {jobs}")
    if min(jobs, len(workloads)) > 1:
        yield from _run_in_workers(plan, arena, workloads, min(jobs, len(workloads)))
    else:
        for workload in workloads:
            yield from _run_workload(plan, arena, workload)


def evaluate(
    loop: ControlLoop, policies: Mapping[str, Policy], workload: str, seeds: Sequence[int]
) -> Iterator[EpisodeResult]:
    """Run every policy on one workload of a virtual device under every seed.

    Raises:
        UnknownNameError: the device has no such workload.
        DeviceError: the device is not a virtual one.
    """
    for label, policy in policies.items():
        for seed in seeds:
            episode = run_episode(loop, policy, seed=seed, workload=workload)
            yield result_of(episode, loop, label, is_bound=isinstance(policy, UsesTruth))


def available_cores() -> int:
    """Return how many cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _run_workload(plan: EpisodePlan, arena: Arena, workload: str) -> Iterator[EpisodeResult]:
    """Run one workload; policies are built once, so that models are fitted once and not once a seed."""
    with ControlLoop(arena(), plan.control_settings()) as loop:
        known = lessons_of(loop.device, workload) if plan.teaches else None
        policies = {spec: build_policy(spec, sweeps=known) for spec in plan.policies}
        yield from evaluate(loop, policies, workload, plan.seeds)


def _run_in_workers(plan: EpisodePlan, arena: Arena, workloads: Sequence[str], jobs: int) -> Iterator[EpisodeResult]:
    context = get_context("spawn")  # a fork would copy the threads and locks of model libraries
    stop = context.Event()
    workers = ProcessPoolExecutor(jobs, context, _enter_worker, (stop,))
    try:
        with _interrupts_held_back():
            futures = [workers.submit(_work, plan, arena, workload) for workload in workloads]
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


def _work(plan: EpisodePlan, arena: Arena, workload: str) -> list[EpisodeResult]:
    """Run one workload in a worker process; what was done before a stop is returned."""
    assert _stop is not None, "the pool's initializer sets it"
    done: list[EpisodeResult] = []
    if not _stop.is_set():  # a task that was already handed to this process when the stop came
        for result in _run_workload(plan, arena, workload):
            done.append(result)
            if _stop.is_set():
                break
    return done
