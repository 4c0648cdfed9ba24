"""`gpoeo restore`: gives back the clocks that a killed controller left locked."""

from __future__ import annotations

from typing import Annotated

import typer

from gpoeo_env.cli.options import JsonOption
from gpoeo_env.cli.output import print_json, stdout
from gpoeo_env.device.guard.folder import Folder
from gpoeo_env.device.guard.restoring import Outcome, Restored
from gpoeo_env.device.guard.restoring import restore as restore_folder
from gpoeo_env.device.guard.stale import with_journals
from gpoeo_env.errors import DeviceError, UsageError

__all__ = ["restore"]

_WORDS = {
    Outcome.RESTORED: "clocks given back",
    Outcome.OUTDATED: "nothing is locked",
    Outcome.IN_USE: "left alone",
    Outcome.FAILED: "NOT given back",
}


def restore(
    *,
    gpu: Annotated[
        list[str] | None,
        typer.Option(metavar="UUID", help="One GPU, by its UUID or the beginning of it; may be repeated."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every GPU with a journal, which is the default.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="End a living controller first: SIGTERM, and SIGKILL after ten seconds.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Give back the clocks that a killed controller left locked.

    What to restore is read from journals, which every controller writes before it sets a clock. Where there is none
    there is nothing to do, and the exit code is 0. It is 5 where a clock stays locked: its controller lives, or it
    cannot be restored. A journal of another user is root's to restore.
    """
    if gpu and every:
        raise UsageError("--gpu and --all contradict each other; leave one out")
    done: list[Restored] = []
    for folder in Folder.every():
        chosen = None if not gpu else _chosen(folder, gpu)
        done += restore_folder(folder, chosen, force=force)
        folder.close()
    if json:
        print_json(
            {"gpus": [{"uuid": one.gpu_uuid, "outcome": one.outcome.value, "detail": one.detail} for one in done]}
        )
    else:
        stdout().print("\n".join(_lines(done)), markup=False, highlight=False, soft_wrap=True)
    left = [one for one in done if not one.is_done]
    if left:
        raise DeviceError(f"{len(left)} of {len(done)} stay locked: {'; '.join(one.detail for one in left)}")


def _chosen(folder: Folder, beginnings: list[str]) -> list[str]:
    """Return the GPUs with a journal that the beginnings name.

    Raises:
        UsageError: something is no UUID, or begins several.
    """
    chosen = []
    journals = with_journals(folder)
    for beginning in beginnings:
        if not beginning.upper().startswith("GPU-"):
            raise UsageError(f"{beginning!r} is no GPU UUID; they begin with GPU-: see `nvidia-smi -L`")
        named = [one for one in journals if one.lower().startswith(beginning.lower())]
        if len(named) > 1:
            raise UsageError(f"{beginning} could be {' or '.join(named)}; write more of it")
        chosen += named
    return chosen


def _lines(done: list[Restored]) -> list[str]:
    if not done:
        return ["nothing to restore: no journal says that clocks are locked"]
    return [f"{one.gpu_uuid}: {_WORDS[one.outcome]}: {one.detail}" for one in done]
