from __future__ import annotations

from pathlib import Path

import pytest

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.errors import ClockNotSupportedError, ConfigError, InstallationError, UnknownNameError, UsageError
from gpoeo_env.objective import Objective
from gpoeo_env.policy import PolicyContext, build_policy
from gpoeo_policies.default import DefaultPolicy
from gpoeo_policies.fixed import FixedPolicy

CONTEXT = PolicyContext(
    clocks=ClockTable([ClockPair(1200, 5000), ClockPair(1800, 5000)]),
    objective=Objective.ENERGY,
    limit=0.05,
    default_pair=None,
    gpu_name="made-up GPU",
    window_s=10.0,
    seed=0,
)


@pytest.fixture
def controllers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An importable module with a policy class, a factory and things that are neither."""
    (tmp_path / "controllers.py").write_text(
        "class Mine:\n"
        "    def __init__(self, gain=1.0):\n"
        "        self.gain = gain\n"
        "    def reset(self, context): ...\n"
        "    def act(self, step): ...\n"
        "def build(config, sweeps=None):\n"
        "    mine = Mine(**config)\n"
        "    mine.sweeps = sweeps\n"
        "    return mine\n"
        "class NoPolicy: ...\n"
        "answer = 42\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)


def test_a_policy_is_built_by_its_registered_name() -> None:
    assert isinstance(build_policy("default"), DefaultPolicy)


@pytest.mark.parametrize("spec", ["fixed,sm_mhz=1200", "fixed:sm_mhz=1200"])
def test_settings_of_a_spec_reach_the_policy(spec: str) -> None:
    policy = build_policy(spec)
    assert isinstance(policy, FixedPolicy)
    assert (policy.sm_mhz, policy.mem_mhz) == (1200, None)


@pytest.mark.usefixtures("controllers")
def test_a_class_is_built_by_its_place() -> None:
    policy = build_policy("controllers:Mine,gain=0.5")
    assert policy.gain == 0.5  # type: ignore[attr-defined]  # the class is only known at run time


@pytest.mark.usefixtures("controllers")
def test_a_factory_at_its_place_is_given_the_sweeps() -> None:
    policy = build_policy("controllers:build,gain=0.5", sweeps=["other workloads"])
    assert policy.sweeps == ["other workloads"]  # type: ignore[attr-defined]  # the class is only known at run time


@pytest.mark.usefixtures("controllers")
@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("controllers:Mine,gian=1", ConfigError, "unexpected keyword argument 'gian'"),
        ("controllers:NoPolicy", UsageError, "NoPolicy, which is no policy: it needs reset and act"),
        ("controllers:answer", UsageError, "type int, which is neither a class nor a function"),
        ("controllers:Main", UnknownNameError, "did you mean Mine"),
        ("no_such_controllers:Mine", InstallationError, "no_such_controllers"),
        ("fixd", UnknownNameError, "did you mean fixed"),
        ("fixed,sm_mz=1", ConfigError, "did you mean sm_mhz"),
        ("default,gain=1", ConfigError, "policy default: unknown setting 'gain'"),
    ],
)
def test_a_spec_that_gives_no_policy_says_why(spec: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build_policy(spec)


def test_a_fixed_pair_that_is_not_offered_is_refused_at_reset() -> None:
    with pytest.raises(ClockNotSupportedError, match="the nearest is 1200/5000"):
        build_policy("fixed,sm_mhz=1300").reset(CONTEXT)
