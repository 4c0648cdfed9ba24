"""Where a benchmark takes its sweeps from: files, tables that are imported on the way, or the simulator."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, Field

from gpoeo_env.clocks import ClockPair, ClockTable
from gpoeo_env.sim.catalogue import load_gpu
from gpoeo_env.sim.closed_form import simulated_sweeps
from gpoeo_env.sim.suites import suite_named
from gpoeo_env.trace.importers.curves import import_curves
from gpoeo_env.trace.importers.table import import_table
from gpoeo_env.trace.store import read_sweeps
from gpoeo_env.trace.sweep import Sweep, SweepSet

__all__ = ["CurvesSource", "FileSource", "SimulatedSource", "Source", "TableSource", "first_missing"]

_logger = logging.getLogger(__name__)


class FileSource(BaseModel, extra="forbid", frozen=True):
    """A sweep file.

    Attributes:
        file: relative to the folder of the data.
    """

    kind: Literal["sweep"]
    file: Path

    @property
    def files(self) -> tuple[Path, ...]:
        """What it needs, relative to the folder of the data."""
        return (self.file,)

    def sweeps(self, folder: Path) -> SweepSet:
        """Read it.

        Raises:
            ArtefactError: it cannot be used.
        """
        return read_sweeps(folder / self.file)


class CurvesSource(BaseModel, extra="forbid", frozen=True):
    """Two wide tables of performance and power; see `import_curves`."""

    kind: Literal["curves"]
    performance: Path
    power: Path
    gpu: str
    mem_mhz: int

    @property
    def files(self) -> tuple[Path, ...]:
        """What it needs, relative to the folder of the data."""
        return self.performance, self.power

    def sweeps(self, folder: Path) -> SweepSet:
        """Import them.

        Raises:
            TraceError: they cannot be read as curves.
        """
        return import_curves(folder / self.performance, folder / self.power, gpu_name=self.gpu, mem_mhz=self.mem_mhz)


class TableSource(BaseModel, extra="forbid", frozen=True):
    """A long table; see `import_table`.

    Attributes:
        map: columns by the names that `gpoeo trace import table --map` knows.
        reference: SM,MEM in MHz; None = the top pair.
        most: SM,MEM in MHz; pairs with a higher clock are left out (overclocks); None = all pairs.
        ignore: columns that are no counters.
        drop_incomplete: leave out workloads with rows that cannot be used.
    """

    kind: Literal["table"]
    file: Path
    gpu: str
    map: dict[str, str]
    reference: str | None = None
    most: str | None = None
    mem_mhz: int | None = None
    ignore: tuple[str, ...] = ()
    drop_incomplete: bool = False

    @property
    def files(self) -> tuple[Path, ...]:
        """What it needs, relative to the folder of the data."""
        return (self.file,)

    def sweeps(self, folder: Path) -> SweepSet:
        """Import it.

        Raises:
            UsageError: the reference is not a clock pair.
            TraceError: the table cannot be read.
        """
        sweeps = import_table(
            folder / self.file,
            gpu_name=self.gpu,
            mapping=self.map,
            reference=None if self.reference is None else ClockPair.parse(self.reference),
            mem_mhz=self.mem_mhz,
            ignore=self.ignore,
            drop_incomplete=self.drop_incomplete,
            tell=_logger.info,
        )
        return sweeps if self.most is None else _up_to(ClockPair.parse(self.most), sweeps)


class SimulatedSource(BaseModel, extra="forbid", frozen=True):
    """The closed form of a suite on a GPU of the catalogue."""

    kind: Literal["simulated"]
    gpu: str
    suite: str

    @property
    def files(self) -> tuple[Path, ...]:
        """Nothing: it is computed."""
        return ()

    def sweeps(self, folder: Path) -> SweepSet:  # noqa: ARG002 - needs no data
        """Compute it.

        Raises:
            UnknownNameError: there is no such GPU or suite.
        """
        gpu = load_gpu(self.gpu)
        return simulated_sweeps(gpu, suite_named(self.suite, gpu), f"suite {self.suite}")


Source = Annotated[FileSource | CurvesSource | TableSource | SimulatedSource, Field(discriminator="kind")]


def first_missing(source: Source, folder: Path) -> Path | None:
    """Return a file that the source needs and the folder lacks; None where all are there."""
    return next((folder / file for file in source.files if not (folder / file).is_file()), None)


def _up_to(most: ClockPair, sweeps: SweepSet) -> SweepSet:
    """Leave out every pair with a clock above the given ones."""
    return replace(sweeps, sweeps=tuple(_pairs_up_to(most, sweep) for sweep in sweeps.sweeps))


def _pairs_up_to(most: ClockPair, sweep: Sweep) -> Sweep:
    kept = np.all(sweep.clocks.mhz <= (most.sm_mhz, most.mem_mhz), axis=1)
    return replace(
        sweep,
        clocks=ClockTable(pair for pair, stays in zip(sweep.clocks, kept, strict=True) if stays),
        seconds=sweep.seconds[kept],
        joules=sweep.joules[kept],
        counters=sweep.counters[kept],
    )
