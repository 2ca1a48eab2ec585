"""A shell recipe (``KEY=VALUE`` lines that a build script sources) as a recipe of patchq.

``X_VERSION`` pins a package that upstream requires, ``X_MIN_VERSION`` is its floor, a directory
with a CMake project is the project, ``APPLY_X=1`` turns guards on. What else it says is listed:
nothing is left out without a word.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePath

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from patchq.engine.workspace.project import Project
from patchq.git.objects import Objects
from patchq.model.lock import Base
from patchq.model.series import Series

_SETTING = re.compile(r"\s*(?:export\s+|ARG\s+|ENV\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)$")
_PIN = re.compile(r"(.+?)_(MIN_)?VERSION$")
_VERSION = re.compile(r"v?\d+(?:\.\w+)*(?:[+-]\w+(?:\.\w+)*)?$")
_GATE = re.compile(r"(?:APPLY|ENABLE|WITH|USE)_(.+)$")
_PYPROJECT = "pyproject.toml"
_OFF = ("0", "", "no", "false", "off")


@dataclass(frozen=True)
class Unmapped:
    """A line that has no place in the recipe, and why."""

    line: int
    text: str
    why: str


@dataclass(frozen=True)
class ShellRecipe:
    """What was read; ``variant`` is the name for its gates, ``gates`` the guards they turn on."""

    pins: Mapping[str, str]
    project: str | None
    pyprojects: tuple[str, ...]
    variant: str
    gates: tuple[str, ...]
    unmapped: tuple[Unmapped, ...]


def read_shell_recipe(
    project: Project, base: Base, series: Series, file: str, raw: bytes
) -> ShellRecipe:
    """What the recipe in ``raw`` means for ``base`` and the series on it."""
    reader = _Reader(project.store.objects, base, series)
    for number, line in enumerate(raw.decode(errors="replace").split("\n"), 1):
        match = _SETTING.match(line)
        if match and not line.lstrip().startswith("#"):
            reader.take(number, match[1], _value(match[2]))
        elif line.strip() and not line.lstrip().startswith("#"):
            reader.leave(number, line.strip(), "not a setting KEY=VALUE")
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", PurePath(file).stem).strip("-.")
    return ShellRecipe(
        reader.pins,
        reader.project,
        tuple(sorted(reader.pyprojects)),
        name or "recipe",
        tuple(dict.fromkeys(reader.gates)),
        tuple(reader.unmapped),
    )


def render_recipe(recipe: ShellRecipe, file: str) -> bytes:
    """The recipe as ``recipe.yaml``."""
    lines = [f"# From {PurePath(file).name}.", "version: 1"]
    if recipe.project:
        lines.append(f"project: {_quoted(recipe.project)}")
    if recipe.pyprojects:
        lines.append(f"pyprojects: [{', '.join(map(_quoted, recipe.pyprojects))}]")
    if recipe.pins:
        lines.append("pins:")
        lines += (f"  {name}: {_quoted(version)}" for name, version in recipe.pins.items())
    if recipe.gates:
        lines += ["variants:", f"  {_quoted(recipe.variant)}:"]
        lines.append(f"    guards: [{', '.join(map(_quoted, recipe.gates))}]")
    return ("\n".join(lines) + "\n").encode()


class _Reader:
    def __init__(self, objects: Objects, base: Base, series: Series):
        self._objects = objects
        self._base = base
        self._series = series
        self._required = dict(self._requirements())
        self.pins: dict[str, str] = {}
        self.pyprojects: set[str] = set()
        self.project: str | None = None
        self.gates: list[str] = []
        self.unmapped: list[Unmapped] = []

    def leave(self, line: int, text: str, why: str) -> None:
        self.unmapped.append(Unmapped(line, text, why))

    def take(self, line: int, key: str, value: str) -> None:
        """Give one setting its place."""
        text = f"{key}={value}"
        if gate := _GATE.match(key):
            self._gate(line, text, gate[1], value)
        elif value == "":
            self.leave(line, text, "empty")
        elif self._base.name.lstrip("v") == value.lstrip("v"):
            self.leave(line, text, f"it is the base, {self._base.name}, itself")
        elif (pin := _PIN.match(key)) and _VERSION.match(value):
            self._pin(line, text, pin[1], value, floor=bool(pin[2]))
        elif self._is_project(value):
            if self.project in (None, value):
                self.project = value
            else:
                self.leave(line, text, f"a second project beside {self.project}")
        elif re.search(r"VARIANT|MAINAHEAD", key):
            self.leave(
                line,
                text,
                "chooses among generations of patches: each base has a series of its own",
            )
        else:
            self.leave(line, text, "nothing in a recipe of patchq says this")

    def _gate(self, line: int, text: str, gate: str, value: str) -> None:
        words = set(_words(gate))
        guards = [guard for guard in self._series.guards if set(_words(guard)) <= words]
        patches = [
            entry.name
            for entry in self._series.entries
            if _is_of(words, set(_words(entry.name.removesuffix(".patch"))))
        ]
        if value.lower() in _OFF:
            off = f": {', '.join(patches)} would be off" if patches else ""
            self.leave(line, text, f"a gate that is off{off}")
        elif guards:
            self.gates += guards
        elif patches:
            self.leave(
                line,
                text,
                f"{', '.join(patches)} without a guard is always on; `patchq guard` makes it a "
                "choice",
            )
        else:
            self.leave(line, text, f"no guard and no patch of the series on {self._base.name}")

    def _pin(self, line: int, text: str, stem: str, version: str, *, floor: bool) -> None:
        names = self._named(stem)
        if not names:
            self.leave(line, text, "upstream requires no package of that name")
            return
        for name in names:
            pinned = f">={version}" if floor else version
            if self.pins.setdefault(name, pinned) != pinned:
                self.leave(line, text, f"{name} is pinned to {self.pins[name]} already")
            self.pyprojects.add(self._required[name])

    def _named(self, stem: str) -> list[str]:
        """The packages that upstream requires and a key means: by its whole name, or its words."""
        wanted = _words(stem)
        exact = [name for name in self._required if _words(name) == wanted]
        if exact:
            return exact
        return [name for name in self._required if _contains(_words(name), wanted)]

    def _requirements(self) -> Iterator[tuple[str, str]]:
        """The packages that the base's ``pyproject.toml`` files name, and which does."""
        top = self._objects.tree(self._base.tree).items()
        inside = (f"{name}/{_PYPROJECT}" for name, entry in top if entry.is_tree)
        for path in (*inside, _PYPROJECT):
            content = self._objects.content(self._base.tree, path) or b""
            try:
                project = tomllib.loads(content.decode(errors="replace")).get("project", {})
            except tomllib.TOMLDecodeError:
                continue
            groups = project.get("optional-dependencies", {}).values()
            for text in (*project.get("dependencies", ()), *(t for group in groups for t in group)):
                with suppress(InvalidRequirement):
                    yield canonicalize_name(Requirement(text).name), path

    def _is_project(self, value: str) -> bool:
        path = value.strip("/")
        if not path or ".." in path.split("/") or not re.fullmatch(r"[\w./-]+", path):
            return False
        return self._objects.file(self._base.tree, f"{path}/CMakeLists.txt") is not None


def _is_of(gate: set[str], patch: set[str]) -> bool:
    """Whether a gate is one of a patch, by the words of their names."""
    shared = gate & patch
    return gate <= patch or (len(shared) > 1 and len(shared) * 5 >= len(patch) * 3)


def _value(text: str) -> str:
    """A value as the shell takes it, its comment aside."""
    try:
        words = shlex.split(text, comments=True)
    except ValueError:
        return text.strip()
    return words[0] if words else ""


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[-_.]+", name.lower()) if word]


def _contains(words: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether ``wanted`` stand next to each other in ``words``."""
    size = len(wanted)
    return any(list(words[at : at + size]) == list(wanted) for at in range(len(words) - size + 1))


def _quoted(text: str) -> str:
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9._/-]*|\d+(?:\.\w+){2,}", text)
    return text if plain else f'"{text}"'
