"""What a profile has measured so far, on disk at once: an interrupted one goes on where it stopped.

One JSON object a line; the first says what is profiled, and a profile of anything else does not go on from it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpoeo_env.clocks import ClockPair
from gpoeo_env.errors import ArtefactError, UsageError

__all__ = ["Entry", "ProfileJournal"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One window of a profile.

    Attributes:
        pair: what was locked; None = released, a window at the driver's default.
        time, energy: per work, relative to the reference of the same sitting.
        power_w: mean power.
        counters: means by name.
        skipped: why the window does not count; empty = it does.
    """

    pair: ClockPair | None
    time: float
    energy: float
    power_w: float
    counters: Mapping[str, float]
    skipped: str = ""


class ProfileJournal:
    """Entries beside the output file."""

    def __init__(self, file: Path, identity: Mapping[str, Any]) -> None:
        """Name the file and what is profiled; `open` reads or begins it. `Any`: plain JSON values."""
        self.file = file
        self.entries: list[Entry] = []
        self._identity = dict(identity)

    def open(self, *, fresh: bool = False) -> None:
        """Read what there is, or begin anew.

        Args:
            fresh: forget an earlier profile.

        Raises:
            UsageError: another profile was begun there.
            ArtefactError: the file cannot be read or written.
        """
        try:
            if fresh or not self.file.exists():
                self.file.parent.mkdir(parents=True, exist_ok=True)
                self.file.write_text(json.dumps(self._identity) + "\n", encoding="utf-8")
                return
            header, *lines = self.file.read_text(encoding="utf-8").splitlines()
            begun = json.loads(header)
        except (OSError, ValueError) as error:
            raise ArtefactError(f"the journal {self.file} cannot be used ({error}); begin anew with --fresh") from error
        self._check(begun)
        for line in lines:
            try:
                self.entries.append(_read(json.loads(line)))
            except (ValueError, KeyError, TypeError):  # cut off by a kill: that window is measured again
                break
        self._rewrite()

    def add(self, entry: Entry) -> None:
        """Keep one more window, safe against a kill.

        Raises:
            ArtefactError: it cannot be written.
        """
        self.entries.append(entry)
        try:
            with self.file.open("a", encoding="utf-8") as stream:
                stream.write(_line(entry))
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise ArtefactError(f"cannot write the journal {self.file}: {error.strerror}; free the disk") from error

    def remove(self) -> None:
        """Forget it: the profile is complete."""
        self.file.unlink(missing_ok=True)

    def _check(self, begun: Mapping[str, Any]) -> None:
        for key, value in self._identity.items():
            if begun.get(key) != value:
                raise UsageError(
                    f"{self.file} holds a profile with {key} = {begun.get(key)!r}, and this one has {value!r}; "
                    "ask for the same to go on, or begin anew with --fresh"
                )

    def _rewrite(self) -> None:
        """Leave out a line that was cut off, so that the next one begins on its own."""
        text = json.dumps(self._identity) + "\n" + "".join(map(_line, self.entries))
        draft = self.file.with_suffix(".draft")
        draft.write_text(text, encoding="utf-8")
        draft.replace(self.file)


def _line(entry: Entry) -> str:
    pair = None if entry.pair is None else [entry.pair.sm_mhz, entry.pair.mem_mhz]
    record = {
        "pair": pair,
        "time": entry.time,
        "energy": entry.energy,
        "power_w": entry.power_w,
        "counters": dict(entry.counters),
        "skipped": entry.skipped,
    }
    return json.dumps(record) + "\n"


def _read(record: Mapping[str, Any]) -> Entry:
    pair = None if record["pair"] is None else ClockPair(*record["pair"])
    numbers = (float(record["time"]), float(record["energy"]), float(record["power_w"]))
    return Entry(pair, *numbers, dict(record["counters"]), str(record["skipped"]))
