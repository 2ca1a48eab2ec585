"""What is compiled of a target, and with which flags."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from patchq.engine.build.architectures import architectures, property_flags
from patchq.engine.build.expressions import Context, UnknownExpressionError, evaluate
from patchq.engine.build.flag_lines import Call, FlagLines
from patchq.engine.build.targets import CMakeTarget, Scoped, SourceFile, Words
from patchq.errors import Where
from patchq.model.verification import BuiltTarget, Flag, SourceGroup

_LANGUAGES = {
    ".cu": "CUDA",
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".c++", ".C", ".CPP"), "CXX"),
    ".c": "C",
}


class Compiled:
    """The targets of a project, all of whose calls were read.

    ``aliases`` are other names of ``targets``; ``sources`` are the properties of source files;
    ``problem`` takes what cannot be told, and where.
    """

    def __init__(
        self,
        calls: Sequence[Call],
        origins: FlagLines,
        cuda: str,
        targets: Mapping[str, CMakeTarget],
        aliases: Mapping[str, str],
        sources: Mapping[str, SourceFile],
        problem: Callable[[Where, str], None],
    ):
        self._calls = calls
        self._origins = origins
        self._cuda = cuda
        self._targets = targets
        self._aliases = aliases
        self._sources = sources
        self._problem = problem

    def context(self, language: str) -> Context:
        """What generator expressions are evaluated with for ``language``."""
        return Context(language, self._cuda, "Release", self._targets)

    def built(self, target: CMakeTarget) -> BuiltTarget:
        """The target with its compiled sources, in groups that are compiled alike."""
        alike: dict[tuple[str, str | None], list[str]] = {}
        for source in dict.fromkeys(target.sources):
            known = self._sources.get(source)
            language = (known and known.language) or _LANGUAGES.get(PurePosixPath(source).suffix)
            if language and not (known and known.header):
                alike.setdefault((language, source if known else None), []).append(source)
        groups = [
            self._group(target, language, self._sources.get(own or "", SourceFile()), sources)
            for (language, own), sources in alike.items()
        ]
        return BuiltTarget(target.name, _merged(groups), target.where)

    def _group(
        self, target: CMakeTarget, language: str, source: SourceFile, sources: Sequence[str]
    ) -> SourceGroup:
        flags = tuple(self._flags(target, language, source))
        archs = architectures(flag.text for flag in flags) if language == "CUDA" else ()
        definitions = tuple(self._definitions(target, language, source))
        return SourceGroup(language, tuple(sources), flags, definitions, archs)

    def _flags(self, target: CMakeTarget, language: str, source: SourceFile) -> Iterator[Flag]:
        for word in self._shell(target.directory.flags.get(language, ""), target.where):
            yield Flag(word)
        if language == "CUDA":
            for word in property_flags(target.architectures):
                yield Flag(word)
        words = [*target.options.own, *self._linked(target, lambda linked: linked.options)]
        seen: set[str] = set()
        for options in ([*words], source.options):
            for item, index in self._evaluated(options, language):
                # CMake passes each option once; SHELL: keeps words together
                if item not in seen:
                    seen.add(item)
                    text = item.removeprefix("SHELL:")
                    where = self._calls[index].where
                    for word in self._shell(text, where) if text != item else [item]:
                        yield Flag(word, self._origins.find(index, word))

    def _shell(self, text: str, where: Where) -> list[str]:
        try:
            return _shell(text)
        except ValueError as error:
            self._problem(where, f"{text!r} are no flags for a shell: {error}")
            return []

    def _definitions(
        self, target: CMakeTarget, language: str, source: SourceFile
    ) -> Iterator[Flag]:
        linked = self._linked(target, lambda linked: linked.definitions)
        # those of a directory hold for all of its targets, also for earlier ones
        directory = target.directory.definitions
        words = [*directory, *target.definitions.own, *linked, *source.definitions]
        seen: set[str] = set()
        for item, index in self._evaluated(words, language):
            text = item.removeprefix("-D")
            if text not in seen:
                seen.add(text)
                yield Flag(text, self._origins.find(index, item))

    def _evaluated(self, words: Iterable[Words], language: str) -> Iterator[tuple[str, int]]:
        context = self.context(language)
        for entry in words:
            try:
                text = evaluate(entry.text, context)
            except UnknownExpressionError as error:
                self._problem(self._calls[entry.index].where, str(error))
                continue
            for item in text.split(";"):
                if item:
                    yield item, entry.index

    def _linked(
        self, target: CMakeTarget, part: Callable[[CMakeTarget], Scoped]
    ) -> Iterator[Words]:
        """What the libraries of the project that ``target`` links ask of it."""
        seen: set[str] = set()
        waiting = [*target.links]
        while waiting:
            name = waiting.pop(0)
            name = self._aliases.get(name, name)
            linked = self._targets.get(name)
            if linked and name not in seen:
                seen.add(name)
                yield from part(linked).interface
                waiting += linked.interface_links


def _merged(groups: Iterable[SourceGroup]) -> tuple[SourceGroup, ...]:
    """Groups that are compiled in the same way as one."""
    merged: dict[SourceGroup, SourceGroup] = {}
    for group in groups:
        way = replace(group, sources=())
        known = merged.get(way, way)
        merged[way] = replace(group, sources=known.sources + group.sources)
    return tuple(merged.values())


def _shell(text: str) -> list[str]:
    """The words of a string of flags; an option and its value in two words stay together.

    >>> _shell("-O3 -gencode arch=compute_75,code=sm_75")
    ['-O3', '-gencode arch=compute_75,code=sm_75']
    """
    words: list[str] = []
    for word in shlex.split(text):
        if words and words[-1] in ("-gencode", "--generate-code"):
            words[-1] += f" {word}"
        else:
            words.append(word)
    return words
