"""Verify a series: everything that can be proved of the patched tree without its hardware."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from patchq.engine.rebase.resurfaced import find_resurfaced
from patchq.engine.series.selection import Selection
from patchq.engine.series.stack import PatchRefusedError
from patchq.engine.verify import checks, fields, imports, parse, pins
from patchq.engine.verify.ahead import ask_ahead
from patchq.engine.verify.build import check as build
from patchq.engine.verify.build.effect import Evaluated
from patchq.engine.verify.subject import (
    Subject,
    put_in_place,
    uncovered,
    uncovered_words,
    without_uncovered,
)
from patchq.engine.verify.wheel.evidence import Wheels
from patchq.engine.workspace.project import Project
from patchq.model.ids import TreeId
from patchq.model.lock import Base
from patchq.model.verification import Failure, Remark, Section, Verification
from patchq.model.words import counted

APPLY = "apply"

Check = Callable[[Subject], Section]

CHECKS: tuple[Check, ...] = (
    fields.ends,
    checks.expectations,
    checks.results,
    checks.series_wide,
    parse.check,
    imports.check,
    pins.check,
)
"""The checks of a series in place, in the order of the report; the build comes after them."""

Progress = Callable[[int, int, str], None]


def quiet(_done: int, _total: int, _name: str) -> None:
    """A :data:`Progress` that says nothing."""


def verify_series(
    project: Project,
    selection: Selection,
    progress: Progress = quiet,
    fuzz: int = 0,
    *,
    effects: bool = True,
) -> Verification:
    """Check the selection on its own base; ``fuzz`` allows patches so much, and says so.

    Without ``effects`` it is not found out what each patch does to the build.

    What is wrong with the series is a failure of a section. Raises
    :class:`~patchq.errors.InputError` if the recipe is malformed,
    :class:`~patchq.errors.UpstreamError` if the base is not here, and
    :class:`~patchq.errors.PatchqError` if a tool that a check needs is missing.
    """
    total = len(CHECKS) + 2
    progress(0, total, "apply")
    ask_ahead(project, selection, fuzz, effects=effects)
    resurfaced = find_resurfaced(project, selection.directory)
    sections = [
        checks.continuity(project, selection),
        checks.order(selection, resurfaced),
        fields.readable(selection),
    ]
    if sections[-1].failures:
        return _verification(project, selection, None, sections, Evaluated((), ()))
    base = project.lock.base(selection.directory.tag)
    covered, blind = without_uncovered(selection, base, base.covers)
    outside = tuple(
        Failure(uncovered_words(base, paths), patch.where, patch.name)
        for patch, paths in uncovered(covered, base)
    )
    if outside:
        sections.append(Section(APPLY, "patches of what the base does not cover in part", outside))
        return _verification(project, selection, None, sections, Evaluated((), ()), blind)
    try:
        subject = put_in_place(project, covered, fuzz)
    except PatchRefusedError as error:
        failure = Failure(error.message, error.where, error.patch.name)
        sections.append(Section(APPLY, "strictly, in order", (failure,)))
        return _verification(project, selection, None, sections, Evaluated((), ()), blind)
    patches = counted(len(subject.steps), "patch")
    fuzzed = tuple(
        Remark(f"{step.patch.name} applies with fuzz {step.fuzz} only")
        for step in subject.steps
        if step.fuzz
    )
    how = f"in order, {len(fuzzed)} with fuzz" if fuzzed else "strictly, in order"
    notes = (*fuzzed, *_not_checked(project, selection, base, blind))
    sections.append(Section(APPLY, f"{patches} {how}", notes=notes))
    for number, check in enumerate(CHECKS, 1):
        progress(number, total, check.__module__.rpartition(".")[2])
        sections.append(check(subject))
    progress(total - 1, total, build.NAME)
    section, evaluated = build.check(subject, effects=effects)
    return _verification(project, selection, subject.tree, [*sections, section], evaluated, blind)


def _not_checked(
    project: Project, selection: Selection, base: Base, blind: Sequence[str]
) -> Iterator[Remark]:
    if not blind:
        return
    yield Remark(
        f"not checked, {base.name} does not cover what they touch: {', '.join(blind)}; "
        f"`patchq lock {base.name} --replace-archive` takes upstream's own tag"
    )
    paths = {patch.name: patch.paths for patch in selection.patches if patch.name in blind}
    for name, evidence in Wheels(project).evidence(base, paths).items():
        for item in evidence:
            yield Remark(f"{name}: {item.text}")


def _verification(
    project: Project,
    selection: Selection,
    tree: TreeId | None,
    sections: Sequence[Section],
    evaluated: Evaluated,
    blind: Sequence[str] = (),
) -> Verification:
    base = project.lock.base(selection.directory.tag)
    return Verification(
        series=base.name,
        commit=base.commit,
        guards=tuple(sorted(selection.guards)),
        patches=tuple(patch.name for patch in selection.patches),
        tree=tree,
        sections=tuple(sections),
        builds=evaluated.builds,
        effects=evaluated.effects,
        not_covered=tuple(blind),
        guarded_off=selection.directory.series.guarded_off(selection.guards),
    )
