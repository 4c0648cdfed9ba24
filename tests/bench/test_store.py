"""A benchmark is gone on with where it stopped, runs only what is new, and what was tampered with is caught."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gpoeo_env.bench import case, fingerprint
from gpoeo_env.bench.batch import Batch
from gpoeo_env.bench.config import BenchConfig, EpisodesBlock
from gpoeo_env.bench.executors import in_processes
from gpoeo_env.bench.result import EpisodeResult
from gpoeo_env.bench.running import EpisodesOutcome, run_bench
from gpoeo_env.bench.sources import FileSource
from gpoeo_env.bench.store import Store, load_manifest, read_rows
from gpoeo_env.bench.validation import sample_of, validate
from gpoeo_env.errors import ArtefactError
from gpoeo_env.trace.store import write_sweeps
from gpoeo_env.trace.sweep import SweepSet

BLOCK = EpisodesBlock(name="replayed", data="small", policy=("default", "oracle"), seeds=2)
CONFIG = BenchConfig(title="t", data={"small": FileSource(kind="sweep", file=Path("small.parquet"))}, episodes=(BLOCK,))


@pytest.fixture
def data(tmp_path: Path, sweeps: SweepSet) -> Path:
    write_sweeps(tmp_path / "small.parquet", sweeps)
    return tmp_path


def run(data: Path, config: BenchConfig = CONFIG) -> EpisodesOutcome:
    with Store(data / "results") as store:
        (outcome,) = run_bench(config, data, store=store)
    assert isinstance(outcome, EpisodesOutcome)
    return outcome


def test_what_was_run_is_not_run_again(data: Path) -> None:
    first, second = run(data), run(data)
    assert (first.n_new, second.n_new) == (12, 0)
    assert second.results == first.results
    assert second.results == [*run_plain(data)]


def run_plain(data: Path) -> list[EpisodeResult]:
    (outcome,) = run_bench(CONFIG, data)
    assert isinstance(outcome, EpisodesOutcome)
    return outcome.results


def test_only_what_is_new_runs(data: Path) -> None:
    run(data)
    assert run(data, CONFIG.with_policies(["fixed:sm_mhz=1200"])).n_new == 6
    longer = CONFIG.model_copy(update={"episodes": (BLOCK.model_copy(update={"budget_s": 300.0}),)})
    assert run(data, longer).n_new == 12
    assert run(data).n_new == 0


def test_other_data_make_rows_stale(data: Path, sweeps: SweepSet) -> None:
    run(data)
    write_sweeps(data / "small.parquet", replace(sweeps, sweeps=sweeps.sweeps[:2]), overwrite=True)
    code = {row.code for row in read_rows(data / "results").values()}
    for cached in (fingerprint._digest, case._sweeps):  # a new process starts without them
        cached.cache_clear()
    assert run(data).n_new == 8
    assert code < {row.code for row in read_rows(data / "results").values()}


def test_a_killed_run_goes_on_after_its_last_whole_row(data: Path) -> None:
    def dies_after_five(batches: Sequence[Batch]) -> Iterator[EpisodeResult]:
        for number, result in enumerate(in_processes(1)(batches)):
            if number == 5:
                raise KeyboardInterrupt
            yield result

    with pytest.raises(KeyboardInterrupt), Store(data / "results") as store:
        list(run_bench(CONFIG, data, dies_after_five, store=store))
    with (data / "results" / "rows.jsonl").open("a") as file:
        file.write('{"key": "torn')
    assert run(data).n_new == 7
    assert len(load_manifest(data / "results").blocks[0].keys) == 12


def test_untouched_results_validate(data: Path) -> None:
    run(data)
    manifest, rows, missing = sample_of(data / "results", 20)
    verdicts = list(validate(manifest, rows))
    assert len(verdicts) == 12
    assert missing == []
    assert not any(verdict.complaints or verdict.is_stale for verdict in verdicts)


def tamper(data: Path, change: Callable[[dict[str, dict[str, object]]], None]) -> None:
    file = data / "results" / "rows.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    change(rows[3])
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda row: row["result"].update(saving=0.5), "saving was 0.5 and is"),
        (lambda row: row["result"].update(run_slowdown=0.0), "run_slowdown was 0 and is"),
        (lambda row: row["case"].update(limit=0.5), "its settings are not those"),
        (lambda row: row["case"].update(seed=7), "its settings are not those"),
    ],
    ids=["saving", "slowdown", "limit", "seed"],
)
def test_a_tampered_row_is_caught(
    data: Path, change: Callable[[dict[str, dict[str, object]]], None], complaint: str
) -> None:
    run(data)
    tamper(data, change)
    manifest, rows, _ = sample_of(data / "results", 20)
    (wrong,) = [verdict for verdict in validate(manifest, rows) if verdict.complaints]
    assert complaint in wrong.complaints[0]


def test_a_removed_row_is_missed(data: Path) -> None:
    run(data)
    file = data / "results" / "rows.jsonl"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[1:]))
    assert len(sample_of(data / "results", 20)[2]) == 1


def test_a_folder_that_holds_no_results_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match="no folder of results"):
        sample_of(tmp_path, 20)


def test_a_damaged_row_is_named_by_its_line(data: Path) -> None:
    run(data)
    with (data / "results" / "rows.jsonl").open("a") as file:
        file.write("{}\n")
    with pytest.raises(ArtefactError, match="line 13"):
        run(data)
