"""The ``patchq`` command: global options, the list of commands, errors into words."""

from __future__ import annotations

import errno
import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from patchq import __version__
from patchq.cli.commands import WORDS, Commands
from patchq.cli.output import Colour, apply_colour
from patchq.cli.session import Session, session, show_git_commands
from patchq.cli.streams import open_closed, tolerant, write_error
from patchq.cli.usage import told
from patchq.errors import InputError, MissingBasesError, PatchqError
from patchq.model.workspace import STATE
from patchq.report.text import spelled
from patchq.signals import Interrupted, first
from patchq.written import interrupted

INTERRUPTED = 130

app = typer.Typer(
    name="patchq",
    cls=Commands,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Carry a patch series on a fast upstream: rebase it without a checkout, see with evidence "
    "what became of every patch, export reproducible source trees.",
    epilog="PATCH goes by its file name, with or without .patch; a TAG may be given as --tag TAG. "
    "`patchq help TOPIC` explains more: `patchq help` lists the topics.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"patchq {__version__}")
        raise typer.Exit


@app.callback()
def start(
    context: typer.Context,
    directory: Annotated[
        Path,
        typer.Option("-C", metavar="DIR", help="The workspace is the one around DIR, not here."),
    ] = Path(),
    upstream: Annotated[
        str | None,
        typer.Option(
            envvar="PATCHQ_UPSTREAM",
            metavar="PATH|URL",
            help="Another copy of the upstream: a clone that lends its objects, or a URL.",
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("-q", "--quiet", help="Results and errors only: no notices.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Show each git command and its time.")
    ] = False,
    colour: Annotated[
        Colour, typer.Option("--color", metavar="WHEN", help="auto, always or never.")
    ] = Colour.AUTO,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    _show_version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Global options."""
    apply_colour(colour)
    if verbose:
        show_git_commands()
    _leave_deleted_directory(directory)
    started = context.obj if isinstance(context.obj, list) else []
    run = Session(
        directory,
        upstream,
        debug,
        quiet=quiet,
        words=context.meta.get(WORDS, ()),
        before=frozenset(words for each in started for words in each.said),
    )
    started.append(run)
    context.obj = run
    if context.invoked_subcommand is None:
        _bare(context)


def _leave_deleted_directory(wanted: Path) -> None:
    """Let no process start where there is no directory any more.

    Raises :class:`InputError` if the place that is ``wanted`` depends on it.
    """
    if _here():
        return
    if not wanted.is_absolute():
        there = shlex.quote(str(_still_there(Path(os.environ.get("PWD") or "/"))))
        raise InputError(
            "the current directory has been deleted",
            hint=f"`cd {there}`, or name the workspace by its full path with -C.",
        )
    os.chdir("/")


def _still_there(directory: Path) -> Path:
    """Where to go from a directory that has been deleted: its workspace, if it was below one.

    Another directory may have its name by now.
    """
    if STATE in directory.parts and not directory.is_dir():
        directory = Path(*directory.parts[: directory.parts.index(STATE)])
    return next((each for each in (directory, *directory.parents) if each.is_dir()), Path("/"))


def _here() -> Path | None:
    """The current directory, None if it has been deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


def _tell_deleted(start: Path | None, started: list[Session]) -> None:
    """Say so if the command has left the directory ``start``, for it went with a worktree."""
    if start and started and _here() != start:
        there = shlex.quote(str(_still_there(start)))
        started[-1].notice(f"the current directory has been deleted: `cd {there}`")


def _bare(context: typer.Context) -> None:
    """``patchq`` alone: the status of the workspace, outside of one the help."""
    from patchq.cli.status import status

    try:
        session(context).workspace  # noqa: B018
    except InputError:
        typer.echo(context.get_help())
        raise typer.Exit(2) from None
    status(context)


def main() -> int:
    """Run the command line; its exit code.

    0 fine, 1 findings that need review, 2 usage or bad input, 3 upstream, lock or network,
    130 interrupted (128 and the number of any other signal).
    """
    open_closed()
    sys.stdout, sys.stderr = tolerant(sys.stdout), tolerant(sys.stderr)
    # whatever is masked for others: what we write we must be able to read
    os.umask(os.umask(0o077) & 0o077)
    code = run(sys.argv[1:])
    sys.stdout.flush()
    if error := write_error():
        _say(f"the output could not be written to its end: {error.strerror}")
        _say("What else the command did is done.", label="hint")
        return code or 2
    return code


def _call(arguments: list[str], started: list[Session]) -> object:
    """The result of the command; locked bases that it turns out to need are fetched first.

    No command has written anything by the time it finds that a base is missing.
    """
    tried: set[str] = set()
    while True:
        try:
            return app(arguments, prog_name="patchq", standalone_mode=False, obj=started)
        except MissingBasesError as error:
            names = [name for name in error.names if name not in tried]
            if not names or not started:
                raise
            tried.update(names)
            started[-1].bring(names)


def run(arguments: list[str]) -> int:
    """Run one command; turns every expected error into words on stderr and an exit code."""
    debug = "--debug" in arguments
    started: list[Session] = []
    start = _here()
    try:
        result = _call(arguments, started)
        sys.stdout.flush()
        _tell_deleted(start, started)
    except Interrupted as signalled:
        return _interrupted(signalled, started)
    except typer.Abort:
        _say(interrupted(), label="patchq")
        return INTERRUPTED
    except typer.TyperException as error:
        words, hint = told(error, arguments)
        _say(words)
        if hint:
            _say(hint, label="hint")
        return error.exit_code
    except PatchqError as error:
        if debug:
            raise
        if ended := first():  # it ended git too, and what git did not do is no error
            return _interrupted(ended, started)
        return _failed(error, started)
    except OSError as error:
        if debug:
            raise
        _say(_words(error))
        return 2
    except (RecursionError, MemoryError) as error:
        if debug:
            raise
        _say(
            "there is not enough memory; nothing was changed"
            if isinstance(error, MemoryError)
            else "what was read is nested more deeply than patchq can follow; nothing was changed"
        )
        return 2
    except Exception as error:
        if debug:
            raise
        _say(f"this is a fault of patchq: {type(error).__name__}: {error}")
        _say("--debug shows where it happened: please report it", label="hint")
        return 2
    return result if isinstance(result, int) else 0


def _failed(error: PatchqError, started: list[Session]) -> int:
    words, hint = str(error), error.hint
    if started:
        hint = started[0].elsewhere(error) or hint
        if damage := started[0].damage(error):
            words, hint = damage
    _say(words)
    if hint:
        _say(hint, label="hint")
    return error.exit_code


def _interrupted(signalled: Interrupted, started: list[Session]) -> int:
    _say(interrupted(), label="patchq")
    for words in filter(None, (each.under_way() for each in started)):
        _say(words, label="patchq")
    return signalled.exit_code


def _say(text: str, label: str = "error") -> None:
    typer.echo(f"{label}: {spelled(text)}", err=True)


def _words(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return "no space left on the disk; the workspace is as it was"
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)
