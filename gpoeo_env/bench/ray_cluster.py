"""Many batches of episodes on a Ray cluster: the same batches, the same order, the same results as in processes here.

results = list(in_ray("auto")([batch_of(plan, arena, workload) for workload in workloads]))

Every node needs this package, the policies, and the data under the same paths.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from typing import Any

from gpoeo_env.bench.batch import Batch
from gpoeo_env.bench.executors import Executor
from gpoeo_env.bench.result import EpisodeResult
from gpoeo_env.errors import GpoeoError, InstallationError, UsageError

__all__ = ["in_ray"]

ANSWER_S = 10.0


def in_ray(address: str) -> Executor:
    """Return an executor that gives every batch to a Ray cluster, one core each.

    Args:
        address: of the cluster, as Ray takes it: ``HOST:PORT``, ``ray://HOST:PORT``, ``auto`` for the one that runs on
            this machine, ``local`` for one of its own that ends with the benchmark.

    Raises:
        InstallationError: Ray is not installed.
    """
    ray = _load_ray()

    def run(batches: Sequence[Batch]) -> Iterator[EpisodeResult]:
        _connect(ray, address)
        work = ray.remote(num_cpus=1, max_retries=1)(_work)
        pending = [work.remote(batch) for batch in batches]
        try:
            for each in pending:
                yield from _rows_of(ray, each)
        finally:
            for each in pending:
                ray.cancel(each, force=False)
            ray.shutdown()

    return run


def _work(batch: Batch) -> list[EpisodeResult]:
    return list(batch.run())


def _load_ray() -> Any:  # `Any`: an optional library
    try:
        import ray  # noqa: PLC0415 - heavy and optional
    except ImportError as error:
        raise InstallationError(
            f"a Ray cluster needs Ray, which cannot be loaded ({error}); pip install 'gpoeo-env[ray]'"
        ) from error
    return ray


def _connect(ray: Any, address: str) -> None:
    try:
        _check_answer(address)
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", include_dashboard=None)
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(
            f"no Ray cluster answers at {address!r} ({str(error).splitlines()[0]}); start one with `ray start --head`, "
            "or use --jobs"
        ) from error


def _check_answer(address: str) -> None:
    """Fail at once where nobody listens; Ray itself goes on asking for minutes.

    Raises:
        OSError: nobody does.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdigit():
        socket.create_connection((host, int(port)), timeout=ANSWER_S).close()


def _rows_of(ray: Any, task: Any) -> list[EpisodeResult]:
    """Return the rows of one batch; what a policy or a device raises there is raised here as it was."""
    try:
        rows: list[EpisodeResult] = ray.get(task)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        raise (
            cause if isinstance(cause, GpoeoError) else GpoeoError(f"a batch failed on the cluster: {cause}")
        ) from error
    except ray.exceptions.RayError as error:
        raise GpoeoError(f"the cluster lost a batch ({error}); run it with --jobs, or again") from error
    return rows
