"""The build for each target is what the settings ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from patchq.engine.build.architectures import in_order
from patchq.engine.build.project_dir import project_at
from patchq.engine.languages.cmake_text import LISTS
from patchq.engine.verify.build.effect import Evaluated, Evaluator
from patchq.engine.verify.subject import Subject
from patchq.engine.workspace.project import Project
from patchq.errors import InputError
from patchq.model.lock import Base
from patchq.model.settings import Target
from patchq.model.verification import BuiltTarget, Failure, Remark, Section, TargetBuild
from patchq.model.words import counted

NAME = "build"

_NOTHING = Evaluated((), ())


def check(subject: Subject, *, effects: bool = True) -> tuple[Section, Evaluated]:
    """Evaluate the project for every target, and compare each build with what must hold of it.

    ``effects``: find out what each patch does to it too.

    Raises :class:`~patchq.errors.PatchqError` if there is no CMake to evaluate it with,
    :class:`~patchq.errors.UpstreamError` if there is no sandbox and no trust.
    """
    project, recipe = subject.project, subject.recipe
    directory = recipe.project
    if directory is None:
        return _skipped("the recipe names no project"), _NOTHING
    if not project.settings.targets:
        return _skipped("the workspace has no targets"), _NOTHING
    lists = f"{directory}/{LISTS}".removeprefix("./")
    if not subject.coverage.covers_path(lists):
        return _skipped(f"{subject.base.name} does not cover {directory}"), _NOTHING
    if project_at(project.store.objects, subject.base.tree, directory) is None:
        failure = Failure(f"{subject.base.name} has no {lists}", recipe.where)
        return Section(NAME, "there is no project to evaluate", (failure,)), _NOTHING
    evaluator = Evaluator(project, subject.base, directory)
    found = evaluator.evaluate(subject.steps, effects=effects)
    explained = Evaluated(found.builds, evaluator.explain(found.effects))
    return _section(found.builds), explained


def architectures(project: Project, base: Base, directory: str) -> dict[tuple[str, str], str]:
    """What each CUDA target of the unpatched project in ``directory`` is compiled for.

    By target of the settings and name; empty if the base has no such project. Raises
    :class:`~patchq.errors.PatchqError` if it cannot be evaluated.
    """
    if project_at(project.store.objects, base.tree, directory) is None:
        return {}
    found: dict[tuple[str, str], str] = {}
    for build in Evaluator(project, base, directory).evaluate(()).builds:
        for problem in build.before.problems:
            raise InputError(f"not evaluated: {problem.text}", where=problem.where)
        for built in build.before.cuda_targets:
            found[build.target.name, built.name] = " ".join(in_order(built.archs))
    return found


def _skipped(why: str) -> Section:
    return Section(NAME, why, skipped=True)


def _section(builds: Iterable[TargetBuild]) -> Section:
    failures, notes, count = list[Failure](), dict[Remark, None](), 0
    for build in builds:
        failures.extend(_failures(build))
        notes.update(dict.fromkeys(build.after.notes))
        count += len(build.after.cuda_targets)
    summary = f"{count} CUDA targets for {', '.join(build.target.name for build in builds)}"
    return Section(NAME, summary, tuple(failures), tuple(notes))


def _failures(build: TargetBuild) -> Iterator[Failure]:
    target, after = build.target, build.after
    for problem in after.problems:
        yield Failure(f"not evaluated: {problem.text}", problem.where, target=target.name)
    if after.problems:
        return
    if not after.cuda_targets:
        yield Failure("the project builds no CUDA target", target=target.name)
    for built in after.cuda_targets:
        yield from _of_architectures(built, target)
    for name in target.present:
        if after.target(name) is None:
            yield Failure(f"{name} is not built", target=target.name)
    for name in target.absent:
        if found := after.target(name):
            yield Failure(f"{name} is built, and must not be", found.where, target=target.name)


def _of_architectures(built: BuiltTarget, target: Target) -> Iterator[Failure]:
    for group in built.cuda:
        sources = counted(len(group.sources), "CUDA source")
        if not group.archs:
            text = f"{built.name}: no architecture for {sources}; nvcc would choose one"
            yield Failure(text, built.where, target=target.name)
        elif target.archs and set(group.archs) != set(target.archs):
            found, asked = " ".join(group.archs), " ".join(target.archs)
            wrong = next(
                (
                    flag.where
                    for flag in group.flags
                    if any(arch in flag.text for arch in group.archs if arch not in target.archs)
                ),
                built.where,
            )
            text = f"{built.name}: {sources} for {found}, must be for {asked}"
            yield Failure(text, wrong, target=target.name)
