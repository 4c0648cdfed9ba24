"""`gpoeo report`: results as one page, and as TensorBoard scalars."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpoeo_env.bench.report.page import Chapter, render_page
from gpoeo_env.bench.report.replayed import Replayed, replay_workload
from gpoeo_env.bench.report.scalars import write_scalars
from gpoeo_env.bench.report.standings import BlockResults, Standings, load_results, median_workload, standings_of
from gpoeo_env.cli.output import progress_bar, stdout
from gpoeo_env.errors import ArtefactError, UnknownNameError

__all__ = ["report"]


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `gpoeo bench -o` made.", show_default=False)],
    *,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The page.")] = Path("report.html"),
    tensorboard: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the same figures there as TensorBoard scalars, too.")
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Workload to show window by window.  [default: the median one of the first in the ranking]",
        ),
    ] = None,
    episodes: Annotated[
        bool, typer.Option("--episodes/--no-episodes", help="Run one episode a policy again to show it.")
    ] = True,
) -> None:
    """Make one self-contained page of the results of a benchmark.

    Ranking, energy against time, performance profiles, violations, search cost, a heat map, an episode window by
    window, and where it all comes from. The page loads nothing from any network. An existing file is replaced.
    """
    results = load_results(folder)
    chapters: list[Chapter] = []
    for block in results.blocks:
        standings = standings_of(block)
        shown = _episodes(block, standings, workload, Path(results.manifest.folder)) if episodes else []
        chapters.append((block, standings, shown))
        if tensorboard is not None:
            write_scalars(block, standings, shown, tensorboard)
    _write(output, render_page(results, chapters))
    stdout().print(f"{output}", markup=False, highlight=False, soft_wrap=True)


def _episodes(block: BlockResults, standings: Standings, workload: str | None, folder: Path) -> list[Replayed]:
    if workload is not None and workload not in standings.workloads:
        raise UnknownNameError("workload", workload, standings.workloads)
    found = []
    with progress_bar("running episodes again", len(standings.policies)) as advance:
        for episode in replay_workload(block, standings, workload or median_workload(standings), folder):
            found.append(episode)
            advance()
    return found


def _write(file: Path, page: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ArtefactError(f"cannot write {file}: {error.strerror}; name another file with -o") from error
