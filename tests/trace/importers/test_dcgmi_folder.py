"""A folder of logs: their names say which is which."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpoeo_env.clocks import ClockPair
from gpoeo_env.errors import TraceError, UsageError
from gpoeo_env.trace.importers.dcgmi_folder import NamePattern, import_dcgmi_folder
from gpoeo_env.trace.recording_set import RecordingSet


def log(folder: Path, name: str, sm_mhz: int, extra: str = "") -> None:
    lines = ("# Entity SMCLK SMACT PSTAT", "GPU 0 210 0.0 0", f"GPU 0 {sm_mhz} 0.9 0", f"GPU 0 {sm_mhz} N/A 0", extra)
    (folder / name).write_text("\n".join(lines), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two workloads at two clocks, and a file that is something else."""
    for workload in ("fast", "slow-one"):
        for sm_mhz in (1000, 1410):
            log(tmp_path, f"{workload}-{sm_mhz}-0.txt", sm_mhz)
    (tmp_path / "README").write_text("notes", encoding="utf-8")
    return tmp_path


def imported(folder: Path, pattern: str = "{workload}-{sm_mhz}-*.txt", **options: object) -> RecordingSet:
    told = options.pop("tell", lambda _: None)
    names = NamePattern.parse(pattern, mem_mhz=1593)
    return import_dcgmi_folder(folder, names, gpu_name="A100", interval_s=0.02, tell=told, **options)  # type: ignore[arg-type]


def test_every_log_that_fits_becomes_a_recording(folder: Path) -> None:
    recordings = imported(folder)

    assert recordings.workloads == ("fast", "slow-one")
    assert recordings.clocks("slow-one").pairs == (ClockPair(1000, 1593), ClockPair(1410, 1593))
    assert recordings.reference == ClockPair(1410, 1593)


def test_what_is_left_out_is_told_once_for_all_files(folder: Path) -> None:
    told: list[str] = []

    imported(folder, tell=told.append)

    assert [line.removeprefix(str(folder)) for line in told] == [
        ": left out 1 files whose names do not fit",
        ", 4 file(s): left out PSTAT: no known reading of a GPU",
        ", 4 file(s): cells without a reading, of some: SMACT some",
    ]


def test_the_reference_can_be_named(folder: Path) -> None:
    assert imported(folder, reference=ClockPair(1000, 1593)).reference == ClockPair(1000, 1593)
    with pytest.raises(TraceError, match="not recorded at the reference pair 900/1593 MHz; the nearest recorded"):
        imported(folder, reference=ClockPair(900, 1593))


def test_every_file_is_counted_as_it_is_read(folder: Path) -> None:
    done: list[None] = []

    imported(folder, advance=lambda: done.append(None))

    assert len(done) == 4 == NamePattern.parse("{workload}-{sm_mhz}-*.txt", 1593).count(folder)


def test_a_name_can_hold_the_memory_clock() -> None:
    names = NamePattern.parse("{workload}_{sm_mhz}_{mem_mhz}.log", None)

    assert names.read("a_b_1000_877.log") == ("a_b", ClockPair(1000, 877))
    assert names.read("a_1000.log") is None


@pytest.mark.parametrize(
    ("pattern", "mem_mhz"),
    [
        ("{workload}.txt", 1593),
        ("{workload}-{sm_mhz}", None),
        ("{workload}-{sm_mhz}-{mem_mhz}", 1593),
        ("{workload}-{sm_mhz}-{sm_mhz}", 1593),
        ("{workload}-{sm_mhz}-{run}", 1593),
    ],
)
def test_a_pattern_names_each_thing_once(pattern: str, mem_mhz: int | None) -> None:
    with pytest.raises(UsageError, match="each once and nothing else in braces"):
        NamePattern.parse(pattern, mem_mhz)


def test_a_clock_is_positive() -> None:
    with pytest.raises(UsageError, match="must be positive"):
        NamePattern.parse("{workload}-{sm_mhz}", 0)


def test_a_log_at_another_clock_than_its_name_says_is_refused(folder: Path) -> None:
    log(folder, "fast-1200-0.txt", 1100)

    with pytest.raises(TraceError, match="reached 1100 MHz, and the name says 1200"):
        imported(folder)


def test_two_logs_of_one_pair_are_refused(folder: Path) -> None:
    log(folder, "fast-1000-1.txt", 1000)

    with pytest.raises(TraceError, match="recorded twice: fast at 1000/1593 MHz"):
        imported(folder)


def test_a_folder_without_logs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="there is no folder"):
        imported(tmp_path / "absent")
    with pytest.raises(TraceError, match="holds no files"):
        imported(tmp_path)
    (tmp_path / "notes").write_text("", encoding="utf-8")
    with pytest.raises(TraceError, match="no name of the 1 files"):
        imported(tmp_path)
