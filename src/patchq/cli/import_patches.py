"""``patchq import``: patches from anywhere into a series."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from patchq.cli.options import selected_guards
from patchq.cli.series_edits import change
from patchq.cli.session import session
from patchq.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from patchq.engine.importing.importing import Given, Imported, Notice
    from patchq.engine.series.edits import Edited
    from patchq.engine.workspace.project import Project
    from patchq.model.series import Guard

SCHEMA = "patchq.import/1"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("import")(import_patches)


def import_patches(
    context: typer.Context,
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="A patch or a mailbox; - for standard input."),
    ],
    tag: Annotated[str, typer.Option("--tag", metavar="TAG", help="The series to add to.")],
    guard: Annotated[
        list[str] | None,
        typer.Option(
            "--guard", metavar="GUARD", help="Apply only with GUARD (only without: --guard=-GUARD)."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="What the patch is called.")
    ] = None,
    together: Annotated[
        list[str] | None,
        typer.Option(
            "--with", metavar="GUARD", help="Make sure that it also applies with GUARD on."
        ),
    ] = None,
    variants: Annotated[
        list[str] | None,
        typer.Option(
            "--variant", metavar="NAME", help="Make sure that it also applies in this variant."
        ),
    ] = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="FILE takes the place of the patch of the same name."),
    ] = False,
    propose_end: Annotated[
        bool,
        typer.Option("--propose-end", help="Write the proposed end of a patch that has none."),
    ] = False,
    main: Annotated[
        str | None,
        typer.Option("--main", metavar="REF", help="Upstream's main: a branch or a commit."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be written, write nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Bring patches from anywhere into a series.

    Bare diffs, quilt patches, git diffs, mails and mailboxes are applied strictly on top of the
    series and written as git mails, prose kept as the description. All come in, or none.
    With --replace they take the place of patches that are there, which keep their guards and
    those fields that the new version has none of; the patches above are merged onto them.

    \b
    Examples:
      patchq import fix.patch --tag v0.5.17
      patchq import *.diff --tag v0.5.17 --guard nemotron
      git diff | patchq import - --name fix --tag v0.5.17
      patchq import --replace tree/patches/fix.patch --tag v0.5.17
    """
    if replace:
        if guard or together or variants or propose_end:
            raise typer.BadParameter(
                "--replace goes without --guard, --with, --variant and --propose-end"
            )
        _replace(context, files, tag, name, main, dry_run=dry_run, as_json=as_json)
        return
    from patchq.engine.importing.foreign import Foreigners
    from patchq.engine.importing.importing import Importer, ImportTerms
    from patchq.engine.series.message import now
    from patchq.engine.workspace.main_branch import main_tip
    from patchq.engine.workspace.transaction import Transaction
    from patchq.git.identity import user_identity

    here = session(context)
    base = here.lock.base(tag)
    given, notices = _read(files, name)
    terms = ImportTerms(
        guards=tuple(map(_guard, guard or ())),
        together=frozenset(selected_guards(here, tag, together, variants)),
        author=user_identity(here.workspace.root, as_author=False),
        date=now(),
        write_end=propose_end,
    )
    with here.writing() as workspace, here.progress("import") as progress:
        directory = workspace.load_or_empty(tag)
        over = Foreigners(here.project, tag, main_tip(here.project, main))
        guards = here.settings.default_guards
        importer = Importer(here.store, base, directory, guards, terms, over.bring_over)
        patches: list[Imported] = []
        for number, one in enumerate(given, 1):
            progress(number, len(given), one.name)
            patches.append(importer.bring(one))
        if not dry_run:
            transaction = Transaction(workspace, f"import {' '.join(files)} --tag {tag}")
            importer.stage(transaction)
            transaction.commit()
    for notice in (*notices, *(notice for patch in patches for notice in patch.notices)):
        here.notice(str(notice))
    if as_json:
        typer.echo(_json(tag, patches, notices, dry_run=dry_run))
    else:
        typer.echo(_text(tag, patches, dry_run=dry_run))


def _replace(
    context: typer.Context,
    files: Sequence[str],
    tag: str,
    name: str | None,
    main: str | None,
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    contents = dict(_contents(files, name))

    def make(project: Project, tag: str) -> Edited:
        from patchq.engine.importing.foreign import Foreigners
        from patchq.engine.importing.importing import ImportTerms
        from patchq.engine.importing.replace import replace_patches
        from patchq.engine.series.message import now
        from patchq.engine.workspace.main_branch import main_tip
        from patchq.git.identity import user_identity

        over = Foreigners(project, tag, main_tip(project, main))
        terms = ImportTerms(
            author=user_identity(project.workspace.root, as_author=False), date=now()
        )
        return replace_patches(project, tag, contents, name, terms, over.bring_over)

    label = f"import --replace {' '.join(files)}"
    change(context, label, tag, make, dry_run=dry_run, as_json=as_json)


def _read(files: Sequence[str], name: str | None) -> tuple[tuple[Given, ...], tuple[Notice, ...]]:
    from patchq.engine.importing.importing import read_given

    given: list[Given] = []
    notices: list[Notice] = []
    for file, raw in _contents(files, name):
        patches, remarks = read_given(file, raw, name)
        given.extend(patches)
        notices.extend(remarks)
    return tuple(given), tuple(notices)


def _contents(files: Sequence[str], name: str | None) -> Iterator[tuple[str, bytes]]:
    """Each file, as messages call it, and what is in it."""
    if name is not None and len(files) > 1:
        raise InputError("--name names one patch", hint="Import the files one by one.")
    for file in files:
        if file == "-" and name is None:
            raise InputError("a patch from standard input needs --name")
        if file == "-":
            yield "standard input", sys.stdin.buffer.read()
        else:
            yield file, Path(file).read_bytes()


def _guard(text: str) -> Guard:
    from patchq.model.series import Guard

    word = text.removeprefix("#")
    return Guard(word.lstrip("+-"), not word.startswith("-"))


def _text(tag: str, patches: Iterable[Imported], *, dry_run: bool) -> str:
    from patchq.engine.importing.importing import ImportForm

    words = {
        ImportForm.VERBATIM: "as it is",
        ImportForm.REWRITTEN: "as a git mail",
        ImportForm.MERGED: "by three-way merge, as a git mail",
    }
    verb = "would import" if dry_run else "imported"
    return "\n".join(f"{verb} {one.patch.name} onto {tag}, {words[one.form]}" for one in patches)


def _json(
    tag: str, patches: Iterable[Imported], notices: Iterable[Notice], *, dry_run: bool
) -> str:
    import json

    return json.dumps(
        {
            "schema": SCHEMA,
            "tag": tag,
            "dry_run": dry_run,
            "patches": [
                {
                    "name": one.patch.name,
                    "source": one.source,
                    "form": one.form.value,
                    "strip": one.strip,
                    "sha256": one.patch.sha256,
                    "end": one.end,
                    "notices": list(map(_notice, one.notices)),
                }
                for one in patches
            ],
            "notices": list(map(_notice, notices)),
        },
        indent=2,
    )


def _notice(notice: Notice) -> dict[str, object]:
    return {"file": notice.where.file, "line": notice.where.line, "text": notice.text}
