from __future__ import annotations

import numpy as np
import pytest

from gpoeo_env.clocks import ClockPair
from gpoeo_env.device.nvml.request import Request
from gpoeo_env.records import Window

PAIR, DEFAULT = ClockPair(600, 2000), ClockPair(1800, 3000)


def window(observed: ClockPair | None, *reasons: str) -> Window:
    return Window(
        t_s=np.array([0.0, 1.0]),
        values=np.zeros((2, 0)),
        signals=(),
        requested=PAIR,
        observed=observed,
        throttle_reasons=reasons,
    )


def look(request: Request, *, at: ClockPair, reasons: tuple[str, ...] = ()) -> bool:
    return request.is_undone_in(window(at, *reasons), at.sm_mhz, at.mem_mhz)


@pytest.fixture
def lock() -> Request:
    request = Request()
    request.make(PAIR)
    return request


def test_what_stands_need_not_be_set_again(lock: Request) -> None:
    assert lock.stands(PAIR)
    assert not lock.stands(DEFAULT)
    assert not lock.stands(None)


def test_a_lock_that_was_there_and_is_gone_without_a_reason_is_undone(lock: Request) -> None:
    assert not look(lock, at=PAIR)
    assert look(lock, at=DEFAULT)
    assert not lock.stands(PAIR)


def test_an_undone_lock_is_news_once(lock: Request) -> None:
    look(lock, at=PAIR)
    assert [look(lock, at=DEFAULT), look(lock, at=DEFAULT)] == [True, False]


def test_a_lock_that_never_was_there_is_not_undone_by_anybody(lock: Request) -> None:
    assert not look(lock, at=DEFAULT)
    assert lock.stands(PAIR)


def test_a_cap_undoes_no_lock(lock: Request) -> None:
    look(lock, at=PAIR)
    assert not look(lock, at=ClockPair(500, 2000), reasons=("power cap",))
    assert lock.stands(PAIR)


def test_a_lost_lease_undoes_a_lock_and_nothing_else(lock: Request) -> None:
    assert lock.undo()
    assert not lock.stands(PAIR)
    assert not Request().undo()


def test_a_lock_that_is_set_again_stands(lock: Request) -> None:
    lock.undo()
    lock.make(PAIR)
    assert lock.stands(PAIR)


def test_released_clocks_cannot_be_undone() -> None:
    assert not look(Request(), at=DEFAULT)
