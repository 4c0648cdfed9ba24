from __future__ import annotations

from itertools import pairwise

import pytest

from gpoeo_env.errors import UnknownNameError, UsageError
from gpoeo_env.objective import Objective
from gpoeo_env.sim.catalogue import Gpu, load_gpu, packaged_gpu_names
from gpoeo_env.sim.closed_form import sweep_of
from gpoeo_env.sim.suites import TRAIN, families_of, suite_named, suite_names, training_suite
from gpoeo_env.sim.suites.drawn import FAMILIES, drawn_workloads
from gpoeo_env.sim.suites.recipe import Recipe, phases_of


def test_the_papers_suite_has_71_workloads_of_its_two_kinds(gpu: Gpu) -> None:
    workloads = suite_named("paper", gpu)
    graphs = [workload for workload in workloads if workload.family.startswith("graph ")]
    assert (len(workloads), len(graphs)) == (71, 54)
    assert len({workload.name for workload in workloads}) == 71


def test_the_training_suite_shares_no_family_and_no_name_with_any_other(gpu: Gpu) -> None:
    train = suite_named(TRAIN, gpu)
    for name in suite_names():
        if name != TRAIN:
            others = suite_named(name, gpu)
            assert not {workload.family for workload in train} & {workload.family for workload in others}
            assert not {workload.name for workload in train} & {workload.name for workload in others}


def test_families_are_known_by_name(gpu: Gpu) -> None:
    assert families_of(["gcn-zinc", "no such workload"]) == {"gcn-zinc": "graph gcn"}
    assert len(families_of([workload.name for workload in suite_named("paper", gpu)])) == 71


def test_an_unknown_suite_names_the_nearest(gpu: Gpu) -> None:
    with pytest.raises(UnknownNameError, match=r"suite 'papers'; did you mean paper\?"):
        suite_named("papers", gpu)


@pytest.mark.parametrize("name", packaged_gpu_names())
def test_every_suite_offers_savings_on_every_gpu_and_no_free_lunch(name: str) -> None:
    gpu = load_gpu(name)
    for workload in suite_named("demo", gpu):
        sweep = sweep_of(gpu, workload)
        best = Objective.ENERGY.best(sweep.time_ratio, sweep.energy_ratio, 0.05)
        assert 0.0 < 1 - sweep.energy_ratio[best] < 0.5, workload.name
        assert sweep.time_ratio.min() > 0.9, workload.name


def test_memory_bound_work_saves_more_than_compute_bound_work(gpu: Gpu) -> None:
    def saving(name: str) -> float:
        sweep = sweep_of(gpu, next(workload for workload in suite_named("demo", gpu) if workload.name == name))
        best = Objective.ENERGY.best(sweep.time_ratio, sweep.energy_ratio, 0.05)
        return float(1 - sweep.energy_ratio[best])

    assert saving("gcn") > 2 * saving("bert-base")


def test_equal_seeds_draw_equal_workloads_and_other_seeds_others() -> None:
    assert drawn_workloads(5, seed=1) == drawn_workloads(5, seed=1)
    assert drawn_workloads(1, seed=1)[0].phases != drawn_workloads(1, seed=2)[0].phases


def test_more_workloads_begin_with_the_same_ones(gpu: Gpu) -> None:
    assert drawn_workloads(8, seed=0)[:3] == drawn_workloads(3, seed=0)
    assert training_suite(gpu, 3) == suite_named(TRAIN, gpu)[:3]


def test_drawn_workloads_take_the_families_in_turn() -> None:
    families = [workload.family.removeprefix("drawn ") for workload in drawn_workloads(2 * len(FAMILIES), seed=0)]
    assert families == [*FAMILIES, *FAMILIES]


@pytest.mark.parametrize(("n", "seed"), [(0, 0), (3, -1)])
def test_drawing_nothing_or_with_a_negative_seed_is_refused(n: int, seed: int) -> None:
    with pytest.raises(UsageError, match=f"got n={n}, seed={seed}"):
        drawn_workloads(n, seed)


def test_an_iteration_is_input_forward_backward_optimiser_wait_and_now_and_then_an_evaluation() -> None:
    recipe = Recipe(gpu_s=0.1, balance=(1.0, 0.5, 0.5), stall_s=0.02, wait_s=0.01, evaluate_every=7)
    phases = phases_of(recipe)
    assert [phase.name for phase in phases] == [
        "input",
        "forward",
        "backward",
        "optimiser",
        "all-reduce wait",
        "evaluation",
    ]
    assert [phase.every for phase in phases] == [1, 1, 1, 1, 1, 7]
    assert sum(phase.compute_s for phase in phases[1:3]) == pytest.approx(0.093)


def test_a_loop_without_stalls_has_no_phase_for_them() -> None:
    names = [phase.name for phase in phases_of(Recipe(gpu_s=0.1, balance=(1.0, 0.5, 0.5)))]
    assert names == ["forward", "backward", "optimiser"]


def test_shifting_workloads_become_others_within_the_hour(gpu: Gpu) -> None:
    for workload in suite_named("shifting", gpu):
        if workload.shift is None:
            assert workload.drift_per_hour > 0
        else:
            seconds = workload.shift.after_work * sweep_of(gpu, workload).seconds.min()
            assert 300 < seconds < 3600
            assert workload.shift.becomes.phases != workload.phases


def test_the_data_sets_of_graph_networks_order_their_lengths(gpu: Gpu) -> None:
    seconds = {workload.name: sweep_of(gpu, workload).seconds.min() for workload in suite_named("paper", gpu)}
    lengths = [seconds[f"gatedgcn-{name}"] for name in ("zinc", "mnist", "cifar10", "tsp")]
    assert all(shorter < longer for shorter, longer in pairwise(lengths))
