"""``patchq header``: show or edit what a patch says of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from patchq.cli import output
from patchq.cli.options import DryRun, Json, TagOption
from patchq.cli.series_edits import change, patch_names
from patchq.cli.session import Session, session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchq.engine.series.edits import Edited
    from patchq.engine.series.message import Wording
    from patchq.engine.workspace.project import Project
    from patchq.model.patch import Patch


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
    (name,) = patch_names(context, tag, [name])
    fields = (set_fields or [], add_fields or [], remove_fields or [])
    if not (any(fields) or subject is not None or edit):
        _show(session(context), name, tag, as_json=json)
        return
    change(
        context,
        tag,
        lambda project, series: _edited(project, series, name, fields, subject, edit=edit),
        dry_run=dry_run,
        as_json=json,
    )


def _edited(
    project: Project,
    series: str,
    name: str,
    fields: tuple[Sequence[str], Sequence[str], Sequence[str]],
    subject: str | None,
    *,
    edit: bool,
) -> Edited:
    from dataclasses import replace

    from patchq.engine.series.edits import Edited
    from patchq.engine.series.header_edit import (
        add_field,
        parse_field,
        remove_field,
        set_field,
    )

    directory = project.workspace.load(series)
    patch = directory.patches[directory.series.entry(name).name]
    set_fields, add_fields, remove_fields = fields
    for text in remove_fields:
        key, value = parse_field(text) if ":" in text or "=" in text else (text, None)
        patch = remove_field(patch, key, value)
    for text in set_fields:
        patch = set_field(patch, *parse_field(text))
    for text in add_fields:
        patch = add_field(patch, *parse_field(text))
    if subject is not None or edit:
        patch = _reworded(project, patch, subject, edit=edit)
    new = replace(directory, patches={**directory.patches, name: patch})
    return Edited(directory, new)


def _reworded(project: Project, patch: Patch, subject: str | None, *, edit: bool) -> Patch:
    from patchq.engine.series.header_edit import check_fields, with_message, with_subject
    from patchq.engine.series.message import now, wording
    from patchq.git.identity import user_identity

    old = wording(patch, author=user_identity(project.workspace.root), date=now())
    new = old if subject is None else with_subject(old, subject)
    if edit:
        new = _from_editor(project, new)
    reworded = with_message(project.store, patch, old, new)
    check_fields(reworded.header)
    return reworded


def _from_editor(project: Project, words: Wording) -> Wording:
    """``words`` as the user's editor leaves them; the text is kept where it is refused later."""
    from dataclasses import replace

    from patchq.engine.series.message import normalised
    from patchq.git.editor import edit_file
    from patchq.model.workspace import ensure_state_dir

    file = ensure_state_dir(project.workspace) / "MESSAGE"
    file.write_bytes(words.message.encode("utf-8", "surrogateescape"))
    edit_file(file)
    text = file.read_bytes().decode("utf-8", "surrogateescape")
    return replace(words, message=normalised(text))


def _show(run: Session, name: str, tag: str | None, *, as_json: bool) -> None:
    series = tag or run.newest_series
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
