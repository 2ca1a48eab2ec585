"""Names of upstream that one's own files use, and that a newer base no longer defines."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pathspec import GitIgnoreSpec

from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.errors import InputError
from patchq.git.history import CommitInfo
from patchq.git.search import lines_with_texts
from patchq.model.ids import TreeId
from patchq.model.regex import compile_regex, encoded
from patchq.model.release import NameChange, NameState, OwnUses, WordUse
from patchq.model.verdict import EvidenceKind

_DEPRECATED = re.compile(rb"deprecat", re.IGNORECASE)
_MOST_COMMITS = 400
_PLACE = re.compile(r"/[^][*?\\!]+")

_Line = tuple[str, bytes]
"""A path and a line of it."""


def find_uses(root: Path, uses: OwnUses) -> dict[str, tuple[WordUse, ...]]:
    """Each word that the own files of ``uses`` use, with the places.

    Raises :class:`InputError` if a glob matches no file: nothing would be looked at in silence.
    """
    expressions = [compile_regex(encoded(word)) for word in uses.words]
    found: dict[str, list[WordUse]] = {}
    for pattern in uses.files:
        files = sorted(file for file in _matching(root, pattern) if file.is_file())
        if not files:
            raise InputError(
                f"uses: {pattern!r} matches no file",
                hint="Globs are relative to the workspace; ** goes into directories.",
            )
        for file in files:
            shown = _shown(file, root)
            for number, line in enumerate(_lines(file), 1):
                for expression in expressions:
                    for match in expression.finditer(line):
                        word = match.group(0).decode("utf-8", "surrogateescape")
                        found.setdefault(word, []).append(WordUse(shown, number))
    return {word: tuple(dict.fromkeys(found[word])) for word in sorted(found)}


def compare_names(
    span: UpstreamRange, root: Path, given: Iterable[OwnUses]
) -> tuple[NameChange, ...]:
    """The used names that the old base defines and the new one does not, or only as an alias."""
    changes: list[NameChange] = []
    for uses in given:
        used = find_uses(root, uses)
        dotted = {word for word in used if word.partition(".")[0] in uses.modules and "." in word}
        plain = used.keys() - dotted
        new = _definitions(span, span.new.tree, plain, uses)
        marked = {word for word, lines in new.items() if _deprecated(lines)}
        old = _definitions(span, span.old.tree, marked | (plain - new.keys()), uses)
        for word in sorted(old.keys() - new.keys()):
            changes.append(_gone(span, word, used[word], {path for path, _ in old[word]}))
        for word in sorted(old.keys() & marked):
            if not _deprecated(old[word]):
                changes.append(_marked(span, word, used[word], _deprecated(new[word])[0]))
        for word in sorted(dotted):
            before = _module(span, span.old.tree, word, uses.modules)
            if before is not None and _module(span, span.new.tree, word, uses.modules) is None:
                changes.append(_gone(span, word, used[word], frozenset({before})))
    return tuple(changes)


def _definitions(
    span: UpstreamRange, tree: TreeId, words: Collection[str], uses: OwnUses
) -> dict[str, list[_Line]]:
    """The lines that have each of ``words`` in the paths that define them."""
    spec = GitIgnoreSpec.from_lines(uses.defined) if uses.defined else None
    expressions = {word: (encoded(word), re.compile(_whole(word))) for word in words}
    texts = [text for text, _ in expressions.values()]
    found: dict[str, list[_Line]] = {}
    for path, line in lines_with_texts(span.store.git, tree, texts, _below(uses.defined)):
        if spec is None or spec.match_file(path):
            for word, (text, expression) in expressions.items():
                if text in line and expression.search(line):
                    found.setdefault(word, []).append((path, line))
    return found


def _whole(word: str) -> bytes:
    """The word with nothing of a word at its ends; where it has hyphens, no hyphen either."""
    beside = rb"[\w-]" if "-" in word else rb"\w"
    return rb"(?<!" + beside + rb")" + re.escape(encoded(word)) + rb"(?!" + beside + rb")"


def _below(patterns: Sequence[str]) -> tuple[str, ...]:
    """The directories and files that all that ``patterns`` match is in, none if that is not plain.

    A pattern from the root without a wildcard is itself such a place (gitignore(5)).
    """
    wanted = [pattern for pattern in patterns if not pattern.startswith("!")]
    if not all(_PLACE.fullmatch(pattern) for pattern in wanted):
        return ()
    return tuple(pattern.strip("/") for pattern in wanted)


def _deprecated(lines: Iterable[_Line]) -> list[str]:
    """The paths of the lines that call something deprecated."""
    return [path for path, line in lines if _DEPRECATED.search(line)]


def _marked(span: UpstreamRange, word: str, used: tuple[WordUse, ...], path: str) -> NameChange:
    whole = re.compile(_whole(word))

    def holds(commit: CommitInfo) -> bool:
        content = span.store.objects.content(commit.tree, path) or b""
        return any(whole.search(line) and _DEPRECATED.search(line) for line in content.splitlines())

    text = f"{word} is marked as deprecated in {path}"
    evidence = span.evidence(EvidenceKind.NAME, text, span.since((path,), holds), (path,))
    return NameChange(word, NameState.DEPRECATED, used, evidence)


def _gone(
    span: UpstreamRange, word: str, used: tuple[WordUse, ...], files: Collection[str]
) -> NameChange:
    last = word.rpartition(".")[2]
    commit = _removed_by(span, last, sorted(files))
    text = f"{word} is no longer defined; {', '.join(sorted(files)[:3])} had it"
    evidence = span.evidence(EvidenceKind.NAME, text, commit, tuple(sorted(files)))
    return NameChange(word, NameState.GONE, used, evidence)


def _removed_by(span: UpstreamRange, word: str, files: Collection[str]) -> CommitInfo | None:
    """The last commit after which none of ``files`` has ``word``, though one had it before."""
    whole = re.compile(_whole(word))
    objects = span.store.objects
    found: CommitInfo | None = None
    had = True
    for commit in span.commits(files)[-_MOST_COMMITS:]:
        names = {*files, *(span.place(file).new or file for file in files)}
        names.update(name for touch in commit.touches for name in (touch.old, touch.new))
        has = any(whole.search(objects.content(commit.tree, name) or b"") for name in sorted(names))
        if had and not has:
            found = commit
        had = has
    return found


def _module(span: UpstreamRange, tree: TreeId, word: str, modules: Mapping[str, str]) -> str | None:
    """The file that a dotted name leads to, None if it leads nowhere.

    It is a module, a package, or a name that the text of the last module on the way has.
    """
    top, *rest = word.split(".")
    objects = span.store.objects
    place = modules[top]
    for number, part in enumerate(rest):
        entry = objects.entry(tree, f"{place}/{part}")
        if entry is not None and entry.is_tree:
            place = f"{place}/{part}"
            continue
        file = f"{place}/{part}.py"
        inside = rest[number + 1 :]
        if objects.file(tree, file) is None:
            file, inside = f"{place}/__init__.py", rest[number:]
        content = objects.content(tree, file)
        if content is None:
            return None
        has = not inside or re.search(rb"\b" + inside[0].encode() + rb"\b", content)
        return file if has else None
    return place


def _matching(root: Path, pattern: str) -> Iterator[Path]:
    start = root
    while pattern.startswith("../"):
        start, pattern = start.parent, pattern.removeprefix("../")
    if pattern.startswith("/"):
        start, pattern = Path("/"), pattern.lstrip("/")
    return start.glob(pattern)


def _shown(file: Path, root: Path) -> str:
    try:
        return str(file.relative_to(root))
    except ValueError:
        return str(file)


def _lines(file: Path) -> list[bytes]:
    return file.read_bytes().splitlines()
