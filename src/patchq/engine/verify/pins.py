"""The downstream's pins beside what the upstream tag itself asks for."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from packaging.markers import (
    UndefinedComparison,
    UndefinedEnvironmentName,
    default_environment,
)
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from patchq.engine.verify.subject import Subject
from patchq.engine.workspace.project import Project
from patchq.errors import Where
from patchq.model.pins import Pin, PinState, compare_pin
from patchq.model.recipe import Recipe, read_recipe
from patchq.model.settings import Target
from patchq.model.verification import Failure, Remark, Section

NAME = "pins"
PYPROJECT = "pyproject.toml"

Reader = Callable[[str], bytes | None]
"""The content of a path of the tree, None where there is none."""

_WORDS = {
    PinState.EQUAL: "equal",
    PinState.INSIDE: "inside upstream's range",
    PinState.AHEAD: "ahead of upstream",
    PinState.BEHIND: "behind upstream",
    PinState.OUTSIDE: "outside upstream's range",
    PinState.FREE: "upstream takes any version",
    PinState.ABSENT: "upstream does not ask for it",
    PinState.INCOMPARABLE: "cannot be compared as a version",
}
_NOT_TOML = (ValueError, RecursionError)
_TO_DECIDE = (PinState.BEHIND, PinState.OUTSIDE)


@dataclass(frozen=True)
class Asked:
    """What upstream asks for, and where it says so."""

    specifier: str
    where: Where


@dataclass(frozen=True)
class Compared:
    """A pin beside upstream's; None: upstream does not ask for the package."""

    pin: Pin
    asked: Asked | None

    @property
    def standing(self) -> PinState:
        """How the one stands to the other."""
        return compare_pin(self.pin.specifier, self.asked.specifier if self.asked else None)

    @property
    def text(self) -> str:
        """The comparison in words."""
        standing = self.standing
        theirs = ""
        if self.asked and self.asked.specifier:
            theirs = f", upstream has {self.asked.specifier}"
            if standing is PinState.INCOMPARABLE:
                theirs += f" ({self.asked.where})"
        return f"{self.pin.name}{self.pin.specifier}: {_WORDS[standing]}{theirs}"


def check(subject: Subject) -> Section:
    """Compare the recipe's pins, and those of each variant, with the tag's own.

    A pin may well differ from upstream's: what there is to decide is a note. A file that the
    recipe names and the tag has not, or that cannot be read, is a failure.
    """
    recipe = subject.recipe
    read: Reader = subject.before
    failures = [
        Failure(text, recipe.where)
        for path in sources(recipe)
        if subject.coverage.covers_path(path)
        # a project need not have one; what the recipe names has to be there
        and (path in recipe.pyprojects or read(path) is not None)
        for text in _unreadable(path, read(path))
    ]
    compared = compare_pins(recipe, recipe.pins, read, subject.project.settings.targets)
    rows = [Remark(row.text, row.pin.where) for row in compared]
    for variant in recipe.variants.values():
        for row in compare_pins(recipe, variant.pins, read, subject.project.settings.targets):
            rows.append(Remark(f"{row.text} (variant {variant.name})", row.pin.where))
    open_rows = sum(row.standing in _TO_DECIDE for row in compared)
    summary = f"{len(compared)} pins, {open_rows} behind or outside of upstream's range"
    return Section(NAME, summary, tuple(failures), tuple(rows), skipped=not rows and not failures)


def compare_pins(
    recipe: Recipe, pins: Iterable[Pin], read: Reader, targets: Sequence[Target] = ()
) -> tuple[Compared, ...]:
    """Each pin beside what the tag asks for on the machine of the first of ``targets``."""
    asked = required(recipe, read, targets)
    return tuple(Compared(pin, _of_source(pin, read) or asked.get(pin.name)) for pin in pins)


def required(recipe: Recipe, read: Reader, targets: Sequence[Target] = ()) -> Mapping[str, Asked]:
    """What the tag's ``pyproject.toml`` files require, by canonical name; the first one counts.

    Requirements of the packages come before those of their builds, and requirements without an
    extra before those with one (PEP 508, PEP 518, PEP 621).
    """
    environment = _environment(targets)
    found: dict[str, Asked] = {}
    for path in sources(recipe):
        raw = read(path) or b""
        for text in _requirements(raw):
            try:
                requirement = Requirement(text)
            except InvalidRequirement:
                continue
            if _holds(requirement, environment):
                place = Where(path, _line(raw, text))
                name = canonicalize_name(requirement.name)
                found.setdefault(name, Asked(str(requirement.specifier), place))
    return found


