from __future__ import annotations

import numpy as np

from gpoeo_env.sim.physics.limits import POWER_CAP, THERMAL_SLOWDOWN, reason_bits, rows_under_limits

WATTS = np.array([[100.0, 200.0, 300.0, 400.0]])
COOL = np.full((1, 4), 40.0)
WARM = np.array([[40.0, 60.0, 80.0, 95.0]])


def test_the_power_limit_leaves_the_highest_clock_that_keeps_it() -> None:
    limited = rows_under_limits(WATTS, 300.0, COOL, 90.0)
    assert limited.rows.tolist() == [[0, 1, 2, 2]]
    assert [limited.reasons((0, row)) for row in range(4)] == [(), (), (), (POWER_CAP,)]


def test_heat_lowers_the_clock_likewise() -> None:
    limited = rows_under_limits(WATTS, 1000.0, WARM, 70.0)
    assert limited.rows.tolist() == [[0, 1, 1, 1]]
    assert limited.reasons((0, 2)) == (THERMAL_SLOWDOWN,)


def test_both_limits_at_the_same_clock_give_both_reasons() -> None:
    limited = rows_under_limits(WATTS, 200.0, WARM, 60.0)
    assert limited.rows.tolist() == [[0, 1, 1, 1]]
    assert limited.reasons((0, 3)) == (POWER_CAP, THERMAL_SLOWDOWN)


def test_the_stricter_limit_alone_is_the_reason() -> None:
    limited = rows_under_limits(WATTS, 300.0, WARM, 60.0)
    assert limited.reasons((0, 3)) == (THERMAL_SLOWDOWN,)


def test_limits_that_nothing_keeps_leave_the_lowest_clock() -> None:
    assert rows_under_limits(WATTS, 50.0, COOL, 90.0).rows.tolist() == [[0, 0, 0, 0]]


def test_reasons_are_coded_as_nvml_codes_them() -> None:
    assert (reason_bits(()), reason_bits((POWER_CAP,)), reason_bits((POWER_CAP, THERMAL_SLOWDOWN))) == (0, 0x4, 0x24)
