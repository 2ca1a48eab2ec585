"""How what upstream requires differs between two of its bases, fetched sources included."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from posixpath import basename

from patchq.engine.languages.cmake_text import LISTS, is_cmake
from patchq.engine.verify.requirements import RequirementLine, Requirements
from patchq.engine.verify.wheel.check import processor_of
from patchq.engine.workspace.project import Project
from patchq.errors import PatchqError, UnavailableError
from patchq.git.objects import Objects
from patchq.model.ids import TreeId
from patchq.model.lock import Base
from patchq.model.pins import Pin
from patchq.model.recipe import Recipe
from patchq.model.requirements import RequirementChange, RequirementChanges, RequirementKind
from patchq.model.wheel import read_library_line

_DECLARE = re.compile(rb"\bFetchContent_Declare\s*\(\s*([\w.+-]+)([^()]*)\)", re.IGNORECASE)
_COMMENT = re.compile(rb"#[^\n]*")
_VALUE = re.compile(rb"\b(URL|GIT_TAG|GIT_REPOSITORY)\s+\"?([^\s\"]+)")
_ARCHIVE = re.compile(r"\.(?:tar(?:\.\w+)?|tgz|txz|zip)$")
_COMMIT = re.compile(r"[0-9a-f]{40}")

Key = tuple[str, RequirementKind, str | None]


def requirement_changes(
    project: Project, old: tuple[Base, Recipe], new: tuple[Base, Recipe]
) -> RequirementChanges:
    """What ``new`` requires beside ``old``; what the recipe pins too comes first.

    A requirement counts whatever its marker says: another target may need it. Sources that a build
    fetches are read from CMake files without evaluating them.
    """
    before, after = (_requirements(project, base, recipe) for base, recipe in (old, new))
    sides = ((before, old[0]), (after, new[0]))
    unknown = [
        f"what {side.base} requires is not known: import its archive again to keep its metadata"
        for side, base in sides
        if not side.known and base.archive
    ]
    pins = {pin.name: pin for pin in new[1].pins}
    changes = (
        list(_changes(_specifiers(before), _specifiers(after)))
        if before.known and after.known
        else []
    )
    for side, base in sides:
        # a wheel tells what it needs to run, and not what it was built with
        if base.archive and not any(line.kind is RequirementKind.BUILD for line in side.lines):
            left = [change for change in changes if change.kind is not RequirementKind.BUILD]
            if len(left) < len(changes):
                unknown.append(f"what the build of {base.name} requires is not known")
            changes = left
    sources = [fetched_by(project, base, recipe) for base, recipe in (old, new)]
    if sources[0] is not None and sources[1] is not None:
        changes += _changes(sources[0], sources[1])
    elif any(found is not None for found in sources):
        missing = old[0].name if sources[0] is None else new[0].name
        unknown.append(f"what the build of {missing} fetches is not known")
    built, not_built = _built_for(project, old, new)
    changes += built
    unknown += not_built
    marked = [_with_pin(change, pins.get(change.name)) for change in changes]
    order = list(RequirementKind)
    ordered = sorted(marked, key=lambda c: (c.pin is None, order.index(c.kind), c.name))
    return RequirementChanges(tuple(ordered), tuple(unknown))


def _built_for(
    project: Project, *sides: tuple[Base, Recipe]
) -> tuple[list[RequirementChange], list[str]]:
    """What upstream's own CUDA targets are compiled for, where that differs, and what is not known.

    A patch that filters the list carries cleanly whatever upstream does to it.
    """
    found = []
    for base, recipe in sides:
        if recipe.project is None or not project.settings.targets:
            return [], []
        if not base.covers(f"{recipe.project}/{LISTS}".removeprefix("./")):
            wheels = [_libraries_of_wheels(side, of.project) for side, of in sides]
            if all(wheels):
                return list(_changes(*wheels)), []
            return [], [f"which architectures {base.name} is built for is not known"]
        try:
            from patchq.engine.verify.build.check import architectures

            found.append(architectures(project, base, recipe.project))
        except UnavailableError:
            raise
        except PatchqError as error:
            return [], [f"which architectures {base.name} is built for: {error.message}"]
    old, new = found
    differing: dict[tuple[str, str | None, str | None], list[str]] = {}
    for target, name in {**old, **new}:
        before, after = old.get((target, name)), new.get((target, name))
        if before != after:
            differing.setdefault((name, before, after), []).append(target)
    alike: dict[tuple[str | None, str | None, str], list[str]] = {}
    for (name, before, after), targets in differing.items():
        alike.setdefault((before, after, ", ".join(targets)), []).append(name)
    return [
        RequirementChange(", ".join(names), RequirementKind.ARCHS, before, after, targets)
        for (before, after, targets), names in alike.items()
    ], []


def _libraries_of_wheels(base: Base, directory: str | None) -> dict[Key, str]:
    """What the libraries of upstream's own wheels, built from ``directory``, hold code for."""
    found = dict[Key, str]()
    for wheel in base.archive.built if base.archive else ():
        if wheel.directory == directory:
            for library in map(read_library_line, wheel.libraries):
                archs = [arch.removeprefix("sm_") for arch in (*library.cubins, *library.ptx)]
                path, processor = library.path, processor_of(wheel.file)
                found[path, RequirementKind.ARCHS, processor] = " ".join(archs)
    return found


