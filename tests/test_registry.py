from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gpoeo_env.errors import InstallationError, UnknownNameError, UsageError
from gpoeo_env.registry import DEVICES, IMPORTERS, POLICIES, Plugin, load, load_object, plugins


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed distribution `stranger` 1.2 that registers policies, some of them badly."""
    info = tmp_path / "stranger-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.2\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(
        "[gpoeo.policies]\n"
        "good = stranger_policies:build\n"
        "broken = stranger_broken:build\n"
        "renamed = stranger_policies:built\n"
        "default = stranger_policies:build\n"
        "[gpoeo.reports]\n"
        "html = stranger_policies:build\n",
        encoding="utf-8",
    )
    (tmp_path / "stranger_policies.py").write_text("def build(config, sweeps=None): ...\n", encoding="utf-8")
    (tmp_path / "stranger_broken.py").write_text("1 / 0\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_our_own_policies_devices_and_importers_are_registered() -> None:
    names = {group: {plugin.name for plugin in plugins(group)} for group in (POLICIES, DEVICES, IMPORTERS)}
    assert names[POLICIES] >= {"default", "fixed", "oracle", "gpoeo"}
    assert names[DEVICES] >= {"replay", "sim", "sim-samples"}
    assert names[IMPORTERS] >= {"curves", "table"}


@pytest.mark.parametrize("plugin", plugins(), ids=lambda plugin: f"{plugin.group}:{plugin.name}")
def test_everything_registered_can_be_loaded(plugin: Plugin) -> None:
    assert callable(load(plugin.group, plugin.name))


@pytest.mark.usefixtures("install")
def test_a_stranger_registers_exactly_as_we_do() -> None:
    assert Plugin(POLICIES, "good", "stranger_policies:build", "stranger", "1.2") in plugins(POLICIES)
    assert load(POLICIES, "good") is sys.modules["stranger_policies"].build


@pytest.mark.usefixtures("install")
def test_a_group_that_is_new_to_us_is_listed_too() -> None:
    assert [plugin.name for plugin in plugins() if plugin.group == "gpoeo.reports"] == ["html"]


def test_an_unknown_name_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown policy 'orcale'; did you mean oracle"):
        load(POLICIES, "orcale")


@pytest.mark.usefixtures("install")
@pytest.mark.parametrize(("name", "reason"), [("broken", "ZeroDivisionError"), ("renamed", "did you mean build")])
def test_a_plugin_that_cannot_be_loaded_is_named_with_its_distribution(name: str, reason: str) -> None:
    with pytest.raises(InstallationError, match=f"policy '{name}' of stranger 1.2 cannot be loaded.*{reason}"):
        load(POLICIES, name)


@pytest.mark.usefixtures("install")
def test_a_name_that_two_distributions_claim_is_refused() -> None:
    with pytest.raises(InstallationError, match=r"registered twice, by gpoeo-env .* and stranger"):
        load(POLICIES, "default")


def test_a_package_that_is_not_installed_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(InstallationError, match="pip install -e"):
        load(POLICIES, "default")


def test_an_object_is_found_by_its_place() -> None:
    assert load_object("pathlib:Path.home") == Path.home


def test_a_missing_attribute_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean Path"):
        load_object("pathlib:Pat")


def test_a_missing_module_is_named() -> None:
    with pytest.raises(InstallationError, match="no_such_module"):
        load_object("no_such_module:build")


@pytest.mark.parametrize("path", ["pathlib", "pathlib:", ":Path"])
def test_a_place_needs_a_module_and_an_attribute(path: str) -> None:
    with pytest.raises(UsageError, match="module:attribute"):
        load_object(path)
