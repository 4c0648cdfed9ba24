"""Settings as people write them: one-line specs, TOML files, and the check against a documented model.

Spec.parse("sim:rtx3080ti,noise=0.02")     # Spec("sim", {"noise": 0.02}, argument="rtx3080ti")
Spec.parse("fixed:sm_mhz=1200")            # Spec("fixed", {"sm_mhz": 1200})
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from gpoeo_env.errors import ConfigError, UsageError, nearest_names

__all__ = ["Spec", "load_toml", "validated"]

Model = TypeVar("Model", bound=BaseModel)

_NEXT_SETTING = re.compile(r",(?=[A-Za-z_][\w-]*=)")
_SETTING = re.compile(r"(?P<key>[A-Za-z_][\w-]*)=(?P<value>.*)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][\w.-]*")


@dataclass(frozen=True, slots=True)
class Spec:
    """A plugin and its settings, on one line: ``NAME[:ARGUMENT][,key=value...]`` or ``NAME:key=value,...``.

    Attributes:
        name: what to look up.
        settings: int, float, bool or str by key. `Any`: a pydantic model checks them.
        argument: what stands between the colon and the first setting; None = nothing.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    argument: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a spec; a value is read as TOML where that gives a number, a boolean or a string, else as it stands.

        Raises:
            UsageError: the text does not have this form.
            ConfigError: a setting is given twice.
        """
        head, *settings = _NEXT_SETTING.split(text.strip())
        name, colon, rest = head.partition(":")
        if not _NAME.fullmatch(name) or (colon and not rest):
            raise UsageError(
                f"{text!r} cannot be read; write NAME, NAME,key=value,... or NAME:ARGUMENT,key=value,..., for example "
                "fixed:sm_mhz=1200 or sim:rtx3080ti,noise=0.02"
            )
        if _SETTING.fullmatch(rest):
            return cls(name, _settings([rest, *settings], text))
        return cls(name, _settings(settings, text), rest or None)


def validated(model: type[Model], config: Mapping[str, Any], where: str) -> Model:
    """Return the settings as an instance of their model.

    Args:
        model: documents and bounds every setting.
        config: from a spec or a TOML file. `Any`: that is what is checked here.
        where: what the settings belong to, for the message ("policy fixed", a file name).

    Raises:
        ConfigError: a key is unknown (the message names the nearest) or a value does not fit.
    """
    try:
        return model.model_validate(dict(config))
    except ValidationError as error:
        complaints = [_complaint(model, item["type"], item["loc"], item) for item in error.errors()]
        raise ConfigError(f"{where}: {'; '.join(complaints)}") from None


def load_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file. `Any`: a model checks the values afterwards.

    Raises:
        ConfigError: the file cannot be read, or is not TOML in UTF-8.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}; name a readable TOML file") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} is not a TOML file: {error}") from error


def _settings(pieces: Sequence[str], text: str) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for piece in pieces:
        match = _SETTING.fullmatch(piece)
        assert match is not None, "the text was split in front of settings"
        if match["key"] in settings:
            raise ConfigError(f"{match['key']!r} is set twice in {text!r}; set it once")
        settings[match["key"]] = _value(match["value"])
    return settings


def _value(text: str) -> int | float | bool | str:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    value = parsed["value"]
    return value if len(parsed) == 1 and isinstance(value, int | float | str) else text


def _complaint(model: type[BaseModel], kind: str, location: tuple[int | str, ...], item: Mapping[str, Any]) -> str:
    """Say what is wrong with one setting. `Any`: pydantic's own record."""
    key = ".".join(str(part) for part in location)
    if kind == "extra_forbidden":
        return f"unknown setting {key!r}; {nearest_names(str(location[-1]), _keys_at(model, location[:-1]))}"
    if kind == "missing":
        return f"setting {key!r} is missing"
    reason = str(item["msg"]).removeprefix("Value error, ")
    reason = reason[:1].lower() + reason[1:]
    return f"{key} = {item['input']!r}: {reason}" if key else reason


def _keys_at(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """Return the keys that the model knows at a place; follows nested models, also inside lists and options."""
    for part in location:
        known = model.model_fields.get(str(part))
        if known is not None:
            nested = [kind for kind in _types_in(known.annotation) if issubclass(kind, BaseModel)]
            if nested:
                model = nested[0]
    return [known.alias or name for name, known in model.model_fields.items()]


def _types_in(annotation: object) -> list[type]:
    if isinstance(annotation, type) and not get_args(annotation):
        return [annotation]
    return [kind for argument in get_args(annotation) for kind in _types_in(argument)]