def _with_pin(change: RequirementChange, pin: Pin | None) -> RequirementChange:
    return replace(change, pin=pin.specifier, reason=pin.reason) if pin else change


def _requirements(project: Project, base: Base, recipe: Recipe) -> Requirements:
    def read(path: str) -> bytes | None:
        return project.store.objects.content(base.tree, path)

    return Requirements.of(base, recipe, read, project.settings.targets)


def _specifiers(side: Requirements) -> dict[Key, str]:
    """The specifiers by name, kind and condition; of several lines for one, all of them."""
    found: dict[Key, str] = {}
    for line in side.lines:
        key = _key(line)
        text = str(line.requirement.specifier) or (line.requirement.url or "")
        found[key] = f"{found[key]} | {text}" if key in found and found[key] != text else text
    return found


def _key(line: RequirementLine) -> Key:
    return line.name, line.kind, line.condition


def _changes(old: Mapping[Key, str], new: Mapping[Key, str]) -> Iterator[RequirementChange]:
    for key in {**old, **new}:
        name, kind, condition = key
        if old.get(key) != new.get(key):
            yield RequirementChange(name, kind, old.get(key), new.get(key), condition)


def specifiers_of(project: Project, base: Base, recipe: Recipe) -> dict[Key, str]:
    """The specifier of each requirement of ``base``, by name, kind and condition."""
    return _specifiers(_requirements(project, base, recipe))


def cmake_files(objects: Objects, tree: TreeId, directory: str) -> tuple[str, ...]:
    """The files of the project in ``directory`` that may declare what a build of it fetches."""
    entry = None if directory == "." else objects.entry(tree, directory)
    if directory != "." and (entry is None or not entry.is_tree):
        return ()
    paths = (path for path, _ in objects.walk(entry.tree_id if entry else tree))
    inside = "" if directory == "." else f"{directory}/"
    return tuple(sorted(f"{inside}{path}" for path in paths if is_cmake(path)))


def fetched_by(project: Project, base: Base, recipe: Recipe) -> dict[Key, str] | None:
    """The revisions of what the project of the recipe declares to fetch; None: not known."""
    if recipe.project is None:
        return {}
    objects = project.store.objects
    if not base.covers(f"{recipe.project}/{LISTS}".removeprefix("./")):
        return None
    if recipe.project != "." and objects.entry(base.tree, recipe.project) is None:
        return None
    lists = cmake_files(objects, base.tree, recipe.project)
    return dict(_declared(objects.content(base.tree, path) or b"" for path in lists))


def _declared(contents: Iterable[bytes]) -> Iterator[tuple[Key, str]]:
    for content in contents:
        for match in _DECLARE.finditer(_COMMENT.sub(b"", content)):
            found = _VALUE.findall(match[2])
            values = {key.decode(): value.decode(errors="replace") for key, value in found}
            text = values.get("GIT_TAG") or _revision(values.get("URL", ""))
            if text:
                yield (match[1].decode(), RequirementKind.FETCHED, None), text


def _revision(url: str) -> str:
    """What tells one archive of a repository from another: its name, a commit shortened."""
    name = _ARCHIVE.sub("", basename(url))
    return name[:12] if _COMMIT.fullmatch(name) else name
