"""What headers and settings say must hold: of the base, of the patched tree, of the order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from patchq.engine.predicates import Truth
from patchq.engine.series.continuity import gaps, series_before
from patchq.engine.series.selection import Selection, require_order
from patchq.engine.verify.subject import Subject
from patchq.engine.workspace.project import Project
from patchq.errors import InputError, Where
from patchq.model.ids import TreeId
from patchq.model.patch import Patch
from patchq.model.predicate import Predicate, parse_predicate
from patchq.model.retired import RecordState
from patchq.model.settings import PROJECT
from patchq.model.verdict import Remembered
from patchq.model.verification import Failure, Remark, Section


def continuity(project: Project, selection: Selection) -> Section:
    """Nothing vanished between the series before and this one."""
    tag = selection.directory.tag
    if tag not in project.workspace.series_names():  # rehearsed, not written yet
        return Section("continuity", "not a series on disk", skipped=True)
    found = gaps(project.workspace, tag)
    failures = tuple(Failure(f"{gap.words}: {gap.ways_on}", patch=gap.name) for gap in found)
    before = series_before(project.workspace, tag)
    begins = selection.directory.lineage.begins
    if before is None:
        summary = "the first series"
    elif begins is not None:
        summary = f"starts over: {begins}"
    else:
        summary = f"all of {before} is here or recorded"
    return Section("continuity", summary, failures)


def order(selection: Selection, resurfaced: Sequence[Remembered]) -> Section:
    """Nothing is held, no retired patch ``resurfaced``, and each stands behind what it requires."""
    tag = selection.directory.tag
    waiting = [r.name for r in selection.directory.retired if r.standing is RecordState.HELD]
    failures = [
        Failure(
            "is held for review as well"
            if number
            else f"is held for review: `patchq resolve {name} {tag}` opens its conflict, "
            f"`patchq drop {name} --tag {tag} --reason WHY` leaves it out",
            patch=name,
        )
        for number, name in enumerate(waiting)
    ]
    try:
        require_order(selection)
    except InputError as error:
        failures.append(Failure(error.message, error.where))
    count = sum(len(patch.header.requires) for patch in selection.patches)
    failures += (
        Failure(
            f"left the series as {_word(item)} on {item.since} and is needed again: "
            f"`patchq revive {item.name} {tag}` brings it back, "
            f"`patchq drop {item.name} --tag {tag} --reason WHY` says that it is not",
            patch=item.name,
        )
        for item in resurfaced
    )
    words = f"{len(waiting)} held" if waiting else "nothing held"
    return Section("requires", f"{count} X-Requires, {words}", tuple(failures))


def _word(item: Remembered) -> str:
    return item.retired_as.value if item.retired_as else item.memory.value


def expectations(subject: Subject) -> Section:
    """Every ``X-Expect`` holds on the unpatched base."""
    return _of_headers(subject, "X-Expect", subject.base.tree, "the unpatched tree")


def results(subject: Subject) -> Section:
    """Every ``X-Verify`` holds on the patched tree."""
    return _of_headers(subject, "X-Verify", subject.tree, "the patched tree")


def series_wide(subject: Subject) -> Section:
    """The predicates of the settings hold on the patched tree."""
    failures, notes, count = list[Failure](), list[Remark](), 0
    for predicate in subject.project.settings.checks.holds:
        placed = _placed(predicate, subject)
        if placed is None:
            text = f"not checked, the base's recipe names no project: {predicate.text}"
            notes.append(Remark(text))
        elif _covered(subject, placed):
            count += 1
            truth = _ask(subject, placed, subject.tree)
            if truth.holds is None:
                notes.append(_undecided(placed, truth))
            elif not truth.holds:
                text = f"does not hold on the patched tree: {placed.text}{_seen(truth)}"
                failures.append(Failure(text))
        else:
            notes.append(_unknown(placed))
    summary = f"{count} of the workspace's predicates"
    return Section("checks", summary, tuple(failures), tuple(notes), skipped=not count)


def _of_headers(subject: Subject, key: str, tree: TreeId, called: str) -> Section:
    failures, notes, count = list[Failure](), list[Remark](), 0
    for patch in subject.selection.patches:
        for predicate, where in _predicates(patch, key):
            if not _covered(subject, predicate):
                notes.append(_unknown(predicate, where))
                continue
            count += 1
            truth = _ask(subject, predicate, tree)
            if truth.holds is None:
                notes.append(_undecided(predicate, truth, where))
            elif not truth.holds:
                text = f"{key} does not hold on {called}: {predicate.text}{_seen(truth)}"
                failures.append(Failure(text, where, patch.name))
    summary = f"{count} {key} on {called}"
    return Section(key.lower(), summary, tuple(failures), tuple(notes), skipped=not count)


def _predicates(patch: Patch, key: str) -> Iterator[tuple[Predicate, Where]]:
    file = patch.where.file if patch.where else patch.name
    for trailer in patch.header.trailers:
        if trailer.key.lower() == key.lower():
            where = Where(file, trailer.line)
            yield parse_predicate(trailer.value, where), where


def _placed(predicate: Predicate, subject: Subject) -> Predicate | None:
    """The predicate with the project's directory in its path; None if there is none."""
    if predicate.path is None or not predicate.path.startswith(PROJECT):
        return predicate
    project = subject.recipe.project
    if project is None:
        return None
    path = predicate.path.replace(PROJECT, project, 1).removeprefix("./")
    return replace(predicate, path=path, text=predicate.text.replace(PROJECT, project, 1))


def _covered(subject: Subject, predicate: Predicate) -> bool:
    return predicate.path is None or subject.coverage.covers_path(predicate.path)


def _ask(subject: Subject, predicate: Predicate, tree: TreeId) -> Truth:
    return subject.predicates.ask(predicate, tree, base=subject.base.tree)


def _seen(truth: Truth) -> str:
    return f" ({truth.words})" if truth.words else ""


def _undecided(predicate: Predicate, truth: Truth, where: Where | None = None) -> Remark:
    return Remark(f"not known: {predicate.text}{_seen(truth)}", where)


def _unknown(predicate: Predicate, where: Where | None = None) -> Remark:
    return Remark(f"not checked, the base does not cover the path: {predicate.text}", where)
