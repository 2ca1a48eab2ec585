"""Options that several commands have, each in one form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchq.cli.session import Session

TagOption = Annotated[
    str | None, typer.Option("--tag", metavar="TAG", help="The series; default: the newest.")
]
TagArgument = Annotated[
    str | None, typer.Argument(metavar="[TAG]", help="The series; default: the newest.")
]
After = Annotated[
    str | None,
    typer.Option("--after", metavar="BASE", help="Put it after BASE instead of at the end."),
]
Main = Annotated[
    str | None,
    typer.Option("--main", metavar="REF", help="Upstream's main: a branch or a commit."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be written, write nothing.")
]
Author = Annotated[
    str | None,
    typer.Option("--author", metavar="AUTHOR", help="'Name <mail>' for a patch that names none."),
]
KeepGoing = Annotated[
    bool, typer.Option("--keep-going", help="Take what fits, though other patches do not.")
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "-j",
        "--jobs",
        metavar="N",
        min=1,
        help="Judge in N processes at once; default: one a core if there is enough to do.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Guards = Annotated[
    list[str] | None,
    typer.Option("--with", metavar="GUARD", help="Turn a guard on; may be repeated."),
]
Variants = Annotated[
    list[str] | None,
    typer.Option("--variant", metavar="NAME", help="A variant of the recipe; may be repeated."),
]


def patch_and_tag(run: Session, first: str, second: str | None) -> tuple[str, str | None]:
    """PATCH and TAG, given in this order or in the other one."""
    names = run.lock.names
    swapped = second is not None and first in names and second not in names
    return (second, first) if swapped and second else (first, second)


def patches_and_tag(
    run: Session, names: Sequence[str], tag: str | None
) -> tuple[list[str], str | None]:
    """Patches and ``--tag``; a tag of the lock among the patches stands for it."""
    given = [name for name in names if name in run.lock.names]
    if tag is not None or len(given) != 1:
        return list(names), tag
    return [name for name in names if name not in given], given[0]


def patch_or_tag(run: Session, first: str, second: str | None) -> tuple[str | None, str | None]:
    """PATCH and TAG of a command that needs neither, given in any order."""
    if second is None and first in run.lock.names:
        return None, first
    return patch_and_tag(run, first, second)
