"""What an examination finds: one sentence each, with what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gpoeo_env.errors import GpoeoError

__all__ = ["Finding", "Level", "as_finding"]


class Level(Enum):
    """How grave a finding is."""

    NOTE = "note"
    """Worth knowing: something is not there, and all the rest works without it."""
    PROBLEM = "problem"
    """Something is broken, or clocks were left locked."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that an operator should know.

    Attributes:
        subject: what it is about: "driver", "GPU 0".
        level: how grave it is.
        what: one sentence.
        fix: what to do, one line; empty = nothing can be done.
        exit_code: with which `gpoeo doctor` ends because of it; 0 for a note.
    """

    subject: str
    level: Level
    what: str
    fix: str = ""
    exit_code: int = 0


def as_finding(subject: str, error: GpoeoError) -> Finding:
    """Return an error as a problem; our errors end with what to do, after the last semicolon."""
    what, _, fix = str(error).rpartition("; ")
    return Finding(subject, Level.PROBLEM, what or fix, fix if what else "", error.exit_code)
