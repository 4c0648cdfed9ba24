"""The power law finds itself in what it made, and keeps what physics promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpoeo_policies.gpoeo.power_law import Conditions, PowerLaw

LAW = PowerLaw(static_w=40.0, memory_w=15.0, clock_w=25.0, traffic_w=60.0, voltage_floor=0.75, voltage_slope=0.8)


def made_rows(n_workloads: int = 30) -> tuple[Conditions, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    rng = np.random.default_rng(0)
    sm, mem = (grid.ravel() for grid in np.meshgrid(np.linspace(0.4, 1.1, 12), [0.5, 1.0]))
    watts, dram = rng.uniform(160, 300, n_workloads), rng.uniform(0, 0.9, n_workloads)
    rows = Conditions(np.tile(sm, n_workloads), np.tile(mem, n_workloads), watts.repeat(24), dram.repeat(24))
    time = 1.0 + rng.uniform(0.1, 0.8, n_workloads).repeat(24) * (1.0 / rows.sm - 1.0)
    return rows, time


def test_the_default_is_one() -> None:
    rows = Conditions(np.ones(3), np.ones(3), np.array([30.0, 90.0, 300.0]), np.array([0.0, 0.9, 0.5]))

    np.testing.assert_allclose(LAW.energy_ratio(np.ones(3), rows), 1.0)


def test_a_law_is_found_again_in_the_energies_that_it_gives() -> None:
    rows, time = made_rows()
    log_ratios = np.log([time, LAW.energy_ratio(time, rows)])

    found = PowerLaw.fit(rows, log_ratios, np.full(len(time), 1 / 24))

    assert found.numbers() == pytest.approx(LAW.numbers(), rel=0.02)


def test_one_odd_workload_does_not_bend_the_law() -> None:
    rows, time = made_rows()
    energy = LAW.energy_ratio(time, rows)
    energy[:24] *= np.where(rows.sm[:24] < 0.9, 2.0, 1.0)

    found = PowerLaw.fit(rows, np.log([time, energy]), np.full(len(time), 1 / 24))

    assert np.abs(found.energy_ratio(time, rows) - LAW.energy_ratio(time, rows)).mean() < 0.01


def test_without_memory_clocks_and_traffic_nothing_is_said_of_them() -> None:
    rows, time = made_rows()
    rows = replace(rows, mem=np.ones(len(time)), dram=np.zeros(len(time)))

    found = PowerLaw.fit(rows, np.log([time, LAW.energy_ratio(time, rows)]), np.full(len(time), 1 / 24))

    assert (found.memory_w, found.traffic_w) == (0.0, 0.0)


def test_more_time_is_more_energy() -> None:
    rows, time = made_rows()

    assert (LAW.energy_ratio(1.1 * time, rows) > LAW.energy_ratio(time, rows)).all()
