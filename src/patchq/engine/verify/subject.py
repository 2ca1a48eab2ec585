"""What is verified: a selection of a series, applied strictly to its base, patch by patch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from patchq.engine.predicates import Predicates
from patchq.engine.series.selection import Selection
from patchq.engine.series.stack import Stack
from patchq.engine.series.variants import recipe_of
from patchq.engine.workspace.project import Project
from patchq.git.apply import Applied, Refused
from patchq.model.coverage import Coverage
from patchq.model.ids import TreeId
from patchq.model.lock import Base
from patchq.model.patch import Patch
from patchq.model.recipe import Recipe


@dataclass(frozen=True)
class PatchStep:
    """A patch in its place: the tree it stands on, and what it makes of it.

    ``fuzz`` is how many lines of context did not match, as far as that was allowed.
    """

    patch: Patch
    onto: TreeId
    applied: Applied
    fuzz: int = 0

    @property
    def tree(self) -> TreeId:
        """The tree with the patch."""
        return self.applied.tree


@dataclass(frozen=True)
class Subject:
    """A series in place, and all that the checks may look at."""

    project: Project
    selection: Selection
    base: Base
    recipe: Recipe
    steps: tuple[PatchStep, ...]

    @property
    def tree(self) -> TreeId:
        """The patched tree."""
        return self.steps[-1].tree if self.steps else self.base.tree

    @cached_property
    def touched(self) -> tuple[str, ...]:
        """Every path that a patch changes, sorted."""
        return tuple(sorted({path for step in self.steps for path in step.applied.paths}))

    @cached_property
    def coverage(self) -> Coverage:
        """The part of the tree that the base can tell anything about."""
        return self.base.coverage

    @cached_property
    def predicates(self) -> Predicates:
        """What predicates are asked with."""
        return Predicates(self.project)

    def before(self, path: str) -> bytes | None:
        """The content of ``path`` in the unpatched tree."""
        return self.project.store.objects.content(self.base.tree, path)

    def after(self, path: str) -> bytes | None:
        """The content of ``path`` in the patched tree."""
        return self.project.store.objects.content(self.tree, path)

    def toucher(self, path: str) -> str | None:
        """The last patch that changes ``path``."""
        return next((s.patch.name for s in reversed(self.steps) if path in s.applied.paths), None)


def uncovered(selection: Selection, base: Base) -> Iterator[tuple[Patch, tuple[str, ...]]]:
    """The selected patches with paths that the archive of ``base`` does not cover, and those."""
    for patch in selection.patches:
        outside = tuple(path for path in patch.paths if not base.covers(path))
        if outside:
            yield patch, outside


def without_uncovered(
    selection: Selection, base: Base, kept: Callable[[str], bool]
) -> tuple[Selection, tuple[str, ...]]:
    """The selection without uncovered patches that touch no ``kept`` path; their names, sorted."""
    outside = {
        patch.name
        for patch, _ in uncovered(selection, base)
        if not any(kept(path) for path in patch.paths)
    }
    if not outside:
        return selection, ()
    directory = selection.directory
    series = directory.series.without(outside)
    return replace(selection, directory=replace(directory, series=series)), tuple(sorted(outside))


def uncovered_words(base: Base, paths: Sequence[str]) -> str:
    """That an archive does not hold ``paths``."""
    file = base.archive.file if base.archive else base.name
    verb = "is" if len(paths) == 1 else "are"
    return f"{', '.join(paths)} {verb} not covered by {file}, which {base.name} was imported from"


def put_in_place(project: Project, selection: Selection, fuzz: int = 0) -> Subject:
    """Apply the selection strictly to its base; with ``fuzz``, where that does not do, with it.

    Raises :class:`~patchq.engine.series.stack.PatchRefusedError` if a patch does not apply, and
    :class:`~patchq.errors.InputError` if the recipe is malformed.
    """
    base = project.lock.base(selection.directory.tag)
    project.store.require((base,))
    return Subject(
        project,
        selection,
        base,
        recipe_of(selection.directory),
        stand(project, base, selection.patches, fuzz),
    )


def stand(
    project: Project, base: Base, patches: Sequence[Patch], fuzz: int = 0
) -> tuple[PatchStep, ...]:
    """Each patch on the base and the patches before it; raises as :func:`put_in_place` does."""
    stack, tree = Stack(project.store), base.tree
    steps = []
    for patch in patches:
        needed, applied = _with_fuzz(stack, tree, patch, base, fuzz)
        steps.append(PatchStep(patch, tree, applied, needed))
        tree = applied.tree
    return tuple(steps)


def _with_fuzz(
    stack: Stack, tree: TreeId, patch: Patch, base: Base, most: int
) -> tuple[int, Applied]:
    """The least fuzz with which the patch applies, and the patch applied."""
    for fuzz in range(1, most + 1):
        if not isinstance(stack.try_apply(tree, patch), Refused):
            break
        applied = stack.try_apply(tree, patch, fuzz=fuzz)
        if not isinstance(applied, Refused):
            return fuzz, applied
    return 0, stack.apply(tree, patch, onto=base.name)
