"""Benchmarks as files: what they say, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpoeo_env.bench.config import load_bench
from gpoeo_env.errors import ConfigError, UnknownNameError

CONFIGS = Path(__file__).resolve().parents[2] / "configs" / "bench"


def written(folder: Path, text: str) -> Path:
    file = folder / "bench.toml"
    file.write_text(f'title = "a benchmark"\n{text}')
    return file


@pytest.mark.parametrize("file", sorted(CONFIGS.glob("*.toml")), ids=lambda file: file.stem)
def test_every_benchmark_of_the_project_loads(file: Path) -> None:
    config = load_bench(file)
    assert config.models or config.episodes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[episodes]]\nname = 'x'\npolicy = ['default']", "name one of the two"),
        ("[[episodes]]\nname = 'x'\npolicy = []\ndevice = 'sim:rtx3080ti'", "at least one policy"),
        ("[[episodes]]\nname = 'x'\npolicies = ['default']\ndevice = 'd'", "did you mean policy"),
        ("[data.d]\nkind = 'table'\nfile = 'x.csv'", "setting 'data.d.table.gpu' is missing"),
        ("[data.d]\nkind = 'tables'", "tables"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(Exception, match=message):
        load_bench(written(tmp_path, text))


def test_data_that_no_block_defines_name_the_nearest(tmp_path: Path) -> None:
    block = "[data.v100]\nkind = 'sweep'\nfile = 'v100.parquet'\n[[episodes]]\nname='x'\npolicy=['default']\ndata='v10'"
    with pytest.raises(UnknownNameError, match=r"data 'v10'; did you mean v100\?"):
        load_bench(written(tmp_path, block))


def test_a_limit_out_of_range_is_refused_before_anything_runs(tmp_path: Path) -> None:
    block = "[[episodes]]\nname='x'\npolicy=['default']\ndevice='sim:rtx3080ti'\nlimit=-1.0"
    with pytest.raises(ConfigError, match="limit"):
        load_bench(written(tmp_path, block))
