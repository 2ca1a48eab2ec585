"""What a series, and each patch of it, does to what the project builds for each target.

A patch is looked at in three ways: in its place (the series up to it, without and with it), alone
on the unpatched tree, and left out of the whole. The last two take it apart from its neighbours
by a three-way merge, so that touching lines are no obstacle; where that collides, the way is left
out. A patch that changes nothing in any of them is inert.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from patchq.engine.build.cmake.program import has_cmake
from patchq.engine.build.evaluate import BuildQuestion, Prober
from patchq.engine.build.project_dir import ROOT, directory_in, project_at
from patchq.engine.build.trust import is_trusted, sandbox_for
from patchq.engine.languages.cmake_text import LISTS, is_cmake
from patchq.engine.series.stack import Stack
from patchq.engine.verify.build.inert import InertSince
from patchq.engine.verify.build.leave_one_out import SeriesPart, take_apart
from patchq.engine.verify.subject import PatchStep
from patchq.engine.workspace.project import Project
from patchq.errors import Where
from patchq.git.apply import Applied
from patchq.model.ids import TreeId
from patchq.model.lock import Base
from patchq.model.patch import Patch
from patchq.model.settings import Target
from patchq.model.verification import (
    Build,
    Change,
    Effect,
    PatchEffect,
    Remark,
    TargetBuild,
    compare,
)

_ACTING = (Effect.CHANGED, Effect.DEFAULT)


@dataclass(frozen=True)
class Evaluated:
    """The build for each target, without the series and with it; each patch on each target."""

    builds: tuple[TargetBuild, ...]
    effects: tuple[PatchEffect, ...]


class Evaluator:
    """Evaluates the project in ``directory`` of one base, and of a series on it."""

    def __init__(self, project: Project, base: Base, directory: str):
        self._project = project
        self._base = base
        self._directory = directory
        self._targets = project.settings.targets
        self._trusted = is_trusted(project.workspace, base)
        self._prober = Prober(project.store, project.settings.checks.build, project.cache)

    def evaluate(self, steps: Sequence[PatchStep], *, effects: bool = True) -> Evaluated:
        """The builds for every target of the settings, and the ``effects`` of each patch on them.

        Raises :class:`~patchq.errors.PatchqError` if there is no CMake to evaluate them with,
        :class:`~patchq.errors.UpstreamError` if there is no sandbox and no trust.
        """
        base = self._base.tree
        whole = steps[-1].tree if steps else base
        parts = take_apart(self._project.store, base, steps) if effects else ()
        trees = dict.fromkeys([base, whole, *(tree for part in parts for tree in part.trees)])
        asked = list(product(trees, self._targets))
        answers = self._builds([(tree, target, {}) for tree, target in asked])
        builds: dict[str, dict[str, Build]] = {target.name: {} for target in self._targets}
        for (tree, target), build in zip(asked, answers, strict=True):
            builds[target.name][tree] = build
        return Evaluated(
            tuple(
                TargetBuild(target, builds[target.name][base], builds[target.name][whole])
                for target in self._targets
            ),
            tuple(
                self._effect(part, target, builds[target.name], whole)
                for part in parts
                for target in self._targets
            ),
        )

    def explain(self, effects: Sequence[PatchEffect]) -> tuple[PatchEffect, ...]:
        """The effects, those that are none with the commit since which they are.

        It is looked for where the patch acts on another target, which tells what it is for.
        """
        search = InertSince(self._project, self._base, self._prober)
        targets = {target.name: target for target in self._targets}
        acting = {effect.patch: effect for effect in effects if effect.effect in _ACTING}
        return tuple(
            replace(effect, since=search.since(targets[effect.target], purpose.changes))
            if effect.effect is Effect.NONE and (purpose := acting.get(effect.patch))
            else effect
            for effect in effects
        )

    def _effect(
        self, part: SeriesPart, target: Target, builds: Mapping[str, Build], whole: TreeId
    ) -> PatchEffect:
        step, base = part.step, self._base.tree
        name = step.patch.name
        if builds[step.onto].problems or builds[step.tree].problems:
            return PatchEffect(name, target.name, Effect.UNKNOWN)
        found = PatchEffect(
            name,
            target.name,
            Effect.CHANGED,
            in_series=compare(builds[step.onto], builds[step.tree]),
            alone=_compared(builds, base, part.alone),
            left_out=_compared(builds, part.left_out, whole),
        )
        if not (found.in_series or found.alone or found.left_out):
            return replace(found, effect=self._idle(step))
        before, after = (base, part.alone) if found.alone else (step.onto, step.tree)
        undone_by = after and self._option_behind(target, builds, before, after)
        if undone_by:
            return replace(found, effect=Effect.DEFAULT, undone_by=undone_by)
        return found

    def _idle(self, step: PatchStep) -> Effect:
        """What a patch without a change is: only CMake files are evaluated to the last word."""
        prefix = "" if self._directory == ROOT else f"{self._directory}/"
        seen = (path.startswith(prefix) and is_cmake(path) for path in step.applied.paths)
        return Effect.NONE if all(seen) else Effect.OUTSIDE

    def _option_behind(
        self, target: Target, builds: Mapping[str, Build], before: TreeId, after: TreeId
    ) -> str | None:
        """The options whose old defaults take the change back; None if they do not."""
        now = dict(builds[after].defaults)
        old = {key: value for key, value in builds[before].defaults if now.get(key, value) != value}
        if not old:
            return None
        (undone,) = self._builds([(after, target, old)])
        if compare(builds[before], undone):
            return None
        return " ".join(f"-D{key}={value}" for key, value in old.items())

    def _builds(self, asked: Sequence[tuple[TreeId, Target, Mapping[str, str]]]) -> list[Build]:
        """The build of each tree for a target with more options."""
        objects = self._project.store.objects
        gone = Remark("there is no such file", Where(f"{self._directory}/{LISTS}"))
        projects = [project_at(objects, tree, self._directory) for tree, _, _ in asked]
        questions = [
            BuildQuestion(project, self._directory, target, options, self._trusted)
            for project, (_, target, options) in zip(projects, asked, strict=True)
            if project
        ]
        with sandbox_for(self._base):
            answers = iter(self._prober.probe_all(questions))
        return [next(answers) if project else Build(problems=(gone,)) for project in projects]


def evaluate_on(project: Project, onto: str, patches: Sequence[Patch]) -> Evaluated | None:
    """The builds on the base ``onto``, and what each of ``patches``, in order, does to them.

    A patch that does not apply is skipped. None if nothing can be evaluated: no targets in the
    settings, no project in a known directory on that base, no CMake.
    """
    base = project.lock.base(onto)
    directory = directory_in(project, base.tree)
    if directory is None or not project.settings.targets or not has_cmake(project.cache):
        return None
    stack, tree, steps = Stack(project.store), base.tree, list[PatchStep]()
    for patch in patches:
        applied = stack.try_apply(tree, patch)
        if isinstance(applied, Applied):
            steps.append(PatchStep(patch, tree, applied))
            tree = applied.tree
    return Evaluator(project, base, directory).evaluate(steps)


def effects_on(
    project: Project, onto: str, patches: Sequence[Patch]
) -> dict[str, tuple[PatchEffect, ...]]:
    """What each of ``patches``, in order on the base ``onto``, does to the build of each target.

    By patch name; empty as :func:`evaluate_on` is None.
    """
    evaluated = evaluate_on(project, onto, patches)
    found: dict[str, tuple[PatchEffect, ...]] = {}
    for effect in evaluated.effects if evaluated else ():
        found[effect.patch] = (*found.get(effect.patch, ()), effect)
    return found


def _compared(
    builds: Mapping[str, Build], before: TreeId | None, after: TreeId | None
) -> tuple[Change, ...] | None:
    """The changes between two trees; None if one of them is not there or not known."""
    if before is None or after is None or builds[before].problems or builds[after].problems:
        return None
    return compare(builds[before], builds[after])
