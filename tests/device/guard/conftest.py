from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpoeo_env.device.guard.guard import Guard
from tests.device.guard.controllers import Controller
from tests.device.guard.place import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def guard(place: Place) -> Iterator[Guard]:
    """A guard of this process."""
    with Guard.open(place.actuator(), place.open()) as opened:
        yield opened


@pytest.fixture
def start(place: Place) -> Iterator[Callable[..., Controller]]:
    """Start controllers; what the test leaves running is killed in the end."""
    started: list[Controller] = []

    def launch(**options: object) -> Controller:
        started.append(Controller.start(place, **options))  # type: ignore[arg-type]
        return started[-1]

    yield launch
    for controller in started:
        controller.process.kill()
        controller.process.communicate()
