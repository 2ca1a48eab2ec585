"""``patchq help``: a command's help, or a topic."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated

import typer

from patchq.cli import output
from patchq.errors import InputError
from patchq.model.nearest import did_you_mean

if TYPE_CHECKING:
    from rich.console import Console

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

    Topics: workflow, layout, fields, verdicts, glossary, environment, exit-codes.

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
            if console.is_terminal:
                _in_columns(known[name], console)
            else:
                console.print(known[name], markup=False, highlight=False, soft_wrap=True, end="")
        return
    from patchq.cli.main import run

    commands = getattr(root.command, "commands", {})
    if name not in commands:
        raise InputError(
            f"no command or topic {name!r}",
            hint=did_you_mean(
                name,
                [*commands, *known],
                f"Topics: {', '.join(known)}. `patchq --help` lists the commands.",
            ),
        )
    run([name, "--help"])


def _in_columns(text: str, console: Console) -> None:
    """Print a topic with its columns wrapped each to its own width."""
    from rich.table import Table
    from rich.text import Text

    rows: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        row = re.split(r" {2,}", line)
        if len(row) > 1:
            rows.append(row)
            continue
        if rows:
            table = Table.grid(padding=(0, 2, 0, 0))
            table.add_column(no_wrap=max(len(row[0]) for row in rows) < console.width // 2)
            for cells in rows:
                table.add_row(*map(Text, cells))
            console.print(table)
            rows = []
        if line:
            console.print(Text(line, style="bold" if line.startswith("# ") else ""))
        else:
            console.print()


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("help")(show_help)
