"""Targets, directories and source files as an evaluation sets them up, call by call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from patchq.errors import Where

SCOPES = ("PRIVATE", "PUBLIC", "INTERFACE")
LINK_SCOPES = (*SCOPES, "LINK_PRIVATE", "LINK_PUBLIC", "LINK_INTERFACE_LIBRARIES")


@dataclass(frozen=True)
class Words:
    """Arguments of the call ``index`` that say how something is compiled."""

    text: str
    index: int


@dataclass
class Scoped:
    """What holds for a target itself, and what for those that link it."""

    own: list[Words] = field(default_factory=list)
    interface: list[Words] = field(default_factory=list)

    def add(self, scope: str, words: Words) -> None:
        """Take ``words`` behind the keyword ``scope``."""
        if scope != "INTERFACE":
            self.own.append(words)
        if scope != "PRIVATE":
            self.interface.append(words)


@dataclass
class Directory:
    """What a directory gives to the targets in it."""

    path: str
    options: list[Words] = field(default_factory=list)
    definitions: list[Words] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    flags: Mapping[str, str] = field(default_factory=dict)

    def below(self, path: str) -> Directory:
        """The directory ``path`` in it, which begins with what it has by now."""
        return Directory(path, [*self.options], [*self.definitions], [*self.links])

    def set(self, key: str, words: Words, *, append: bool) -> None:
        """Set one of its properties, or append to it."""
        lists = {"COMPILE_OPTIONS": self.options, "COMPILE_DEFINITIONS": self.definitions}
        put(lists, key, words, append=append)


@dataclass
class CMakeTarget:
    """A target of the project, as far as it is set up."""

    name: str
    directory: Directory
    where: Where
    sources: list[str]
    architectures: str
    options: Scoped
    definitions: Scoped
    links: list[str]
    interface_links: list[str] = field(default_factory=list)


@dataclass
class SourceFile:
    """The properties of a source file."""

    language: str | None = None
    header: bool = False
    options: list[Words] = field(default_factory=list)
    definitions: list[Words] = field(default_factory=list)

    def set(self, key: str, words: Words, *, append: bool) -> None:
        """Set one of its properties, or append to it."""
        if key == "LANGUAGE":
            self.language = words.text
        elif key == "HEADER_FILE_ONLY":
            self.header = words.text.upper() in ("1", "ON", "TRUE", "YES", "Y")
        else:
            lists = {
                "COMPILE_OPTIONS": self.options,
                "COMPILE_FLAGS": self.options,
                "COMPILE_DEFINITIONS": self.definitions,
            }
            put(lists, key, words, append=append)


def put(lists: Mapping[str, list[Words]], key: str, words: Words, *, append: bool) -> None:
    """Set the property ``key``, or append to it, if ``lists`` has it."""
    known = lists.get(key)
    if known is not None:
        known[:] = [*(known if append else []), words]


def by_scope(arguments: Sequence[str], index: int) -> Iterator[tuple[str, Words]]:
    """The items after each scope keyword, joined as CMake keeps them."""
    scope, items = "PRIVATE", list[str]()
    for argument in arguments:
        if argument in SCOPES:
            if items:
                yield scope, Words(";".join(items), index)
            scope, items = argument, []
        elif argument not in ("BEFORE", "AFTER"):
            items.append(argument)
    if items:
        yield scope, Words(";".join(items), index)


def properties(arguments: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """What ``… PROPERTIES key value …`` sets, and on which names."""
    if "PROPERTIES" not in arguments:
        return [], []
    split = arguments.index("PROPERTIES")
    names = [name for text in arguments[:split] for name in text.split(";") if name]
    rest = arguments[split + 1 :]
    return names, list(zip(rest[::2], rest[1::2], strict=False))
