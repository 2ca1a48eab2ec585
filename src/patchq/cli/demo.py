"""``patchq demo``: a miniature upstream, and a series taken through it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer


def demo(
    directory: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]", help="Where to build it; default: a new directory in TMPDIR."
        ),
    ] = None,
) -> int:
    """Build a miniature upstream and try patchq on it, offline.

    \b
    Examples:
      patchq demo
      patchq demo /tmp/lattice
    """
    import os
    import tempfile

    from patchq.cli.main import run
    from patchq.demo import upstream
    from patchq.demo.story import set_up, steps
    from patchq.errors import InputError, PatchqError
    from patchq.signals import first
    from patchq.written import note

    home = Path(tempfile.mkdtemp(prefix="patchq-demo-")) if directory is None else directory
    if directory is not None and directory.exists() and any(directory.iterdir()):
        raise InputError(f"{directory} is not empty", hint="Name a new directory.")
    home = home.absolute()
    os.environ.pop("PATCHQ_UPSTREAM", None)  # the demo has an upstream of its own
    home.mkdir(parents=True, exist_ok=True)
    note(f"what there is of the demo, in {home}")
    workspace = set_up(home)
    for step in steps(home):
        typer.echo(f"\n# {step.words}")
        shown = shlex.join(["patchq", *step.command]).replace(f"{home}/", "")
        typer.echo(f"$ {shown}")
        start = [] if step.command[0] == "init" else ["-C", str(workspace)]
        code = run([*start, *step.command])
        if step.command[0] == "lock":
            _trust(workspace)
        if first():
            return code
        if code != step.exit_code:
            raise PatchqError(f"the demo expected exit code {step.exit_code} here, not {code}")
    typer.echo(
        f"\nThe rebase onto {upstream.TAGS[-1]} waits for you in {workspace}. Try there:\n"
        "  patchq status\n"
        "  patchq why arch-prune.patch\n"
        "  patchq show draft-clamp.patch v1.1\n"
        "  patchq rebase --abort\n"
        f"and open {home / 'lifecycle.html'} in a browser."
    )
    return 0


def _trust(directory: Path) -> None:
    """The demo wrote its upstream itself: it works on machines without a sandbox too."""
    from patchq.engine.build.trust import trust
    from patchq.model.workspace import Workspace

    workspace = Workspace(directory.resolve())
    for base in workspace.lock().bases:
        trust(workspace, base)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo)
