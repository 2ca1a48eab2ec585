"""The commit between two bases from which on upstream requires what it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from patchq.engine.verify.requirement_changes import Key, cmake_files, fetched_by, specifiers_of
from patchq.engine.verify.requirements import sources
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.history import CommitInfo
from patchq.model.ids import TreeId
from patchq.model.recipe import Recipe
from patchq.model.requirements import RequirementChange, RequirementKind
from patchq.model.verdict import Evidence, EvidenceKind


class RequirementCommits:
    """Finds it by the states of the files that say so; ``recipe`` names them."""

    def __init__(self, project: Project, span: UpstreamRange, recipe: Recipe):
        self._project = project
        self._span = span
        self._recipe = recipe
        self._found: dict[tuple[TreeId, bool], Mapping[Key, str]] = {}

    def evidence(self, change: RequirementChange) -> tuple[Evidence, ...]:
        """The commit of ``change`` as evidence; none if no single file of the tree tells it."""
        if change.kind is RequirementKind.ARCHS:  # asking it of every commit runs CMake each time
            return ()
        is_fetched = change.kind is RequirementKind.FETCHED
        key = (change.name, change.kind, change.condition)

        def holds(commit: CommitInfo) -> bool:
            return self._at(commit.tree, is_fetched).get(key) == change.new

        paths = self._cmake_files if is_fetched else sources(self._recipe)
        commit = self._span.since(paths, holds)
        if commit is None:
            return ()
        return (self._span.evidence(EvidenceKind.REQUIREMENT, change.text, commit),)

    def _at(self, tree: TreeId, is_fetched: bool) -> Mapping[Key, str]:
        if (tree, is_fetched) not in self._found:
            base = replace(self._span.new, tree=tree)
            read = fetched_by if is_fetched else specifiers_of
            self._found[tree, is_fetched] = read(self._project, base, self._recipe) or {}
        return self._found[tree, is_fetched]

    @cached_property
    def _cmake_files(self) -> tuple[str, ...]:
        objects, directory = self._span.store.objects, self._recipe.project
        return cmake_files(objects, self._span.new.tree, directory) if directory else ()
