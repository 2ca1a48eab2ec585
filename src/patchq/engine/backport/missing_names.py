"""Names that a change's added lines use, that its source has and the patched tree lacks.

Python is read with its own parser: imports, names, attributes of modules, members of classes,
parameters. What a parser cannot tell the home of (an attribute of some value, an identifier of C or
CUDA) is missing only where the word stands nowhere in the whole tree and the source defines it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath

from patchq.engine.backport.apply_change import Landing
from patchq.engine.backport.missing_commits import has_word
from patchq.engine.backport.upstream_change import UpstreamChange
from patchq.engine.backport.vocabulary import Vocabulary
from patchq.engine.languages.python_names import Callee, ParsedModule, read_module, read_uses
from patchq.engine.workspace.project import Project
from patchq.model.diff import FileChange
from patchq.model.ids import TreeId

_PYTHON = (".py", ".pyi")
_C = (".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".cu", ".cuh")
_LANGUAGES = (_PYTHON, _C)
_IDENTIFIER = re.compile(rb"(?<![\w\"])[A-Za-z_]\w{3,}")
_WORD = re.compile(rb"\w+")
_C_NOISE = re.compile(rb"//.*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|^\s*\*.*|#\s*include.*")
_MOST_HOMES = 4
_SHORT = 3

_read_module = lru_cache(maxsize=256)(read_module)


@dataclass(frozen=True)
class MissingName:
    """``name``, used on ``line`` of the change's own ``file``, is missing.

    ``homes`` are the files of the source that give it; ``holds`` tells whether a content of such a
    file has it (None: the file itself is what is missing).
    """

    name: str
    file: str
    line: int
    homes: tuple[str, ...]
    holds: Callable[[bytes], object] | None = field(compare=False, default=None)


@dataclass(frozen=True)
class _Located:
    """Where a dotted path leads: a file of the tree, and what is asked for inside it."""

    file: str
    rest: tuple[str, ...]


@dataclass(frozen=True)
class _Side:
    """A tree, and what a file of the change is called in it."""

    tree: TreeId
    file: str


class Names:
    """Looks for missing names on trees of one project's store."""

    def __init__(self, project: Project):
        self._store = project.store
        self._objects = project.store.objects
        self._cache = project.cache
        self._vocabularies: dict[tuple[TreeId, tuple[str, ...]], Vocabulary] = {}

    def missing(
        self, change: UpstreamChange, landing: Landing, target: TreeId
    ) -> tuple[MissingName, ...]:
        """What ``change`` misses where it landed, on a tree made from the tree ``target``."""
        found: dict[str, MissingName] = {}
        loose: dict[tuple[str, ...], dict[str, tuple[str, int]]] = {}
        for file in change.patch.files:
            language = _language(file.new)
            lines = _added(file)
            if file.new is None or language is None or not lines:
                continue
            words = loose.setdefault(language, {})
            if language is _PYTHON:
                source = _Side(change.source, file.new)
                result = _Side(landing.tree, landing.moves.get(file.new, file.new))
                for name in self._python(source, result, lines, words):
                    found.setdefault(name.name, name)
            else:
                for number, text in lines.items():
                    for word in _IDENTIFIER.findall(_C_NOISE.sub(b"", text)):
                        words.setdefault(word.decode(), (file.new, number))
        for language, words in loose.items():
            for name in self._nowhere(change, landing, target, language, words):
                found.setdefault(name.name, name)
        return tuple(found.values())

    def _python(
        self,
        source: _Side,
        result: _Side,
        lines: Mapping[int, bytes],
        loose: dict[str, tuple[str, int]],
    ) -> Iterator[MissingName]:
        ours = self._module(source.tree, source.file)
        theirs = self._module(result.tree, result.file)
        if ours is None or theirs is None:
            return
        uses = read_uses(ours, lines.keys())
        for dotted, line in (*uses.imported, *uses.attributes):
            missing = self._dotted(dotted, line, source, result)
            if missing is not None:
                yield missing
        for name, line in uses.names:
            if name in ours.names and name not in theirs.names and not theirs.open:
                yield MissingName(name, source.file, line, (source.file,), _defines(name))
        text = self._objects.content(result.tree, result.file) or b""
        for owner, name, line in uses.members:
            if has_word(name)(text):
                continue
            here, there = ours.class_names(owner), theirs.class_names(owner)
            if here and there and name in here.members - there.members:
                holds = _has_member(owner, name)
                label = f"{owner}.{name}"
                yield MissingName(label, source.file, line, (source.file,), holds)
        for callee, keyword, line in uses.keywords:
            if not callee:
                loose.setdefault(keyword, (source.file, line))
                continue
            yield from self._keyword(callee, keyword, line, ours, theirs, source, result)
        for word, line in uses.loose:
            loose.setdefault(word, (source.file, line))

    def _dotted(self, dotted: str, line: int, source: _Side, result: _Side) -> MissingName | None:
        here = self._locate(dotted, source)
        if here is None:
            return None
        there = self._locate(dotted, result)
        if there == here and self._is_same(source.tree, result.tree, here.file):
            return None
        if here.rest:
            module = self._module(source.tree, here.file)
            if module is None or here.rest[0] not in module.names:
                return None
        label = dotted.lstrip(".")
        if there is None or (not there.file and not there.rest):
            return MissingName(label, source.file, line, (here.file,))
        if not there.rest:
            return None
        module = self._module(result.tree, there.file) if there.file else None
        if module is not None and (module.open or there.rest[0] in module.names):
            return None
        if len(there.rest) > len(here.rest):
            return MissingName(label, source.file, line, (here.file,))
        if module is None:
            return None
        return MissingName(label, source.file, line, (here.file,), _defines(here.rest[0]))

    def _keyword(
        self,
        callee: str,
        keyword: str,
        line: int,
        ours: ParsedModule,
        theirs: ParsedModule,
        source: _Side,
        result: _Side,
    ) -> Iterator[MissingName]:
        """A parameter that the called function has on the source's side alone."""
        first, *rest = callee.split(".")
        home: str | None = source.file
        here, there, name = ours.callee(callee), theirs.callee(callee), callee
        if first in ours.imports:
            dotted = ".".join([ours.imports[first], *rest])
            located, target = self._locate(dotted, source), self._locate(dotted, result)
            if located is None or target is None or len(located.rest) != 1:
                return
            if located == target and self._is_same(source.tree, result.tree, located.file):
                return
            home, name = located.file, located.rest[0]
            here = self._callee(source.tree, located)
            there = self._callee(result.tree, target)
        if here is None or there is None or home is None or there.open:
            return
        if keyword in here.parameters - there.parameters:
            label = f"{name}({keyword}=)"
            yield MissingName(label, source.file, line, (home,), _takes(name, keyword))

    def _is_same(self, one: TreeId, other: TreeId, path: str) -> bool:
        return self._objects.file(one, path) == self._objects.file(other, path)

    def _callee(self, tree: TreeId, located: _Located) -> Callee | None:
        module = self._module(tree, located.file)
        return module.callee(".".join(located.rest)) if module else None

    def _module(self, tree: TreeId, path: str) -> ParsedModule | None:
        content = self._objects.content(tree, path)
        return None if content is None else _read_module(content)

    def _locate(self, dotted: str, side: _Side) -> _Located | None:
        """Where a dotted path leads in a tree; None if it leads out of it."""
        level = len(dotted) - len(dotted.lstrip("."))
        parts = tuple(dotted[level:].split("."))
        directories = PurePosixPath(side.file).parents
        if level:
            start = "" if level > len(directories) else _directory(directories[level - 1])
            return self._walk(side.tree, start, parts)
        for directory in reversed(directories):
            root = _directory(directory)
            if not self._is_package(side.tree, root) and self._begins(side.tree, root, parts[0]):
                return self._walk(side.tree, root, parts)
        return None

    def _is_package(self, tree: TreeId, directory: str) -> bool:
        return self._objects.file(tree, _inside(directory, "__init__.py")) is not None

    def _begins(self, tree: TreeId, root: str, name: str) -> bool:
        entry = self._objects.entry
        package = entry(tree, _inside(root, name))
        # a directory of that name need not be Python's: `docs`, `build`
        if package is not None and package.is_tree and root:
            return True
        return self._is_package(tree, _inside(root, name)) or bool(
            entry(tree, _inside(root, f"{name}.py"))
        )

    def _walk(self, tree: TreeId, directory: str, parts: tuple[str, ...]) -> _Located | None:
        for place, part in enumerate(parts):
            entry = self._objects.entry(tree, _inside(directory, part))
            file = _inside(directory, f"{part}.py")
            is_file = self._objects.file(tree, file) is not None
            if (
                entry is not None
                and entry.is_tree
                and not (is_file and not self._is_package(tree, _inside(directory, part)))
            ):
                directory = _inside(directory, part)
                continue
            if is_file:
                return _Located(file, parts[place + 1 :])
            return _Located(_inside(directory, "__init__.py"), parts[place:])
        return _Located(_inside(directory, "__init__.py"), ())

    def _nowhere(
        self,
        change: UpstreamChange,
        landing: Landing,
        target: TreeId,
        language: tuple[str, ...],
        words: Mapping[str, tuple[str, int]],
    ) -> Iterator[MissingName]:
        """Of ``words`` those that the source defines and the patched tree has nowhere."""
        before = (self._objects.content(landing.onto, path) or b"" for path in landing.before)
        at_hand = {word for content in before for word in _WORD.findall(content)}
        left = {word for word in words if len(word) > _SHORT and word.encode() not in at_hand}
        if not left:
            return
        key = (target, language)
        if key not in self._vocabularies:
            self._vocabularies[key] = Vocabulary(self._store, self._cache, *key)
        vocabulary = self._vocabularies[key]
        left = vocabulary.unknown(left, landing.onto)
        homes: dict[str, list[str]] = {}
        for path, text in vocabulary.lines(change.base, left) if left else ():
            for word in left:
                defined = language is not _PYTHON or _assigns(word).search(text)
                if defined and has_word(word)(text):
                    homes.setdefault(word, []).append(path)
        for word, paths in homes.items():
            file, line = words[word]
            places = tuple(dict.fromkeys(paths))[:_MOST_HOMES]
            yield MissingName(word, file, line, places, has_word(word))


