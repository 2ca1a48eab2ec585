"""What ``patchq import`` and ``patchq init --from`` do: find patches, and bring them in."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from patchq.cli import import_result
from patchq.cli.options import selected_guards
from patchq.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from patchq.cli.session import Session
    from patchq.engine.importing.batch import Batch
    from patchq.engine.importing.branches import BranchReader
    from patchq.engine.importing.fit import Paths
    from patchq.engine.importing.importing import ImportTerms
    from patchq.engine.importing.sources import Collected
    from patchq.model.series import Guard


@dataclass(frozen=True)
class Options:
    """The options of an import, as they were given."""

    tag: str | None = None
    guards: tuple[str, ...] = ()
    name: str | None = None
    strip: int | None = None
    directory: str | None = None
    recount: bool = False
    keep_going: bool = False
    propose_end: bool = False
    author: str | None = None
    repo: Path | None = None
    main: str | None = None
    together: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    dry_run: bool = False
    as_json: bool = False


def run(here: Session, what: Sequence[str], options: Options, *, take: bool = False) -> int:
    """Import ``what``; the exit code."""
    from patchq.engine.importing.sources import Collected, is_path
    from patchq.report.document import render_document

    found = Collected()
    branches = [word for word in what if word != "-" and not is_path(word)]
    reader = _branches(here, options.repo) if branches else None
    if options.name is not None and len(what) > 1:
        raise InputError("--name names one patch", hint="Import the files one by one.")
    tag = options.tag
    if reader is not None and tag is None:
        bases = {reader.nearest(word) for word in branches}
        if len(bases) != 1 or None in bases:
            raise InputError(
                "no base of upstream.lock is part of this branch",
                hint="Name the series with --tag, or lock the tag that it is built on.",
            )
        tag = next(base.name for base in bases if base)
    for word in what:
        _collect(here, word, reader, tag, options.name, found)
    if tag is None:
        from patchq.cli.import_triage import triage

        return triage(here, what, found, options, take=take)
    (brought,) = bring(here, {tag: found}, options, here.typed(tag))
    brought.say(here)
    if options.as_json:
        typer.echo(render_document(brought.document()), nl=False)
    else:
        typer.echo(brought.text())
    return brought.code


@dataclass(frozen=True)
class Brought:
    """What became of the patches that were found for one series."""

    tag: str
    found: Collected
    batch: Batch
    begins: str | None
    dry_run: bool

    @property
    def code(self) -> int:
        """The exit code: 1 if a patch did not come in."""
        return int(bool(self.found.errors or self.batch.failures))

    def document(self) -> dict[str, object]:
        """The result as JSON has it."""
        notices = (*self.found.notices, *self.batch.notices)
        return import_result.document(
            self.tag, self.batch, notices, self.found.errors, dry_run=self.dry_run
        )

    def say(self, here: Session) -> None:
        """Say on stderr what is no result."""
        if self.begins is not None:
            here.notice(f"series/{self.tag} starts anew: {self.begins}")
        own = (notice for one in self.batch.imported for notice in one.notices)
        import_result.say_notices(here, (*self.found.notices, *self.batch.notices, *own))
        import_result.say_failures(here, self.batch, self.found.errors)

    def text(self) -> str:
        """A line for each patch that came in."""
        return "\n".join(import_result.text(self.tag, self.batch, dry_run=self.dry_run))


def bring(
    here: Session, found: Mapping[str, Collected], options: Options, label: str
) -> list[Brought]:
    """Put the patches found for each tag on top of its series, in one step for ``patchq undo``.

    Raises :class:`InputError` if one does not come in, and ``options`` do not say to keep going.
    """
    from patchq.engine.importing.batch import bring_all
    from patchq.engine.importing.foreign import Foreigners
    from patchq.engine.importing.importing import Importer
    from patchq.engine.series.continuity import begun_anew
    from patchq.engine.workspace.main_branch import main_tip
    from patchq.engine.workspace.transaction import Transaction

    terms = {tag: terms_of(here, here.lock.base(tag).name, options) for tag in found}
    brought: list[Brought] = []
    with here.writing() as workspace, here.progress("import") as progress:
        transaction = Transaction(workspace, label)
        for tag, given in found.items():
            directory = workspace.load_or_empty(tag)
            over = Foreigners(here.project, tag, main_tip(here.project, options.main))
            importer = Importer(here.project, directory, terms[tag], over.bring_over)
            batch = bring_all(importer, given.patches, progress)
            if (given.errors or batch.failures) and not options.keep_going:
                for notice in (*given.notices, *batch.notices):
                    here.notice(str(notice))
                import_result.raise_failures(here, batch, given.errors)
            begun = begun_anew(workspace, directory, found) if batch.imported else None
            if batch.imported:
                importer.stage(transaction, begun)
            begins = begun.begins if begun and not options.dry_run else None
            brought.append(Brought(tag, given, batch, begins, options.dry_run))
        if not options.dry_run:
            transaction.commit()
    return brought


def terms_of(here: Session, tag: str, options: Options) -> ImportTerms:
    from patchq.engine.importing.importing import ImportTerms
    from patchq.engine.series.message import now
    from patchq.git.mail import author_of

    together = selected_guards(here, tag, options.together or None, options.variants or None)
    return ImportTerms(
        guards=tuple(map(_guard, options.guards)),
        together=frozenset(together),
        author=author_of(options.author) or _own_identity(here.workspace.root),
        date=now(),
        write_end=options.propose_end,
        paths=asked_paths(options),
        recount=options.recount,
    )


def _own_identity(root: Path) -> str:
    """Who the user is; what ``GIT_AUTHOR_NAME`` says only if git knows nothing else."""
    from patchq.git.identity import UNKNOWN_AUTHOR, user_identity

    own = user_identity(root, as_author=False)
    return user_identity(root) if own == UNKNOWN_AUTHOR else own


def asked_paths(options: Options) -> Paths:
    """How the paths of patches are to be read, as the options say."""
    from patchq.engine.importing.fit import Paths

    if options.directory is None:
        return Paths(options.strip)
    parts = [part for part in options.directory.split("/") if part not in ("", ".")]
    if options.directory.startswith("/") or ".." in parts:
        raise typer.BadParameter("--directory is a directory of the upstream tree")
    return Paths(options.strip, "/".join(parts))


def _branches(here: Session, repo: Path | None) -> BranchReader:
    from patchq.engine.importing.branches import BranchReader
    from patchq.engine.workspace.upstream import is_url, local_path
    from patchq.git.lender import find_lender

    store = here.store
    if repo is not None:
        lender = find_lender(repo)
    elif store.lender is not None:
        lender = store.lender
    elif not is_url(here.lock.upstream):
        lender = find_lender(here.workspace.root / local_path(here.lock.upstream))
    else:
        lender = find_lender(store.directory)
    return BranchReader(store, lender, {base.name: base for base in here.lock.bases})


def _collect(
    here: Session,
    word: str,
    reader: BranchReader | None,
    tag: str | None,
    name: str | None,
    found: Collected,
) -> None:
    from patchq.engine.importing.sources import is_path, read_path, read_stream

    if word == "-":
        read_stream(sys.stdin.buffer.read(), name, found)
    elif is_path(word):
        read_path(Path(word), word, found, name)
    elif reader is None or not (".." in word or reader.knows(word)):
        raise InputError(
            f"there is no file, directory, branch or commit {word!r}",
            hint="Branches are looked for in the upstream; --repo names another repository.",
        )
    else:
        assert tag is not None
        read = reader.read(word, here.lock.base(tag))
        found.patches += read.patches
        found.notices += read.notices


def _guard(text: str) -> Guard:
    from patchq.model.series import Guard

    word = text.removeprefix("#")
    return Guard(word.lstrip("+-"), not word.startswith("-"))