def _holds(requirement: Requirement, environment: dict[str, str]) -> bool:
    """Whether its marker does; one that only its author can make sense of does not."""
    if requirement.marker is None:
        return True
    try:
        return requirement.marker.evaluate(environment)
    except (UndefinedComparison, UndefinedEnvironmentName):
        return False


def sources(recipe: Recipe) -> tuple[str, ...]:
    """The files in which the tag says what it requires: the recipe's, then the project's own."""
    own = () if recipe.project is None else (project_file(recipe.project),)
    return tuple(dict.fromkeys((*recipe.pyprojects, *own)))


def project_file(directory: str) -> str:
    """The ``pyproject.toml`` of the project in ``directory``."""
    return f"{directory}/{PYPROJECT}".removeprefix("./")


def own_version(recipe: Recipe, read: Reader) -> str | None:
    """The version that the recipe's project gives itself, None where it does not say one."""
    if recipe.project is None:
        return None
    version = _table(read(project_file(recipe.project)) or b"", "project").get("version")
    return version if isinstance(version, str) else None


def misfits_of(project: Project, tag: str) -> tuple[Remark, ...]:
    """What of the recipe of the series on ``tag`` does not fit that tag."""
    directory = project.workspace.load(tag)
    where = Where(f"series/{tag}/recipe.yaml")
    tree, objects = project.lock.base(tag).tree, project.store.objects

    def has_directory(path: str) -> bool:
        entry = objects.entry(tree, path)
        return entry is not None and entry.is_tree

    recipe = read_recipe(directory.recipe, where)
    return tuple(misfits(recipe, lambda path: objects.content(tree, path), has_directory))


def misfits(recipe: Recipe, read: Reader, has_directory: Callable[[str], bool]) -> Iterator[Remark]:
    """What of a recipe that was carried on does not fit the new tag any more."""
    if recipe.project is not None and not has_directory(recipe.project):
        yield Remark(f"the tag has no directory {recipe.project}", recipe.where)
    for path in recipe.pyprojects:
        if read(path) is None:
            yield Remark(f"the tag has no {path}", Where(recipe.where.file))
    pins = [*recipe.pins, *(pin for variant in recipe.variants.values() for pin in variant.pins)]
    for pin in pins:
        if pin.source is not None and _of_source(pin, read) is None:
            text = f"{pin.source.file} of the tag does not say the version of {pin.name}"
            yield Remark(text, pin.where)


def _unreadable(path: str, raw: bytes | None) -> Iterator[str]:
    if raw is None:
        yield f"the tag has no {path}, where it is to say what it requires"
        return
    try:
        tomllib.loads(raw.decode())
    except _NOT_TOML as error:
        yield f"{path} cannot be read: {error}"


def _requirements(raw: bytes) -> Iterator[str]:
    project = _table(raw, "project")
    yield from _texts(project.get("dependencies"))
    optional = project.get("optional-dependencies")
    for extra in optional.values() if isinstance(optional, dict) else ():
        yield from _texts(extra)
    yield from _texts(_table(raw, "build-system").get("requires"))


def _texts(items: object) -> Iterator[str]:
    for item in items if isinstance(items, list) else ():
        if isinstance(item, str):
            yield item


def _table(raw: bytes, name: str) -> Mapping[str, object]:
    try:
        table = tomllib.loads(raw.decode()).get(name)
    except _NOT_TOML:
        return {}
    return table if isinstance(table, dict) else {}


def _of_source(pin: Pin, read: Reader) -> Asked | None:
    """What upstream says in the file that the pin names; it need not be a version."""
    if pin.source is None:
        return None
    raw = read(pin.source.file) or b""
    match = re.search(pin.source.pattern, raw.decode("utf-8", "replace"))
    if match is None or not match[1]:
        return None
    line = match.string.count("\n", 0, match.start(1)) + 1
    return Asked(_exactly(match[1]), Where(pin.source.file, line))


def _exactly(text: str) -> str:
    """The specifier of just this version, or of a text that is none (``===``)."""
    try:
        return str(SpecifierSet(f"=={text}"))
    except InvalidSpecifier:
        return f"==={text}"


def _environment(targets: Sequence[Target]) -> dict[str, str]:
    environment = {**default_environment(), "sys_platform": "linux", "platform_system": "Linux"}
    environment |= {"os_name": "posix", "extra": ""}
    if targets:
        environment["platform_machine"] = targets[0].processor
    return {name: str(value) for name, value in environment.items()}


def _line(raw: bytes, text: str) -> int | None:
    position = raw.find(text.encode())
    return None if position < 0 else raw.count(b"\n", 0, position) + 1
