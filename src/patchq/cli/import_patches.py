"""``patchq import``: patches from anywhere into a series."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from patchq.cli.options import selected_guards
from patchq.cli.series_edits import change
from patchq.cli.session import Session, session
from patchq.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchq.engine.importing.branches import BranchReader
    from patchq.engine.importing.fit import Paths
    from patchq.engine.importing.importing import ImportTerms
    from patchq.engine.importing.sources import Collected
    from patchq.engine.series.edits import Edited
    from patchq.engine.workspace.project import Project
    from patchq.model.series import Guard

_NUMBER = re.compile(r"#?\d{1,6}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("import")(import_patches)


def import_patches(
    context: typer.Context,
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WHAT...",
            help="A patch, a mailbox, a directory, a series file, a branch or a range A..B; - for "
            "standard input.",
        ),
    ] = None,
    tag: Annotated[
        str | None,
        typer.Option(
            "--tag", metavar="TAG", help="The series to add to; without it, say which base fits."
        ),
    ] = None,
    guard: Annotated[
        list[str] | None,
        typer.Option(
            "--guard", metavar="GUARD", help="Apply only with GUARD (only without: --guard=-GUARD)."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="What the patch is called.")
    ] = None,
    strip: Annotated[
        int | None,
        typer.Option("--strip", metavar="N", min=0, help="Leading directories to take off paths."),
    ] = None,
    directory: Annotated[
        str | None,
        typer.Option("--directory", metavar="DIR", help="The paths are below DIR of the tree."),
    ] = None,
    recount: Annotated[
        bool, typer.Option("--recount", help="Count hunks anew whose @@ line says other numbers.")
    ] = False,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Take what fits, though other patches do not.")
    ] = False,
    take: Annotated[
        bool,
        typer.Option("--take", help="Without --tag: take each patch onto the base it fits best."),
    ] = False,
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
        typer.Option("--replace", help="WHAT takes the place of the patch of the same name."),
    ] = False,
    propose_end: Annotated[
        bool,
        typer.Option("--propose-end", help="Write the proposed end of a patch that has none."),
    ] = False,
    author: Annotated[
        str | None,
        typer.Option("--author", metavar="AUTHOR", help="'Name <mail>' where a patch names none."),
    ] = None,
    repo: Annotated[
        Path | None,
        typer.Option("--repo", metavar="DIR", help="Where branches are; default: the upstream."),
    ] = None,
    recipe: Annotated[
        Path | None,
        typer.Option("--recipe", metavar="FILE", help="Read pins and gates of a shell recipe."),
    ] = None,
    main: Annotated[
        str | None,
        typer.Option("--main", metavar="REF", help="Upstream's main: a branch or a commit."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be written, write nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Bring patches from anywhere into a series.

    Diffs, mails, mailboxes, quilt directories, branches: each patch is applied strictly on top of
    the series and written as a git mail, prose kept as the description. All come in, or none;
    --keep-going takes those that fit. Without --tag, a table says which base each patch fits.
    With --replace they take the place of patches that are there, which keep their guards and
    those fields that the new version has none of; the patches above are merged onto them.

    \b
    Examples:
      patchq import fix.patch --tag v0.5.17
      patchq import debian/patches --tag v0.5.17
      patchq import v0.5.17..my-branch --repo ~/src/sglang
      patchq import ~/old-pile
      git diff | patchq import - --name fix --tag v0.5.17
      patchq import --replace tree/patches/fix.patch --tag v0.5.17
    """
    here = session(context)
    options = Options(
        tag=tag,
        guards=tuple(guard or ()),
        name=name,
        strip=strip,
        directory=directory,
        recount=recount,
        keep_going=keep_going,
        propose_end=propose_end,
        author=author,
        repo=repo,
        main=main,
        together=tuple(together or ()),
        variants=tuple(variants or ()),
        dry_run=dry_run,
        as_json=as_json,
    )
    wanted = what or []
    if recipe is not None:
        if wanted or replace or tag is None:
            raise typer.BadParameter("--recipe goes with --tag, and without patches")
        return _recipe(here, recipe, tag, dry_run=dry_run)
    if not wanted:
        raise InputError("name what to import", hint="patchq import WHAT… --tag TAG")
    if replace:
        if tag is None:
            raise typer.BadParameter("--replace needs --tag")
        if guard or together or variants or propose_end or keep_going:
            raise typer.BadParameter(
                "--replace goes without --guard, --with, --variant, --propose-end and --keep-going"
            )
        _replace(context, wanted, tag, options)
        return 0
    if all(_NUMBER.fullmatch(word) and not Path(word).exists() for word in wanted):
        from patchq.cli.backport import backport

        return backport(
            context,
            wanted,
            onto=tag,
            name=name,
            guard=guard,
            main=main,
            dry_run=dry_run,
            as_json=as_json,
        )
    return run(here, wanted, options, take=take)


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
    from patchq.engine.importing.sources import Collected

    found = Collected()
    branches = [word for word in what if word != "-" and not Path(word).exists()]
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
    return bring(here, tag, found, options, label=f"import {' '.join(what)} --tag {tag}")


