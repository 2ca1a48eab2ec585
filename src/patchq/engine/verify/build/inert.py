"""Since which commit an inert patch has had nothing to do on a target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from patchq.engine.build.evaluate import BuildQuestion, Prober
from patchq.engine.build.project_dir import directory_in, project_at
from patchq.engine.languages.cmake_text import is_cmake
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.upstream_range import upstream_range
from patchq.errors import UpstreamError
from patchq.model.ids import TreeId
from patchq.model.lock import Base
from patchq.model.settings import Target
from patchq.model.verdict import Evidence, EvidenceKind
from patchq.model.verification import Change


@dataclass(frozen=True)
class InertSince:
    """Looks back from ``base`` for a commit after which upstream builds as a patch asks."""

    project: Project
    base: Base
    prober: Prober

    def since(self, target: Target, purpose: Sequence[Change]) -> Evidence | None:
        """The commit from which on ``target`` is built as after ``purpose`` without the patch.

        ``purpose`` is what the patch changes for a target that it acts on. None if upstream
        does not build so on the base, has done so on every base that can be asked, or where no
        commit shows the difference.
        """
        new: Base | None = None
        try:
            for old in self._bases():
                done = self._done(old.tree, target, purpose)
                if done is False and new:
                    return self._commit(old, new, target, purpose)
                if not done:
                    return None
                new = old
        except UpstreamError:  # a base or a blob that the store does not have
            return None
        return None

    def _bases(self) -> Iterator[Base]:
        """The bases with history, from ours back."""
        for base in reversed((*self.project.lock.previous(self.base.name), self.base)):
            if base.archive is None:
                yield base

    def _commit(
        self, old: Base, new: Base, target: Target, purpose: Sequence[Change]
    ) -> Evidence | None:
        span = upstream_range(self.project, old.name, new.name)
        paths = sorted({path for base in (old, new) for path in self._cmake_files(base.tree)})
        found = None
        for commit in reversed(span.commits(paths)):
            done = self._done(commit.tree, target, purpose)
            if done is None:
                return None
            if not done:
                break
            found = commit
        text = f"since then upstream builds for {target.name} as the patch asks"
        return span.evidence(EvidenceKind.MERGED, text, found) if found else None

    def _done(self, tree: TreeId, target: Target, purpose: Sequence[Change]) -> bool | None:
        """Whether a tree builds as asked; None if that is not known."""
        found = self._located(tree)
        if found is None:
            return None
        directory, project = found
        build = self.prober.probe(BuildQuestion(project, directory, target))
        return None if build.problems else all(change.done_in(build) for change in purpose)

    def _cmake_files(self, tree: TreeId) -> Iterator[str]:
        found = self._located(tree)
        if found is not None:
            directory, project = found
            for path, _ in self.project.store.objects.walk(project):
                if is_cmake(path):
                    yield f"{directory}/{path}"

    def _located(self, tree: TreeId) -> tuple[str, TreeId] | None:
        directory = directory_in(self.project, tree)
        if directory is None:
            return None
        project = project_at(self.project.store.objects, tree, directory)
        return (directory, project) if project else None
