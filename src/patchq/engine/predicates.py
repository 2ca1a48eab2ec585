"""What a predicate says of a tree: of its files, a gate in its code, or what its build makes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING

from patchq.engine.build.architectures import in_order
from patchq.engine.build.project_dir import known_directories, project_at
from patchq.engine.workspace.project import Project
from patchq.errors import PatchqError, UnavailableError
from patchq.model.ids import TreeId
from patchq.model.predicate import Predicate, PredicateKind
from patchq.model.settings import Target

if TYPE_CHECKING:
    from patchq.engine.build.evaluate import Prober
    from patchq.model.verification import BuiltTarget


@dataclass(frozen=True)
class Truth:
    """Whether a predicate holds, None if that is not known; ``words`` say why, or what was seen."""

    holds: bool | None
    words: str = ""


class Predicates:
    """Asks predicates of the trees of a project's upstream, patched or not."""

    def __init__(self, project: Project):
        self._project = project

    @cached_property
    def _prober(self) -> Prober:
        from patchq.engine.build.evaluate import Prober

        project = self._project
        return Prober(project.store, project.settings.checks.build, project.cache)

    def ask(
        self,
        predicate: Predicate,
        tree: TreeId,
        path: str | None = None,
        *,
        directories: Sequence[str] | None = None,
        base: str | None = None,
    ) -> Truth:
        """Whether ``predicate`` holds on ``tree``, where its path is called ``path``.

        ``directories`` are where the CMake project may lie, those that the recipes name by default;
        ``base`` is the unpatched tree whose trust counts, ``tree`` itself by default.
        A gate is not known if its function is not there, the settings say nothing of its target, or
        a condition hangs on more than that; an architecture, if the build cannot be evaluated or
        has no such library.
        """
        if predicate.kind is PredicateKind.ARCH:
            return self._arch(predicate, tree, directories, base or tree)
        if predicate.path is None:
            return Truth(predicate.kind is PredicateKind.ALWAYS)
        path = path or predicate.path
        content = self._project.store.objects.content(tree, path)
        if predicate.kind is PredicateKind.GATE:
            return self._gate(predicate, path, content)
        return Truth(predicate.holds_on(content))

    def depends_on(self, predicate: Predicate) -> object:
        """What an answer depends on besides the tree, for keys of kept answers."""
        settings, target = self._project.settings, predicate.target
        if target is None:
            return None
        if predicate.kind is PredicateKind.GATE:
            return repr(settings.release.facts(target))
        return repr([settings.target(target), settings.checks.build])

    def _gate(self, predicate: Predicate, path: str, content: bytes | None) -> Truth:
        function, target, wanted = predicate.operands
        facts = self._project.settings.release.facts(target)
        if facts is None:
            return Truth(None, f"patchq.yaml has no gates of {target}")
        if content is None or not _defines(content, function):
            return Truth(None, f"there is no {function} in {predicate.path}")
        from patchq.engine.languages.conditions import admits, python_conditions

        conditions = python_conditions(content, facts.at(path), facts.known)
        admitted = admits(conditions, function)
        if admitted is None:
            return Truth(None, f"a gate of {function} hangs on more than the target")
        return Truth(admitted is (wanted == "admits"))

    def _arch(
        self, predicate: Predicate, tree: TreeId, directories: Sequence[str] | None, base: str
    ) -> Truth:
        name, libraries, relation, arch = predicate.operands
        target = self._project.settings.target(name)
        if target is None:
            return Truth(None, f"patchq.yaml has no target {name}")
        places = known_directories(self._project) if directories is None else directories
        try:
            built = self._built(tree, target, places, base)
        except UnavailableError:
            raise
        except PatchqError as error:
            return Truth(None, error.message)
        meant = [each for each in built if _named(each.name, libraries)]
        if not meant:
            return Truth(None, f"no CUDA target {libraries} is built for {name}")
        words = "; ".join(f"{names}: {archs}" for archs, names in _alike(meant).items())
        if relation == "has":
            return Truth(all(arch in each.archs for each in meant), words)
        only = all(set(group.archs) == {arch} for each in meant for group in each.cuda)
        return Truth(only, words)

    def _built(
        self, tree: TreeId, target: Target, directories: Sequence[str], base: str
    ) -> tuple[BuiltTarget, ...]:
        """The CUDA targets of the project in the first of ``directories`` that has one."""
        for directory in directories:
            project = project_at(self._project.store.objects, tree, directory)
            if project is not None:
                break
        else:
            raise PatchqError(f"there is no CMake project in {', '.join(directories) or 'it'}")
        trusted = any(record.tree == base for record in self._project.workspace.trust())
        from patchq.engine.build.evaluate import BuildQuestion

        build = self._prober.probe(BuildQuestion(project, directory, target, trusted=trusted))
        for problem in build.problems:
            raise PatchqError(f"its build could not be evaluated: {problem}")
        return build.cuda_targets


def _named(library: str, globs: str) -> bool:
    return any(fnmatchcase(library, glob.strip()) for glob in globs.split(","))


def _alike(built: Sequence[BuiltTarget]) -> Mapping[str, str]:
    """The names of the libraries by what they are compiled for."""
    names: dict[str, list[str]] = {}
    for each in built:
        archs = " ".join(in_order(each.archs)) or "nothing named"
        names.setdefault(archs, []).append(each.name)
    return {archs: ", ".join(found) for archs, found in names.items()}


def _defines(content: bytes, function: str) -> bool:
    name = re.escape(function.rpartition(".")[2].encode())
    return (
        re.search(rb"^[ \t]*(?:async[ \t]+)?def[ \t]+" + name + rb"\b", content, re.M) is not None
    )
