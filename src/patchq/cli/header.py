"""``patchq header``: show or edit what a patch says of itself."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from patchq.cli import output
from patchq.cli.options import DryRun, Json, TagOption
from patchq.cli.series_edits import say_edited
from patchq.cli.session import Session, session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchq.engine.series.message import Wording
    from patchq.model.patch import Patch
    from patchq.model.workspace import Workspace


def header(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="PATCH", help="The patch.")],
    set_fields: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="'KEY: VALUE'", help="Make this the only value of the field."
        ),
    ] = None,
    add_fields: Annotated[
        list[str] | None,
        typer.Option("--add", metavar="'KEY: VALUE'", help="Add a value of the field."),
    ] = None,
    remove_fields: Annotated[
        list[str] | None,
        typer.Option("--remove", metavar="KEY[: VALUE]", help="Take the field, or one value, out."),
    ] = None,
    subject: Annotated[
        str | None, typer.Option("--subject", "-m", metavar="TEXT", help="Give it this subject.")
    ] = None,
    edit: Annotated[
        bool, typer.Option("--edit", "-e", help="Edit the whole message in your editor.")
    ] = False,
    tag: TagOption = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Show or edit the header of a patch.

    That is its message and its DEP-3 fields.

    A field is changed on its own line, and every other byte of the file stays. Without options the
    header is printed.

    \b
    Examples:
      patchq header fa3-off.patch
      patchq header fa3-off.patch --set 'Last-Update: 2026-11-29' --add 'X-Watch: GB10'
      patchq header fa3-off.patch --remove X-Upstream-PR
      patchq header fa3-off.patch --edit
    """
    fields = (set_fields or [], add_fields or [], remove_fields or [])
    if not (any(fields) or subject is not None or edit):
        _show(session(context), name, tag, as_json=json)
        return
    run = session(context)
    reword = None
    if subject is not None or edit:
        reword = partial(_reworded, run.workspace, subject, edit=edit)
    edited = run.api.edit_header(
        name, partial(_with_fields, fields), tag, reword=reword, dry_run=dry_run
    )
    say_edited(context, edited, dry_run=dry_run, as_json=json)


def _with_fields(fields: tuple[Sequence[str], Sequence[str], Sequence[str]], patch: Patch) -> Patch:
    from patchq.engine.series.header_edit import (
        add_field,
        parse_field,
        remove_field,
        set_field,
    )

    set_fields, add_fields, remove_fields = fields
    for text in remove_fields:
        key, value = parse_field(text) if ":" in text or "=" in text else (text, None)
        patch = remove_field(patch, key, value)
    for text in set_fields:
        patch = set_field(patch, *parse_field(text))
    for text in add_fields:
        patch = add_field(patch, *parse_field(text))
    return patch


def _reworded(workspace: Workspace, subject: str | None, words: Wording, *, edit: bool) -> Wording:
    from patchq.engine.series.header_edit import with_subject

    if subject is not None:
        words = with_subject(words, subject)
    return _from_editor(workspace, words) if edit else words


def _from_editor(workspace: Workspace, words: Wording) -> Wording:
    """``words`` as the user's editor leaves them; the text is kept where it is refused later."""
    from dataclasses import replace

    from patchq.engine.series.message import normalised
    from patchq.git.editor import edit_file
    from patchq.model.workspace import ensure_state_dir

    file = ensure_state_dir(workspace) / "MESSAGE"
    file.write_bytes(words.message.encode("utf-8", "surrogateescape"))
    edit_file(file)
    text = file.read_bytes().decode("utf-8", "surrogateescape")
    return replace(words, message=normalised(text))


def _show(run: Session, name: str, tag: str | None, *, as_json: bool) -> None:
    series = tag or run.newest_series
    (name,) = run.api.named([name], series)
    directory = run.workspace.load(series)
    patch = directory.patches[directory.series.entry(name).name]
    if not as_json:
        typer.echo(patch.head, nl=False)
        return
    header = patch.header
    document = {
        "series": series,
        "patch": name,
        "subject": header.subject,
        "author": header.author,
        "date": header.date,
        "body": header.body,
        "fields": [{"key": field.key, "value": field.value} for field in header.trailers],
    }
    output.document("header", document)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("header")(header)
