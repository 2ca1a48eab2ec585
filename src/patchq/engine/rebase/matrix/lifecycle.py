"""The lifecycle of every patch: each series judged on the base that follows it, over the lock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from patchq.engine.rebase.beside import cores
from patchq.engine.rebase.decided import as_decided, with_revived
from patchq.engine.rebase.matrix.helpers import Helpers
from patchq.engine.rebase.rebase import judge_series, quiet
from patchq.engine.rebase.series_run import Progress
from patchq.engine.workspace.live import with_needed
from patchq.engine.workspace.project import Project
from patchq.errors import MissingBasesError
from patchq.model.lock import Base
from patchq.model.nearest import did_you_mean
from patchq.model.patch import Patch, read_patch
from patchq.model.patch_names import meant_name
from patchq.model.series import Guard, NoSuchPatchError
from patchq.model.verdict import Column, Matrix, Story


def lifecycle(
    project: Project,
    progress: Progress = quiet,
    *,
    jobs: int | None = None,
) -> Matrix:
    """Every patch against every locked base from the first series on.

    On each base the newest series strictly before it is judged, as ``patchq rebase`` would; where
    the base has a series of its own, what that decided is told. What needs a base that the store
    lacks is left unjudged. Up to ``jobs`` processes judge at once, without it one a core if there
    is enough to do.
    """
    names = project.workspace.series_names()
    bases = _from_first(project.lock.bases, names)
    before = {base.name: _before(project, base, names) for base in bases}
    work = [
        (source, base.name)
        for base in bases
        if (source := before[base.name]) is not None
        and not _missing(project, [project.lock.base(source), base])
    ]
    sizes = {source: len(project.workspace.series(source).names) for source, _ in work}
    total = sum(sizes[source] for source, _ in work)
    columns, done = [], 0
    with Helpers(project, work, jobs or cores(), at_once=jobs is not None) as helpers:
        for base in bases:
            source = before[base.name]
            judged = source is not None and (source, base.name) in work
            if source is not None and judged:
                helpers.take((source, base.name))
            told = _part(progress, done, total, base.name)
            columns.append(_column(project, base, names, told, jobs=helpers.free))
            done += sizes[source] if source is not None and judged else 0
            helpers.start()
    return Matrix(tuple(columns))


def _part(progress: Progress, before: int, total: int, onto: str) -> Progress:
    """``progress`` for one column, counted in patches of all of them."""

    def told(done: int, _of: int, name: str) -> None:
        progress(before + done, total, f"{name} on {onto}")

    return told


def _before(project: Project, base: Base, names: Sequence[str]) -> str | None:
    """The newest series strictly before a base."""
    locked = [known.name for known in project.lock.bases]
    earlier = [name for name in names if locked.index(name) < locked.index(base.name)]
    return earlier[-1] if earlier else None


def story(
    project: Project, name: str, onto: str | None = None, progress: Progress = quiet
) -> Story:
    """One patch's life over the locked bases that are fetched, or on the base ``onto`` alone.

    Raises :class:`InputError` if no series has or remembers such a patch, and
    :class:`MissingBasesError` if what ``onto`` needs is not in the store.
    """
    names = project.workspace.series_names()
    bases = _from_first(project.lock.bases, names)
    if onto is not None:
        bases = [project.lock.base(onto)]
        earlier = _before(project, bases[0], names)
        _require(project, [*([project.lock.base(earlier)] if earlier else []), *bases])
    patch = _newest(project, name, names)
    name = patch.name
    columns = []
    for number, base in enumerate(bases, start=1):
        columns.append(_column(project, base, names))
        progress(number, len(bases), base.name)
    header = patch.header
    ends = (
        *(f"PR #{number} is merged" for number in header.upstream_prs),
        *(predicate.text for predicate in header.retire_when),
    )
    guards = tuple(_guards(project, name, names))
    return Story(name, header.subject, header.kind, ends, tuple(columns), guards)


def _guards(project: Project, name: str, tags: Sequence[str]) -> Iterator[str]:
    """The guards that the patch has or had in the series on ``tags``, and what each is for."""
    found: dict[Guard, None] = {}
    for directory in map(project.workspace.load, tags):
        if name in directory.series.names:
            found |= dict.fromkeys(directory.series.entry(name).guards)
    for guard in found:
        meaning = project.settings.guards.get(guard.name)
        yield str(guard).removeprefix("#") + (f": {meaning}" if meaning else "")


def _newest(project: Project, name: str, names: Sequence[str]) -> Patch:
    """The patch as the newest series has it, or remembers it."""
    directories = [project.workspace.load(tag) for tag in reversed(names)]
    known = {patch for directory in directories for patch in directory.patches}
    known |= {record.name for directory in directories for record in directory.retired}
    meant = meant_name(name, known)
    for directory in directories:
        if meant in directory.patches:
            return directory.patches[meant]
        for record in directory.retired:
            if record.name == meant:
                return read_patch(meant, record.content, strip=record.strip)
    raise NoSuchPatchError(
        name,
        f"no series has a patch {name}",
        hint=did_you_mean(name, known, "`patchq list TAG` shows those of a series."),
    )


def _from_first(bases: Sequence[Base], names: Sequence[str]) -> list[Base]:
    first = next((n for n, base in enumerate(bases) if base.name in names), len(bases))
    return list(bases[first:])


def _require(project: Project, bases: Sequence[Base]) -> None:
    """Raise :class:`MissingBasesError` that names every one of ``bases`` that is not here."""
    missing = _missing(project, bases)
    if missing:
        raise MissingBasesError(
            missing,
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not in the upstream "
            "store",
            hint=f"Run `patchq fetch {' '.join(missing)}`, or lend a clone with --upstream.",
        )


def _missing(project: Project, bases: Sequence[Base]) -> tuple[str, ...]:
    has = project.store.objects.has
    return tuple(base.name for base in bases if not has(base.commit))


def _column(
    project: Project,
    base: Base,
    names: Sequence[str],
    progress: Progress = quiet,
    *,
    jobs: int | None = None,
) -> Column:
    earlier = _before(project, base, names)
    before: set[str] = set()
    report, unfetched = None, tuple[str, ...]()
    contents: Mapping[str, Patch] = {}
    if earlier is not None:
        before = set(project.workspace.series(earlier).names)
        unfetched = _missing(project, [project.lock.base(earlier), base])
        contents = project.workspace.load(earlier).patches
    if earlier is not None and not unfetched:
        judged = judge_series(project, earlier, base.name, progress, jobs=jobs)
        report, contents = judged.report, judged.contents
    own: tuple[str, ...] = ()
    if base.name in names:
        directory = project.workspace.load(base.name)
        own = directory.series.names
        if report:
            decided = as_decided(project.workspace, report, directory)
            report = with_needed(project, with_revived(decided, report, directory))
        contents = directory.contents
    return Column(
        base=base.name,
        commit=base.commit,
        date=base.date,
        has_series=base.name in names,
        report=report,
        introduced=tuple(name for name in own if name not in before),
        role=project.settings.release.live.get(base.name),
        unfetched=unfetched,
        is_archive=base.archive is not None,
        contents=contents,
    )
