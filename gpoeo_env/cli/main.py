"""The command ``gpoeo``: mounts the commands, and is the only place where an error becomes a line and an exit code."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from gpoeo_env.cli import (
    bench,
    demo,
    doctor,
    fit,
    plugins,
    profile,
    record,
    replay,
    report,
    restore,
    run,
    sim,
    trace,
    validate,
)
from gpoeo_env.errors import GpoeoError
from gpoeo_env.version import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help texts hold square brackets, which rich would take for markup
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo.demo)
app.command(context_settings={"allow_interspersed_args": False})(run.run)  # a program keeps its own options
app.command(context_settings={"allow_interspersed_args": False})(record.record)
app.command()(replay.replay)
app.command()(profile.profile)
app.command()(fit.fit)
app.command()(bench.bench)
app.command()(report.report)
app.command()(validate.validate)
app.command()(doctor.doctor)
app.command()(restore.restore)
app.command()(plugins.plugins)
app.add_typer(sim.app, name="sim")
app.add_typer(trace.app, name="trace")


def main() -> None:
    """Run the command line and exit.

    Exit codes: 0 done; 1 the reader of stdout went away; 130 interrupted; otherwise as the error says (see
    `gpoeo_env.errors`). With GPOEO_DEBUG=1 an error shows its traceback.
    """
    sys.path.append("")  # `--policy module:Class` finds a module in the current folder, after everything installed
    try:
        app(prog_name="gpoeo")
    except GpoeoError as error:
        if os.environ.get("GPOEO_DEBUG") == "1":
            raise
        sys.stderr.write(f"gpoeo: {' '.join(str(error).split())}\n")
        sys.exit(error.exit_code)
    except (OSError, UnicodeEncodeError) as error:  # no permission, a full disk, a terminal without the letters
        if isinstance(error, BrokenPipeError) or os.environ.get("GPOEO_DEBUG") == "1":
            raise
        sys.stderr.write(f"gpoeo: {' '.join(str(error).split())}\n")
        sys.exit(1)
    finally:
        _flush()


def _show_version(*, wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"gpoeo {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Less GPU energy for the same machine-learning work.

    Results go to stdout, messages to stderr. GPOEO_DEBUG=1 shows the traceback of an error.
    """


def _flush() -> None:
    """Flush stdout while a closed pipe can still be answered in silence, as rich and typer do: with exit code 1."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
