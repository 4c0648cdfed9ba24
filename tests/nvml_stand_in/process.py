"""A process of its own in which the functions of a test run."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from types import TracebackType
from typing import ParamSpec, Self, TypeVar
from unittest.mock import patch

__all__ = ["Process", "in_environment"]

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def in_environment(
    environment: Mapping[str, str],
    function: Callable[Arguments, Result],
    *arguments: Arguments.args,
    **named: Arguments.kwargs,
) -> Result:
    """Call a function while the environment holds more than usual."""
    with patch.dict(os.environ, environment):
        return function(*arguments, **named)


class Process:
    """One fresh interpreter; calls run in it one after the other, and its errors are raised here."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Take what its environment shall hold beside ours; it starts with the block."""
        self._environment = dict(environment)
        self._pool = ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn"))

    def __enter__(self) -> Self:
        """Start it: the loader reads its search path at the start of a process only."""
        with patch.dict(os.environ, self._environment):
            self._pool.submit(os.getpid).result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        self._pool.shutdown()

    def start(
        self, function: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
    ) -> Future[Result]:
        """Call a function of a module there, and go on here."""
        return self._pool.submit(function, *arguments, **named)

    def call(
        self, function: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
    ) -> Result:
        """Call a function of a module there, and return what it returns or raise what it raises."""
        return self.start(function, *arguments, **named).result()