def _language(path: str | None) -> tuple[str, ...] | None:
    suffix = PurePosixPath(path or "").suffix
    return next((language for language in _LANGUAGES if suffix in language), None)


def _added(file: FileChange) -> dict[int, bytes]:
    """The added lines of a file, by their number in the new file."""
    lines: dict[int, bytes] = {}
    for hunk in file.hunks:
        number = hunk.new_start
        for text in hunk.lines:
            if text[:1] == b"+":
                lines[number] = text[1:]
            number += text[:1] not in (b"-", b"\\")
    return lines


def _directory(path: PurePosixPath) -> str:
    return "" if str(path) == "." else str(path)


def _inside(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


def _assigns(word: str) -> re.Pattern[bytes]:
    """A line of Python that defines a name, an attribute or a parameter."""
    name = re.escape(word.encode())
    return re.compile(rb"(?:\bdef|\bclass)\s+%b\b|(?<!\w)%b\s*(?::|=)(?!=)" % (name, name))


def _when_read(test: Callable[[ParsedModule], object], word: str) -> Callable[[bytes], object]:
    stands = has_word(word)

    def holds(content: bytes) -> object:
        module = _read_module(content) if stands(content) else None
        return module is not None and test(module)

    return holds


def _defines(name: str) -> Callable[[bytes], object]:
    return _when_read(lambda module: name in module.names, name)


def _has_member(owner: str, name: str) -> Callable[[bytes], object]:
    def test(module: ParsedModule) -> bool:
        found = module.class_names(owner)
        return found is not None and name in found.members

    return _when_read(test, name)


def _takes(name: str, keyword: str) -> Callable[[bytes], object]:
    def test(module: ParsedModule) -> bool:
        found = module.callee(name)
        return found is not None and keyword in found.parameters

    return _when_read(test, keyword)
