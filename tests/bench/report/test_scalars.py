"""The figures as TensorBoard reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpoeo_env.bench.report.scalars import write_scalars
from gpoeo_env.bench.report.standings import Results, standings_of


def test_tensorboard_reads_the_figures_of_every_policy(results: Results, tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    block = results.blocks[0]
    standings = standings_of(block)
    write_scalars(block, standings, [], tmp_path)
    runs = sorted(folder.name for folder in (tmp_path / "Three-workloads").iterdir())
    assert runs == ["default", "fixed-sm_mhz=1200", "fixed-sm_mhz=900", "oracle"]
    read = accumulator.EventAccumulator(str(tmp_path / "Three-workloads" / "fixed-sm_mhz=900"))
    read.Reload()
    saved = [event.value for event in read.Scalars("workload/saved")]
    assert saved == pytest.approx(standings.saved["fixed:sm_mhz=900"].mean(axis=1).tolist())
    (mean,) = read.Scalars("ranking/saved_value")
    assert mean.value == pytest.approx(standings.policies["fixed:sm_mhz=900"].saved.value)
