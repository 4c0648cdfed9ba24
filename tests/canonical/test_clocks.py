import numpy as np
import pytest

from gpoeo_env.canonical.clocks import N_ACTIONS, CanonicalClocks
from gpoeo_env.clocks import RELEASE, ClockPair, ClockTable
from gpoeo_env.errors import ClockNotSupportedError
from gpoeo_env.sim.catalogue import load_gpu, packaged_gpu_names

THIRTEEN = ClockTable.from_product(range(510, 1391, 70), (877,))


@pytest.mark.parametrize("name", packaged_gpu_names())
def test_every_gpu_offers_all_levels_of_its_highest_memory_clocks(name: str) -> None:
    clocks = load_gpu(name).clocks
    canonical = CanonicalClocks(clocks)
    assert canonical.is_valid.sum() == 1 + 16 * min(3, len(clocks.mem_clocks))


def test_no_two_actions_lock_the_same_pair() -> None:
    canonical = CanonicalClocks(THIRTEEN)
    locked = canonical.actions[canonical.is_valid]
    assert len(set(locked)) == len(locked) == 12  # the two lowest pairs are below the lowest level


def test_the_last_level_of_the_first_memory_clock_is_the_top_pair() -> None:
    clocks = load_gpu("rtx3080ti").clocks
    assert clocks.pair_of(CanonicalClocks(clocks).action_of(16)) == clocks.top


def test_levels_snap_to_the_nearest_pair() -> None:
    clocks = ClockTable([ClockPair(1000, 5000), ClockPair(505, 5000), ClockPair(490, 5000)])
    canonical = CanonicalClocks(clocks)
    assert [clocks.pair_of(canonical.action_of(action)) for action in (1, 16)] == [
        ClockPair(505, 5000),
        ClockPair(1000, 5000),
    ]
    assert canonical.action_of(RELEASE) == RELEASE


@pytest.mark.parametrize("action", [-1, 1, N_ACTIONS])
def test_an_action_without_a_pair_is_refused(action: int) -> None:
    canonical = CanonicalClocks(ClockTable([ClockPair(1000, 5000)]))
    with pytest.raises(ClockNotSupportedError, match="valid are 0, 16"):
        canonical.action_of(action)
    assert np.flatnonzero(canonical.is_valid).tolist() == [0, 16]
