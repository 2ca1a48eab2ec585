"""What a series, and each patch of it, does to what the project builds for each target.

A patch is looked at in three ways: in its place (the series up to it, without and with it), alone
on the unpatched tree, and left out of the whole. The last two take it apart from its neighbours
by a three-way merge, so that touching lines are no obstacle; where that collides, the way is left
out. A patch that changes nothing in any of them is inert.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from patchq.engine.project import Project
from patchq.engine.stack import Stack
from patchq.engine.verify.cmake import has_cmake
from patchq.engine.verify.inert import Inertia
from patchq.engine.verify.probe import LISTS, Prober, Question, is_cmake
from patchq.engine.verify.subject import Step
from patchq.errors import Where
from patchq.git.apply import Applied
from patchq.git.merge import Question as Merge
from patchq.git.objects import Entries
from patchq.git.store import Store
from patchq.model.lock import Base
from patchq.model.patch import Patch
from patchq.model.recipe import read_recipe
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
from patchq.model.workspace import RECIPE

ACTING = (Effect.CHANGED, Effect.DEFAULT)


@dataclass(frozen=True)
class Evaluated:
    """The build for each target, without the series and with it; each patch on each target."""

    builds: tuple[TargetBuild, ...]
    effects: tuple[PatchEffect, ...]


class Evaluator:
    """Evaluates the project in ``directory`` of one base and of the steps of a series on it."""

    def __init__(self, project: Project, base: Base, directory: str):
        self._project = project
        self._base = base
        self._directory = directory
        self._objects = project.store.objects
        self._prober = Prober(self._objects, project.settings.checks.build, project.cache)

    def evaluate(self, steps: Sequence[Step]) -> Evaluated:
        """The builds for every target of the settings, and the effects of each patch on them.

        Raises :class:`~patchq.errors.PatchqError` where there is no CMake to evaluate them with.
        """
        targets = self._project.settings.targets
        whole = steps[-1].tree if steps else self._base.tree
        parts = _take_apart(self._project.store, self._base.tree, steps, whole)
        trees = {self._base.tree, whole, *(tree for part in parts for tree in part.trees)}
        known = self._builds([(tree, target, {}) for tree in sorted(trees) for target in targets])
        builds = {
            (tree, target.name): build
            for (tree, target), build in zip(
                ((tree, target) for tree in sorted(trees) for target in targets),
                known,
                strict=True,
            )
        }
        found = [
            self._effect(part, {tree: builds[tree, target.name] for tree in trees}, whole, target)
            for part in parts
            for target in targets
        ]
        return Evaluated(
            tuple(
                TargetBuild(
                    target, builds[self._base.tree, target.name], builds[whole, target.name]
                )
                for target in targets
            ),
            tuple(found),
        )

    def explain(self, effects: Sequence[PatchEffect]) -> tuple[PatchEffect, ...]:
        """The effects, those that are none with the commit since which they are.

        Such a commit is looked for where the patch acts on another target, which tells what it
        is for.
        """
        inertia = Inertia(
            self._project, self._base, self._prober, known_directories(self._project)
        )
        targets = {target.name: target for target in self._project.settings.targets}
        explained = []
        for effect in effects:
            acting = next(
                (e for e in effects if e.patch == effect.patch and e.effect in ACTING), None
            )
            if effect.effect is Effect.NONE and acting:
                purpose = acting.alone or acting.in_series
                commit = inertia.since(targets[effect.target], purpose)
                explained.append(replace(effect, since=commit))
            else:
                explained.append(effect)
        return tuple(explained)

    def _effect(
        self, part: _Part, builds: Mapping[str, Build], whole: str, target: Target
    ) -> PatchEffect:
        name, base = part.step.patch.name, self._base.tree
        if builds[part.step.onto].problems or builds[part.step.tree].problems:
            return PatchEffect(name, target.name, Effect.UNKNOWN)
        found = PatchEffect(
            name,
            target.name,
            Effect.CHANGED,
            in_series=compare(builds[part.step.onto], builds[part.step.tree]),
            alone=_compared(builds, base, part.alone),
            left_out=_compared(builds, part.left_out, whole),
        )
        if not (found.in_series or found.alone or found.left_out):
            return replace(found, effect=self._idle(part.step))
        undone_by = (
            self._option_behind(base, part.alone, builds, target)
            if part.alone and found.alone
            else self._option_behind(part.step.onto, part.step.tree, builds, target)
        )
        if undone_by:
            return replace(found, effect=Effect.DEFAULT, undone_by=undone_by)
        return found

    def _idle(self, step: Step) -> Effect:
        """What a patch that changes nothing is: only of CMake files is the evaluation all."""
        prefix = "" if self._directory == "." else f"{self._directory}/"
        seen = (path.startswith(prefix) and is_cmake(path) for path in step.applied.paths)
        return Effect.NONE if all(seen) else Effect.OUTSIDE

    def _option_behind(
        self, before: str, after: str, builds: Mapping[str, Build], target: Target
    ) -> str | None:
        """The options whose old defaults undo the change between two trees, None where not so."""
        now = dict(builds[after].defaults)
        old = {name: value for name, value in builds[before].defaults if now.get(name) != value}
        if not old:
            return None
        (undone,) = self._builds([(after, target, old)])
        if compare(builds[before], undone):
            return None
        return " ".join(f"-D{name}={value}" for name, value in old.items())

    def _builds(self, wanted: Sequence[tuple[str, Target, Mapping[str, str]]]) -> list[Build]:
        """The build of each tree for a target with options."""
        questions = [
            Question(entry.oid, self._directory, target, options)
            if (entry := project_at(self._project.store, tree, self._directory))
            else None
            for tree, target, options in wanted
        ]
        answers = iter(self._prober.probe_all([q for q in questions if q is not None]))
        gone = Build(problems=(Remark("is gone", Where(f"{self._directory}/{LISTS}")),))
        return [next(answers) if question else gone for question in questions]


def effects_on(
    project: Project, onto: str, patches: Sequence[Patch]
) -> dict[str, tuple[PatchEffect, ...]]:
    """What each of ``patches``, in order on the base ``onto``, does to the build of each target.

    A patch that does not apply is passed over. Empty where there is nothing to evaluate: no
    targets in the settings, no project of a known directory on that base, or no CMake.
    """
    base = project.lock.base(onto)
    directory = directory_on(project, base)
    if directory is None or not project.settings.targets or not has_cmake():
        return {}
    stack, tree, steps = Stack(project.store), base.tree, list[Step]()
    for patch in patches:
        applied = stack.try_apply(tree, patch)
        if isinstance(applied, Applied):
            steps.append(Step(patch, tree, applied))
            tree = applied.tree
    found: dict[str, tuple[PatchEffect, ...]] = {}
    for effect in Evaluator(project, base, directory).evaluate(steps).effects:
        found[effect.patch] = (*found.get(effect.patch, ()), effect)
    return found


def known_directories(project: Project) -> tuple[str, ...]:
    """Where recipes of the workspace say that the project lies, those of newer bases first."""
    workspace, found = project.workspace, dict[str, None]()
    for name in reversed(workspace.series_names()):
        path = workspace.series_path(name) / RECIPE
        if path.is_file():
            where = Where(str(path.relative_to(workspace.root)))
            recipe = read_recipe(path.read_bytes(), where)
            if recipe.project is not None:
                found[recipe.project] = None
    return tuple(found)


def directory_on(project: Project, base: Base) -> str | None:
    """The directory of the project on ``base``: a known one that has a project there."""
    return next(
        (
            directory
            for directory in known_directories(project)
            if project_at(project.store, base.tree, directory)
        ),
        None,
    )
