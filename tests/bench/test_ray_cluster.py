"""Batches on a Ray cluster of two nodes, one core each, both on this machine."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec

import pytest

from gpoeo_env.bench.batch import batch_of
from gpoeo_env.bench.executors import in_processes
from gpoeo_env.bench.plan import EpisodePlan
from gpoeo_env.bench.ray_cluster import in_ray
from gpoeo_env.device.opening import open_device
from gpoeo_env.errors import ConfigError, InstallationError, UsageError

ARENA = partial(open_device, "sim:rtx3080ti")
WORKLOADS = ("bert-base", "resnet50", "gcn")
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed; pip install 'gpoeo-env[ray]'")
quiet = pytest.mark.filterwarnings("ignore")  # Ray's own, of which there are some in every version


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        from ray.cluster_utils import Cluster  # noqa: PLC0415 - optional

        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        cluster.add_node(num_cpus=1)
        yield cluster.address
        cluster.shutdown()


@needs_ray
@quiet
def test_a_cluster_gives_the_same_results_in_the_same_order(address: str) -> None:
    plan = EpisodePlan(policies=("default", "oracle"), seeds=(0, 1), budget_s=60.0)
    batches = [batch_of(plan, ARENA, workload) for workload in WORKLOADS]
    assert list(in_ray(address)(batches)) == list(in_processes(jobs=1)(batches))


@needs_ray
@quiet
def test_what_a_policy_raises_on_the_cluster_is_raised_here(address: str) -> None:
    plan = EpisodePlan(policies=("fixed:sm_mhz=-1",), budget_s=60.0)
    with pytest.raises(ConfigError, match="sm_mhz"):
        list(in_ray(address)([batch_of(plan, ARENA, "gcn")]))


@needs_ray
def test_an_address_where_nobody_listens_is_told_at_once() -> None:
    with socket.socket() as bound:  # taken, and not listening
        bound.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(UsageError, match=f"no Ray cluster answers at '{address}'"):
            list(in_ray(address)([]))


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_without_ray_the_message_says_what_to_install() -> None:
    with pytest.raises(InstallationError, match=r"gpoeo-env\[ray\]"):
        in_ray("auto")
