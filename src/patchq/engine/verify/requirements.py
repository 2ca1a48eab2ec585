"""What a base of upstream requires: by its project files, or by the metadata of its archive."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from packaging.markers import (
    UndefinedComparison,
    UndefinedEnvironmentName,
    default_environment,
)
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from patchq.errors import Where
from patchq.model.lock import Base
from patchq.model.recipe import Recipe
from patchq.model.requirements import RequirementKind
from patchq.model.settings import Target

PYPROJECT = "pyproject.toml"

Reader = Callable[[str], bytes | None]
"""The content of a path of the tree, None if there is none."""

_NOT_TOML = (ValueError, RecursionError)
# how metadata says of which extra a requirement is
_OF_EXTRA = re.compile(r'(?: and )?extra == "([^"]*)"')


@dataclass(frozen=True)
class Asked:
    """What upstream asks for, and where it says so: the extras and marker of PEP 508 with it."""

    specifier: str
    where: Where
    extras: frozenset[str] = frozenset()
    marker: str = ""


@dataclass(frozen=True)
class RequirementLine:
    """One requirement as it stands in a file: ``kind`` says for what, ``extra`` for which extra."""

    requirement: Requirement
    kind: RequirementKind
    where: Where
    extra: str | None = None

    @property
    def name(self) -> str:
        """Its canonical name."""
        return canonicalize_name(self.requirement.name)

    @property
    def condition(self) -> str | None:
        """The extra and the marker that it depends on, None for neither."""
        marker = _plain_marker(self.requirement)
        return "; ".join(filter(None, (self.extra and f"extra {self.extra}", marker))) or None


@dataclass(frozen=True)
class Requirements:
    """What one base requires.

    ``read`` gives files of its tree; ``metadata`` are the lines of its archive's ``Requires-Dist``
    (Core metadata specifications of packaging.python.org), None if it has none or is from git.
    """

    base: str
    recipe: Recipe
    read: Reader
    metadata: tuple[str, ...] | None = None
    archive: str = ""
    targets: Sequence[Target] = field(default=())

    @classmethod
    def of(
        cls, base: Base, recipe: Recipe, read: Reader, targets: Sequence[Target] = ()
    ) -> Requirements:
        """Those of ``base``, whose tree ``read`` reads."""
        archive = base.archive
        return cls(
            base.name,
            recipe,
            read,
            archive.requires if archive else None,
            archive.file if archive else "",
            targets,
        )

    @property
    def known(self) -> bool:
        """Whether anything says what it requires."""
        return self.metadata is not None or any(self.read(path) for path in sources(self.recipe))

    @cached_property
    def lines(self) -> tuple[RequirementLine, ...]:
        """Every requirement: those of packages, then of their extras, then of their builds."""
        found = [*self._of_files(), *self._of_archive()]
        order = list(RequirementKind)
        return tuple(sorted(found, key=lambda line: order.index(line.kind)))

    @cached_property
    def asked(self) -> Mapping[str, Asked]:
        """What is required on the machine of the first target, by canonical name; the first counts.

        Requirements of the packages come before those of extras and builds (PEP 508, 518, 621).
        """
        environment = _environment(self.targets)
        found: dict[str, Asked] = {}
        for line in self.lines:
            if _holds(line, environment):
                wanted = line.requirement
                marker = _plain_marker(wanted)
                extras = frozenset(wanted.extras)
                asked = Asked(str(wanted.specifier), line.where, extras, marker)
                found.setdefault(line.name, asked)
        return found

    def _of_files(self) -> Iterator[RequirementLine]:
        for path in sources(self.recipe):
            raw = self.read(path) or b""
            project = _table(raw, "project")
            yield from _lines(path, raw, project.get("dependencies"), RequirementKind.PACKAGE)
            extras = project.get("optional-dependencies")
            for extra, texts in extras.items() if isinstance(extras, dict) else ():
                yield from _lines(path, raw, texts, RequirementKind.EXTRA, extra)
            build = _table(raw, "build-system").get("requires")
            yield from _lines(path, raw, build, RequirementKind.BUILD)

    def _of_archive(self) -> Iterator[RequirementLine]:
        if self.metadata is None or any(self.read(path) for path in self.recipe.pyprojects):
            return
        where = Where(f"METADATA of {self.archive}")
        for text in self.metadata:
            requirement = _requirement(text)
            if requirement is not None:
                of_extra = _OF_EXTRA.search(str(requirement.marker or ""))
                kind = RequirementKind.EXTRA if of_extra else RequirementKind.PACKAGE
                yield RequirementLine(requirement, kind, where, of_extra[1] if of_extra else None)


def sources(recipe: Recipe) -> tuple[str, ...]:
    """The files in which the tag says what it requires: the recipe's, then the project's own."""
    own = () if recipe.project is None else (project_file(recipe.project),)
    return tuple(dict.fromkeys((*recipe.pyprojects, *own)))


def project_file(directory: str) -> str:
    """The ``pyproject.toml`` of the project in ``directory``."""
    return f"{directory}/{PYPROJECT}".removeprefix("./")


def own_version(recipe: Recipe, read: Reader) -> str | None:
    """The version that the recipe's project gives itself, None if it does not say one."""
    if recipe.project is None:
        return None
    version = _table(read(project_file(recipe.project)) or b"", "project").get("version")
    return version if isinstance(version, str) else None


def unreadable(path: str, raw: bytes | None) -> Iterator[str]:
    """Why ``path`` with the content ``raw`` does not say what is required; nothing if it does."""
    if raw is None:
        yield f"the tag has no {path}, where it is to say what it requires"
        return
    try:
        tomllib.loads(raw.decode())
    except _NOT_TOML as error:
        yield f"{path} cannot be read: {error}"


def _lines(
    path: str, raw: bytes, texts: object, kind: RequirementKind, extra: str | None = None
) -> Iterator[RequirementLine]:
    for text in texts if isinstance(texts, list) else ():
        requirement = _requirement(text) if isinstance(text, str) else None
        if requirement is not None:
            yield RequirementLine(requirement, kind, Where(path, _number(raw, text)), extra)


def _plain_marker(requirement: Requirement) -> str:
    """Its marker without the extra that metadata puts into it."""
    marker = str(requirement.marker or "")
    plain = _OF_EXTRA.sub("", marker)
    whole = plain != marker and plain.startswith("(") and plain.endswith(")")
    return plain[1:-1] if whole else plain


def _requirement(text: str) -> Requirement | None:
    """The requirement in ``text``; one that only its author can make sense of is skipped."""
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def _holds(line: RequirementLine, environment: dict[str, str]) -> bool:
    """Whether its marker does; one that only its author can make sense of does not."""
    if line.requirement.marker is None:
        return True
    try:
        return line.requirement.marker.evaluate({**environment, "extra": line.extra or ""})
    except (UndefinedComparison, UndefinedEnvironmentName):
        return False


def _table(raw: bytes, name: str) -> Mapping[str, object]:
    try:
        table = tomllib.loads(raw.decode()).get(name)
    except _NOT_TOML:
        return {}
    return table if isinstance(table, dict) else {}


def _environment(targets: Sequence[Target]) -> dict[str, str]:
    environment = {**default_environment(), "sys_platform": "linux", "platform_system": "Linux"}
    environment["os_name"] = "posix"
    if targets:
        environment["platform_machine"] = targets[0].processor
    return {name: str(value) for name, value in environment.items()}


def _number(raw: bytes, text: str) -> int | None:
    position = raw.find(text.encode())
    return None if position < 0 else raw.count(b"\n", 0, position) + 1
