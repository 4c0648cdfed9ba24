from __future__ import annotations

import pickle

import pytest

import gpoeo_env.errors as module
from gpoeo_env.errors import (
    ClockNotSupportedError,
    ConfigError,
    GpoeoError,
    InstallationError,
    ModelError,
    NotRecordedError,
    UnknownNameError,
    nearest_names,
    repeated,
)

ERRORS = [
    error
    for error in vars(module).values()
    if isinstance(error, type) and issubclass(error, GpoeoError) and error is not GpoeoError
]


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (UnknownNameError, LookupError),
        (UnknownNameError, ValueError),
        (ConfigError, ValueError),
        (InstallationError, ImportError),
        (ModelError, ValueError),
        (ClockNotSupportedError, ValueError),
        (ClockNotSupportedError, RuntimeError),
        (NotRecordedError, LookupError),
    ],
)
def test_an_error_is_also_the_builtin_that_callers_handle(error: type[GpoeoError], builtin: type[Exception]) -> None:
    assert issubclass(error, builtin)


@pytest.mark.parametrize("error", ERRORS)
def test_an_error_has_an_exit_code_that_no_shell_uses_itself(error: type[GpoeoError]) -> None:
    assert 1 < error.exit_code < 126


@pytest.mark.parametrize("error", [error for error in ERRORS if error is not UnknownNameError])
def test_an_error_reads_as_its_message_without_quotes(error: type[GpoeoError]) -> None:
    assert str(error("no such clock")) == "no such clock"


def test_an_unknown_name_carries_what_was_wanted_and_what_there_is() -> None:
    error = UnknownNameError("policy", "orcale", ["oracle", "default"])
    assert str(error) == "unknown policy 'orcale'; did you mean oracle?"
    assert (error.name, error.known) == ("orcale", ("oracle", "default"))


def test_an_unknown_name_crosses_process_borders() -> None:
    error = UnknownNameError("policy", "orcale", ["oracle"])
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.known) == (UnknownNameError, str(error), error.known)


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("x", [], "there are none"),
        ("zzz", ["oracle", "default"], "there are: default, oracle"),
        ("ORACLE", ["oracle"], "did you mean oracle?"),
        ("zzz", [f"name{i:02}" for i in range(14)], "and 2 more"),
    ],
)
def test_names_near_a_wrong_one_are_shown_or_else_what_there_is(name: str, known: list[str], expected: str) -> None:
    assert expected in nearest_names(name, known)


def test_names_listed_more_than_once_are_found_one_time_each_and_sorted() -> None:
    assert repeated(["c", "b", "a", "b", "c", "c"]) == ["b", "c"]
    assert repeated(["a", "b"]) == []
