"""GPUs that exist in a file only, behind the real bindings in processes of their own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.nvml_stand_in.gpus import StandInGpu, hand_made
from tests.nvml_stand_in.library import build_library
from tests.nvml_stand_in.process import Process, in_environment
from tests.nvml_stand_in.stand_in import StandIn

MakeStandIn = Callable[..., StandIn]


class Elsewhere:
    """Runs functions in a process that has the stand-in loaded; tests share it, because it takes a while to start."""

    def __init__(self, process: Process, stand_in: StandIn) -> None:
        self._process = process
        self._stand_in = stand_in

    def start(self, function: Callable[..., Any], *arguments: object, **named: object) -> Future[Any]:
        """Call a function there, and go on here. `Any`: as the function."""
        cuda = {name: value for name, value in os.environ.items() if name.startswith("CUDA_")}
        environment = {**cuda, **self._stand_in.environment}
        return self._process.start(partial(in_environment, environment, function, *arguments, **named))

    def __call__(self, function: Callable[..., Any], *arguments: object, **named: object) -> Any:
        """Call a function there, and return what it returns or raise what it raises. `Any`: as the function."""
        return self.start(function, *arguments, **named).result()


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the compiled stand-in."""
    return build_library(tmp_path_factory.mktemp("nvml"))


@pytest.fixture(scope="session")
def nvml_process(nvml_library: Path) -> Iterator[Process]:
    """A process with the stand-in; each call says which GPUs it sees."""
    with Process({"LD_LIBRARY_PATH": str(nvml_library)}) as process:
        yield process


@pytest.fixture
def make_stand_in(tmp_path: Path, nvml_library: Path, monkeypatch: pytest.MonkeyPatch) -> MakeStandIn:
    """Makes GPUs; one that is made by hand where none is named."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def make(*gpus: StandInGpu, library: Path = nvml_library) -> StandIn:
        return StandIn.create(tmp_path, gpus or (hand_made(),), library)

    return make


@pytest.fixture
def stand_in(make_stand_in: MakeStandIn) -> StandIn:
    """One GPU that is made by hand."""
    return make_stand_in()


@pytest.fixture
def elsewhere(nvml_process: Process, stand_in: StandIn) -> Elsewhere:
    """The process that sees `stand_in`."""
    return Elsewhere(nvml_process, stand_in)


@pytest.fixture
def elsewhere_with(nvml_process: Process) -> Callable[[StandIn], Elsewhere]:
    """Makes a process that sees other GPUs."""
    return lambda stand_in: Elsewhere(nvml_process, stand_in)


@pytest.fixture(scope="module")
def module_stand_in(tmp_path_factory: pytest.TempPathFactory, nvml_library: Path) -> StandIn:
    """One GPU that is made by hand, for the tests of a module that look at one and the same run."""
    return StandIn.create(tmp_path_factory.mktemp("stand_in"), [hand_made()], nvml_library)
