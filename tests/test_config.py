from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from gpoeo_env.config import Spec, load_toml, validated
from gpoeo_env.errors import ConfigError, UsageError


class Sensor(BaseModel, extra="forbid"):
    period_s: float = Field(default=0.1, gt=0)


class Settings(BaseModel, extra="forbid"):
    sm_mhz: int
    sensor: Sensor | None = None
    sensors: list[Sensor] = []


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("default", Spec("default")),
        ("fixed,sm_mhz=1200", Spec("fixed", {"sm_mhz": 1200})),
        ("fixed:sm_mhz=1200,mem_mhz=5000", Spec("fixed", {"sm_mhz": 1200, "mem_mhz": 5000})),
        ("sim:rtx3080ti,noise=0.02", Spec("sim", {"noise": 0.02}, "rtx3080ti")),
        ("replay:/data/x.sweep.parquet,noise=0.01", Spec("replay", {"noise": 0.01}, "/data/x.sweep.parquet")),
        ("replay:/data/a,b.parquet", Spec("replay", {}, "/data/a,b.parquet")),
        ("replay:/data/seed=3/x.parquet", Spec("replay", {}, "/data/seed=3/x.parquet")),
        ("my_package.controllers:Mine,gain=0.5", Spec("my_package.controllers", {"gain": 0.5}, "Mine")),
        (" default ", Spec("default")),
    ],
)
def test_a_spec_is_read(text: str, spec: Spec) -> None:
    assert Spec.parse(text) == spec


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("-3", -3),
        ("0.5", 0.5),
        ("1e-3", 1e-3),
        ("true", True),
        ("false", False),
        ("median", "median"),
        ("017", "017"),
        ('"3"', "3"),
        ("a=b", "a=b"),
        ("2024-01-01", "2024-01-01"),
        ("[1, 2]", "[1, 2]"),
        ("", ""),
        ("1\nother = 2", "1\nother = 2"),
    ],
)
def test_a_value_is_a_number_a_boolean_or_else_text(text: str, value: object) -> None:
    parsed = Spec.parse(f"name,key={text}").settings["key"]
    assert (parsed, type(parsed)) == (value, type(value))


@pytest.mark.parametrize("text", ["", ":x", "two words", "name:", "name,key", "3name", "name,=3"])
def test_text_that_is_no_spec_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="for example fixed:sm_mhz=1200"):
        Spec.parse(text)


def test_a_setting_that_is_given_twice_is_refused() -> None:
    with pytest.raises(ConfigError, match="'a' is set twice"):
        Spec.parse("name,a=1,a=2")


@given(st.text())
def test_any_text_is_read_or_refused_on_purpose(text: str) -> None:
    try:
        spec = Spec.parse(text)
    except UsageError:
        return
    assert spec.name in text


def test_settings_become_their_model() -> None:
    assert validated(Settings, {"sm_mhz": 1200}, "policy fixed") == Settings(sm_mhz=1200)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"sm_mhz": 1, "sensr": {}}, "policy fixed: unknown setting 'sensr'; did you mean sensor"),
        ({"sm_mhz": 1, "sensor": {"perid_s": 1}}, "unknown setting 'sensor.perid_s'; did you mean period_s"),
        ({"sm_mhz": 1, "sensors": [{"perid_s": 1}]}, "unknown setting 'sensors.0.perid_s'; did you mean period_s"),
        ({}, "policy fixed: setting 'sm_mhz' is missing"),
        ({"sm_mhz": "fast"}, "policy fixed: sm_mhz = 'fast': input should be a valid integer"),
        ({"sm_mhz": 1, "sensor": {"period_s": 0}}, "sensor.period_s = 0: input should be greater than 0"),
    ],
)
def test_a_wrong_setting_is_named_with_its_place(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        validated(Settings, config, "policy fixed")


def test_every_wrong_setting_is_named_at_once() -> None:
    with pytest.raises(ConfigError, match="'sm_mhz' is missing; unknown setting 'x'"):
        validated(Settings, {"x": 1}, "policy fixed")


def test_a_toml_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("sm_mhz = 1200\n[sensor]\nperiod_s = 0.2\n", encoding="utf-8")
    assert load_toml(path) == {"sm_mhz": 1200, "sensor": {"period_s": 0.2}}


def test_a_toml_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*none\.toml: No such file"):
        load_toml(tmp_path / "none.toml")


@pytest.mark.parametrize("content", [b"sm_mhz = ", b"\xff\xfe"])
def test_a_file_that_is_no_toml_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"bad\.toml is not a TOML file"):
        load_toml(path)
