"""``patchq help``: a command's help, or a topic."""

from __future__ import annotations

from importlib.resources import files
from typing import Annotated

import typer

from patchq.cli import output
from patchq.errors import InputError

_TOPICS = files("patchq") / "topics"


def topics() -> dict[str, str]:
    """The topics by name."""
    return {
        file.name.removesuffix(".md"): file.read_text(encoding="utf-8")
        for file in sorted(_TOPICS.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".md")
    }


def show_help(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="[COMMAND|TOPIC]", help="What to explain.")
    ] = None,
) -> None:
    """Explain a command or a topic.

    Topics: glossary, verdicts, exit-codes.

    \b
    Examples:
      patchq help rebase
      patchq help verdicts
    """
    root = context.find_root()
    known = topics()
    if name is None:
        typer.echo(root.get_help())
        typer.echo(f"\nTopics: {', '.join(known)}. `patchq help TOPIC` shows one.")
        return
    if name in known:
        with output.paged() as console:
            console.print(known[name], markup=False, highlight=False, soft_wrap=True, end="")
        return
    from patchq.cli.main import run

    commands = getattr(root.command, "commands", {})
    if name not in commands:
        raise InputError(
            f"no command or topic {name!r}",
            hint=f"Topics: {', '.join(known)}. `patchq --help` lists the commands.",
        )
    run([name, "--help"])


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("help")(show_help)
