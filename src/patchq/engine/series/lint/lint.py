"""What is wrong, unfinished or unportable in a series, told from its files alone.

The rules are git's (apply, am), DEP-3's (https://dep-team.pages.debian.net/deps/dep3/), and what
quilt and GNU patch can apply.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from difflib import get_close_matches

from patchq.engine.series.continuity import gaps
from patchq.engine.series.lint.patch_checks import LintedPatch, check_patch, mend, with_hint
from patchq.engine.workspace.transaction import Transaction
from patchq.errors import InputError, Where
from patchq.model.header import PREDICATE_FIELDS
from patchq.model.header_lines import Trailer
from patchq.model.lint import Code, Finding, Severity
from patchq.model.patch import Patch
from patchq.model.predicate import Predicate, PredicateKind, parse_predicate
from patchq.model.retired import provided_by_upstream
from patchq.model.series import Series
from patchq.model.workspace import RECIPE, SERIES, Workspace


def lint_workspace(workspace: Workspace) -> tuple[Finding, ...]:
    """The findings in what all series share: the lock, the settings, and which series there are."""
    findings = [*_malformed(workspace.lock), *_malformed(workspace.settings)]
    if not _malformed(workspace.lock):
        for name in workspace.unlocked():
            where = Where(str((workspace.series_path(name) / SERIES).relative_to(workspace.root)))
            text = f"upstream.lock has no base {name}: no command sees this series (patchq lock)"
            findings.append(Finding(Severity.WARNING, Code.UNLOCKED_SERIES, where, text))
    return tuple(findings)


def _malformed(read: Callable[[], object]) -> tuple[Finding, ...]:
    """What a YAML file is refused for, by whoever reads it."""
    try:
        read()
    except InputError as error:
        where = error.where or Where(SERIES)
        return (Finding(Severity.ERROR, Code.BAD_YAML, where, with_hint(error)),)
    return ()


def lint(workspace: Workspace, tag: str) -> tuple[Finding, ...]:
    """The findings in the series on ``tag``: those of its order first, then patch by patch.

    Raises :class:`InputError` if there is no series on ``tag``; what is malformed in the series
    itself is a finding. That the settings are is one of :func:`lint_workspace`.
    """
    workspace.lock().position(tag)
    if not (workspace.series_path(tag) / SERIES).is_file():
        workspace.series(tag)  # raises, naming the series that there are
    try:
        series = workspace.series(tag)
    except InputError as error:
        where = error.where or Where(SERIES)
        return (Finding(Severity.ERROR, Code.BAD_SERIES, where, with_hint(error)),)
    malformed = _malformed(lambda: workspace.retired(tag))
    upstreamed = provided_by_upstream(() if malformed else workspace.retired(tag))
    patches = _read(workspace, tag, series)
    findings = [
        *malformed,
        *_check_recipe(workspace, tag, series, upstreamed),
        *_check_files(workspace, tag, series, patches),
        *_check_guards(workspace, series),
        *_check_targets(workspace, patches),
        *_check_continuity(workspace, tag),
    ]
    for entry in series.entries:
        if entry.name in patches:
            subject = LintedPatch(patches[entry.name], entry, series, upstreamed)
            findings.extend(check_patch(subject))
    return tuple(findings)


def _check_recipe(
    workspace: Workspace, tag: str, series: Series, upstreamed: Collection[str]
) -> Iterator[Finding]:
    malformed = _malformed(lambda: workspace.recipe(tag))
    yield from malformed
    for variant in () if malformed else workspace.recipe(tag).variants.values():
        for name in variant.requires:
            if name not in series.names and name not in upstreamed:
                text = f"variant {variant.name} requires {name}, which is not in the series"
                where = variant.where or Where(RECIPE)
                yield Finding(Severity.NOTICE, Code.MISSING_REQUIREMENT, where, text)


def fix(workspace: Workspace, tag: str, transaction: Transaction) -> tuple[str, ...]:
    """Write into ``transaction`` every patch of ``tag`` that has one certain repair; their names.

    A patch that stays malformed after its repairs is left as it is.
    """
    mended = []
    for name, patch in _read(workspace, tag, workspace.series(tag)).items():
        sound = mend(patch)
        if sound is not None:
            transaction.write_file(workspace.series_path(tag) / name, sound.raw)
            mended.append(name)
    return tuple(mended)


def _read(workspace: Workspace, tag: str, series: Series) -> dict[str, Patch]:
    """The patches that are there, however malformed."""
    patches = {}
    for entry in series.entries:
        path = workspace.series_path(tag) / entry.name
        if path.is_file():
            where = Where(str(path.relative_to(workspace.root)))
            patches[entry.name] = Patch(entry.name, path.read_bytes(), entry.strip, where)
    return patches


def _check_files(
    workspace: Workspace, tag: str, series: Series, patches: dict[str, Patch]
) -> Iterator[Finding]:
    directory = workspace.series_path(tag)
    there = {
        path.relative_to(directory).as_posix()
        for path in directory.rglob("*")
        if path.suffix in (".patch", ".diff") and path.is_file()
    }
    strays = sorted(there.difference(series.names))
    for entry in series.entries:
        if entry.name not in patches:
            near = get_close_matches(entry.name, strays, 1)
            advice = f"is it {near[0]}?" if near else "restore it, or take the line out"
            text = f"there is no file {entry.name}; {advice}"
            where = Where(series.where.file, entry.line)
            yield Finding(Severity.ERROR, Code.MISSING_FILE, where, text)
    for name in strays:
        where = Where(str((directory / name).relative_to(workspace.root)))
        text = "is in the directory but not in the series"
        yield Finding(Severity.WARNING, Code.STRAY_FILE, where, text)


def _check_guards(workspace: Workspace, series: Series) -> Iterator[Finding]:
    if _malformed(workspace.settings):
        return
    settings = workspace.settings()
    for entry in series.entries:
        if not entry.can_be_active(settings.default_guards):
            text = f"{entry.name} is never applied: whatever turns it on turns it off as well"
            where = Where(series.where.file, entry.line)
            yield Finding(Severity.WARNING, Code.NEVER_APPLIED, where, text)
    known = sorted({*settings.guards, *settings.default_guards})
    for name in series.guards:
        if name in known:
            continue
        line = next(e.line for e in series.entries if any(g.name == name for g in e.guards))
        near = get_close_matches(name, known, 1)
        advice = f"is {near[0]} meant?" if near else "describe it under 'guards' there"
        text = f"guard {name} is not in series/patchq.yaml; {advice}"
        where = Where(series.where.file, line)
        yield Finding(Severity.WARNING, Code.UNKNOWN_GUARD, where, text)


def _check_targets(workspace: Workspace, patches: dict[str, Patch]) -> Iterator[Finding]:
    """Predicates on a target that the settings do not describe: they would never be known."""
    if _malformed(workspace.settings):
        return
    settings = workspace.settings()
    gated = [facts.target for facts in settings.release.gates]
    built = [target.name for target in settings.targets]
    known = {PredicateKind.GATE: ("gates", gated), PredicateKind.ARCH: ("targets", built)}
    for patch in patches.values():
        for trailer in patch.header.trailers:
            predicate = _predicate(trailer)
            if predicate is None or predicate.kind not in known:
                continue
            key, names = known[predicate.kind]
            target = predicate.target
            if target not in names:
                advice = (
                    f"it has: {', '.join(names)}" if names else f"describe it under {key!r} there"
                )
                text = f"series/patchq.yaml has no {target} under {key!r}; {advice}"
                where = Where(patch.where.file if patch.where else patch.name, trailer.line)
                yield Finding(Severity.ERROR, Code.UNKNOWN_TARGET, where, text)


def _predicate(trailer: Trailer) -> Predicate | None:
    """The predicate of a field, None if it has none that can be read."""
    if trailer.key.lower() not in PREDICATE_FIELDS:
        return None
    try:
        return parse_predicate(trailer.value)
    except InputError:
        return None


def _check_continuity(workspace: Workspace, tag: str) -> Iterator[Finding]:
    """What the series before has, and this one neither has nor remembers."""
    try:
        found = gaps(workspace, tag)
    except InputError:
        return  # one of the two cannot be read, which is a finding of its own
    where = Where(str((workspace.series_path(tag) / SERIES).relative_to(workspace.root)))
    for gap in found:
        text = f"{gap.name} is {gap.words}: {gap.ways_on}"
        yield Finding(Severity.ERROR, Code.NO_RECORD, where, text)
