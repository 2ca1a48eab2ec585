"""An import and what it says: a line a patch or JSON, and what became of those left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchq.errors import InputError
from patchq.model.words import counted, some

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from patchq.api.importing import ImportOptions, ImportResult
    from patchq.cli.session import Session
    from patchq.engine.importing.batch import Batch
    from patchq.engine.importing.given.read import Notice
    from patchq.engine.importing.importing import Imported
    from patchq.engine.importing.sources import Collected

SCHEMA = "patchq.import/1"
_EACH = 3
"""How often a notice is repeated before it is folded."""
_NAMED = 40
"""So many patches that were not taken are named."""


def raise_failures(here: Session, batch: Batch, errors: Sequence[InputError]) -> None:
    """Raise the first error, if there is any, once all else that became of the patches is said."""
    every = [*errors, *(one.error for one in batch.failures)]
    if not every:
        return
    first, *others = every
    _say_errors(here, others)
    good = [one.patch.name for one in batch.imported]
    if good or others:
        here.notice(
            f"nothing was written: {counted(len(every), 'patch')} did not come in"
            + (f", {counted(len(good), 'patch')} would: {some(good, 5)}" if good else "")
        )
    hint = first.hint or ""
    if good and "--keep-going" not in hint:
        hint += " `--keep-going` takes the others without it."
    raise type(first)(first.message, where=first.where, hint=hint.strip() or None)


def say_notices(here: Session, notices: Iterable[Notice]) -> None:
    """Say what is to be said of the patches; what holds for many of them is one line."""
    groups: dict[str, dict[str, Notice]] = {}
    for notice in notices:
        groups.setdefault(notice.of_many or notice.text, {})[str(notice)] = notice
    for text, group in groups.items():
        if len(group) <= _EACH:
            for words in group:
                here.notice(words)
        else:
            files = [notice.where.file for notice in group.values()]
            here.notice(f"{text}: {_folded(files)}; --json has each")


def _say_errors(
    here: Session, errors: Sequence[InputError], label: str = "", *, hint: bool = False
) -> None:
    """Say ``errors`` on stderr; what is the same of many patches is one line."""
    groups: dict[tuple[str, str | None], list[InputError]] = {}
    for error in errors:
        groups.setdefault((error.message, error.hint), []).append(error)
    for (text, help_), group in groups.items():
        if len(group) <= _EACH:
            for error in group:
                here.notice(f"{label}{error}")
        else:
            files = [error.where.file for error in group if error.where]
            here.notice(f"{label}{text}: {_folded(files)}; --json --keep-going has each")
        if hint and help_:
            here.notice(f"  {help_}")


def say_left_out(here: Session, found: Collected) -> None:
    """Name the patches that lie beside those that were taken."""
    groups: dict[str, list[str]] = {}
    for one in found.left_out:
        groups.setdefault(one.text, []).append(one.where.file)
    for text, files in groups.items():
        more = "; --json has each" if len(files) > _NAMED else ""
        here.notice(f"not imported, {text}: {some(files, _NAMED)}{more}")


def _folded(files: Sequence[str]) -> str:
    return f"{len(files)} times, in {some(list(dict.fromkeys(files)), 5)}"


def say_failures(here: Session, batch: Batch, errors: Iterable[InputError]) -> None:
    """Say what did not come in while the others do."""
    _say_errors(
        here, (*errors, *(one.error for one in batch.failures)), "not imported: ", hint=True
    )
    for one in batch.there:
        here.notice(f"skipped: {one.error}")


def text(result: ImportResult, *, dry_run: bool) -> str:
    """A line for each patch that came in."""
    return "\n".join(_lines(result.tag, result.batch, dry_run=dry_run))


def _lines(tag: str, batch: Batch, *, dry_run: bool) -> Iterator[str]:
    from patchq.engine.importing.importing import ImportForm

    words = {
        ImportForm.VERBATIM: "as it is",
        ImportForm.REWRITTEN: "as a git mail",
        ImportForm.MERGED: "by three-way merge, as a git mail",
    }
    verb = "would import" if dry_run else "imported"
    if not batch.imported:
        yield f"nothing to import onto {tag}"
    for one in batch.imported:
        yield f"{verb} {one.patch.name} onto {tag}, {words[one.form]}"


def document(result: ImportResult, *, dry_run: bool) -> dict[str, object]:
    """The result as JSON has it."""
    batch, rest = result.batch, beside(result.found)
    return {
        "schema": SCHEMA,
        "tag": result.tag,
        "dry_run": dry_run,
        "begins": result.begins,
        "patches": list(map(_patch, batch.imported)),
        "failed": [*rest["failed"], *(_error(one.error) for one in batch.failures)],
        "passed_over": [*(_error(one.error) for one in batch.there), *rest["passed_over"]],
        "notices": [*rest["notices"], *map(_notice, batch.notices)],
    }


def beside(found: Collected) -> dict[str, list[dict[str, object]]]:
    """What is to be said of a pile besides its patches, as JSON has it."""
    return {
        "failed": list(map(_error, found.errors)),
        "passed_over": [{**_notice(one), "hint": None} for one in found.left_out],
        "notices": list(map(_notice, found.notices)),
    }


def _patch(one: Imported) -> dict[str, object]:
    return {
        "name": one.patch.name,
        "source": one.source,
        "form": one.form.value,
        "strip": one.strip,
        "directory": one.directory,
        "sha256": one.patch.sha256,
        "end": one.end,
        "notices": list(map(_notice, one.notices)),
    }


def _error(error: InputError) -> dict[str, object]:
    where = error.where
    return {
        "file": where.file if where else None,
        "line": where.line if where else None,
        "text": error.message,
        "hint": error.hint,
    }


def _notice(notice: Notice) -> dict[str, object]:
    return {"file": notice.where.file, "line": notice.where.line, "text": notice.text}


def bring(
    here: Session, found: Mapping[str, Collected], options: ImportOptions, label: str
) -> list[ImportResult]:
    """Put the patches found for each tag on top of its series, in one step for ``patchq undo``.

    Raises :class:`~patchq.errors.InputError` if one does not come in, and ``options`` do not say
    to keep going.
    """
    with here.progress("import") as progress:
        results = here.api.take(found, options, label, progress=progress)
    for result in results if not options.keep_going else ():
        if result.has_failures:
            for notice in (*result.found.notices, *result.batch.notices):
                here.notice(str(notice))
            say_left_out(here, result.found)
            raise_failures(here, result.batch, result.found.errors)
    return results


def say(here: Session, result: ImportResult) -> None:
    """Say on stderr what is no result."""
    if result.begins is not None:
        here.notice(f"series/{result.tag} starts over: {result.begins}")
    own = (notice for one in result.batch.imported for notice in one.notices)
    say_notices(here, (*result.found.notices, *result.batch.notices, *own))
    say_failures(here, result.batch, result.found.errors)
    say_left_out(here, result.found)