def bring(here: Session, tag: str, found: Collected, options: Options, label: str) -> int:
    """Put the patches that were found on top of the series on ``tag``; the exit code."""
    from patchq.cli import import_result
    from patchq.engine.importing.batch import bring_all
    from patchq.engine.importing.foreign import Foreigners
    from patchq.engine.importing.importing import Importer
    from patchq.engine.series.continuity import begun_anew
    from patchq.engine.workspace.main_branch import main_tip
    from patchq.engine.workspace.transaction import Transaction
    from patchq.report.document import render_document

    here.lock.base(tag)
    terms = _terms(here, tag, options)
    with here.writing() as workspace, here.progress("import") as progress:
        directory = workspace.load_or_empty(tag)
        over = Foreigners(here.project, tag, main_tip(here.project, options.main))
        importer = Importer(here.project, directory, terms, over.bring_over)
        batch = bring_all(importer, found.patches, progress)
        bad = bool(found.errors or batch.failures)
        if bad and not options.keep_going:
            for notice in (*found.notices, *batch.notices):
                here.notice(str(notice))
            import_result.raise_failures(here, batch, found.errors)
        if batch.imported and not options.dry_run:
            transaction = Transaction(workspace, label)
            begun = begun_anew(workspace, directory)
            importer.stage(transaction, begun)
            transaction.commit()
            if begun is not None:
                here.notice(f"series/{tag} begins anew: {begun.begins}")
    notices = (*found.notices, *batch.notices)
    for notice in (*notices, *(notice for one in batch.imported for notice in one.notices)):
        here.notice(str(notice))
    import_result.say_failures(here, batch, found.errors)
    if options.as_json:
        document = import_result.document(
            tag, batch, notices, found.errors, dry_run=options.dry_run
        )
        typer.echo(render_document(document), nl=False)
    else:
        typer.echo("\n".join(import_result.text(tag, batch, dry_run=options.dry_run)))
    return 1 if bad else 0


def _terms(here: Session, tag: str, options: Options) -> ImportTerms:
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
    from patchq.engine.importing.sources import read_path, read_stream

    if word == "-":
        read_stream(sys.stdin.buffer.read(), name, found)
    elif Path(word).exists():
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


def _recipe(here: Session, file: Path, tag: str, *, dry_run: bool) -> int:
    from patchq.cli.import_recipe import import_recipe

    return import_recipe(here, file, tag, dry_run=dry_run)


def _replace(context: typer.Context, files: Sequence[str], tag: str, options: Options) -> None:
    contents = dict(_contents(files, options.name))

    def make(project: Project, tag: str) -> Edited:
        from patchq.engine.importing.foreign import Foreigners
        from patchq.engine.importing.replace import replace_patches
        from patchq.engine.workspace.main_branch import main_tip

        over = Foreigners(project, tag, main_tip(project, options.main))
        terms = _terms(session(context), tag, options)
        return replace_patches(project, tag, contents, options.name, terms, over.bring_over)

    label = f"import --replace {' '.join(files)}"
    change(context, label, tag, make, dry_run=options.dry_run, as_json=options.as_json)


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
