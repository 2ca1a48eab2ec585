"""Whether what a hunk edits in a list or in settings stands in another file now.

A package, key or option keeps its name if its list is split, or put into a file of another format,
with none of its lines kept: ``torch==2.4`` becomes ``"torch~=2.6"`` or just ``torch``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from patchq.engine.judge.gone.own_lines import edited_lines
from patchq.engine.judge.gone.removal import LostCode
from patchq.engine.languages.search.fresh_code import fresh_code
from patchq.engine.languages.tokens import KEYWORDS, Family, family, is_prose
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.search import files_with_words

_COMMON = 20
"""A name that more files of the same kind have on the old base is one of the format (``name:``)."""

_NAME = rb"([A-Za-z_](?:[\w.-]*\w)?)"
_KEYS = (
    re.compile(rb"^#\s*define\s+" + _NAME),
    re.compile(rb"^(?:set\s*\(|option\s*\(|(?:ENV|ARG|export|setenv)\s)\s*" + _NAME, re.IGNORECASE),
    re.compile(rb"^[-\s\"'\[(]*" + _NAME + rb"(?:\[[^]]*\])?[\"'\])]*,?$"),
    re.compile(
        rb"(?:(?<=-D)|(?<=--)|(?<![\w.-]))"
        + _NAME
        + rb"(?:\[[^]]*\])?[\"']?\s*(?:[<>~!=]=|[<>]\s*\d|=|:(?![:/])|;|@)"
    ),
)
_SHORTEST = 3


@dataclass(frozen=True)
class ListEntry:
    """The name of an entry, and the file that has it now."""

    name: str
    path: str


def entry_elsewhere(span: UpstreamRange, lost: LostCode) -> ListEntry | None:
    """An entry that a hunk edits outside of definitions, if another file has its name anew.

    Of an insertion, both the entries above and below it have to be there. Names that the format
    gives, and prose, tell nothing.
    """
    if lost.name is not None or is_prose(lost.path):
        return None
    edited = edited_lines(span, lost)
    if edited is None:
        return None
    lines = edited.replaced or edited.lines
    names = dict.fromkeys(key for line in lines for key in _keys(line))
    found = [(name, path) for name in names for path in _places(span, lost, name)]
    if not found or (not edited.replaced and len({name for name, _ in found}) < len(names)):
        return None
    words = {name.decode() for name, _ in found}
    suffix = PurePosixPath(lost.path).suffix
    known = files_with_words(span.store.git, span.old.tree, words)
    for name, path in found:
        files = known.get(name.decode(), frozenset())
        if sum(PurePosixPath(file).suffix == suffix for file in files) <= _COMMON:
            return ListEntry(name.decode(), path)
    return None


def _keys(line: bytes) -> Iterator[bytes]:
    """The name of the entry on a (stripped) line, if it is one."""
    found = next((match for key in _KEYS if (match := key.search(line))), None)
    if found and len(found[1]) >= _SHORTEST and found[1].lower() not in KEYWORDS:
        yield found[1]


def _places(span: UpstreamRange, lost: LostCode, name: bytes) -> Iterator[str]:
    """The files that have an entry ``name`` more often than on the old base."""
    objects, origin = span.store.objects, {new: old for old, new in span.renames.renames.items()}
    spellings = _spellings(name)
    for path, added in fresh_code(span.store, span.old.tree, span.new.tree).items():
        low = added.lower()
        if is_prose(path) or not any(spelling in low for spelling in spellings):
            continue
        pattern = _entry(path, name)
        if not pattern.search(added):
            continue
        before = objects.content(span.old.tree, origin.get(path, path)) or b""
        if path == lost.new_path:
            before = before.replace(lost.text, b"", 1)
        now = objects.content(span.new.tree, path) or b""
        if _count(pattern, now) > _count(pattern, before):
            yield path


def _count(pattern: re.Pattern[bytes], text: bytes) -> int:
    return sum(1 for _ in pattern.finditer(text))


def _spellings(name: bytes) -> Iterable[bytes]:
    """The name in lower case, as packages spell it: with any of ``-``, ``_`` and ``.``."""
    return {re.sub(rb"[-_.]", mark, name.lower()) for mark in (b"-", b"_", b".")} | {name.lower()}


def _entry(path: str, name: bytes) -> re.Pattern[bytes]:
    """What finds an entry ``name`` in the file ``path``: in code, a string that begins with it or
    a line that gives it a value; else the word, outside of comments."""
    spelled = rb"[-_.]".join(map(re.escape, re.split(rb"[-_.]", name))) + rb"(?![\w-])"
    if family(path) is Family.OTHER:
        before = rb"^[^#\n]*?(?<![\w.-])(?:--|-D)?"
    else:
        before = rb"[\"']|^[ \t]*#[ \t]*define[ \t]+|^[\w \t*:]*?\b(?=\w+[ \t]*(?::[^=\n]+)?=(?!=))"
    return re.compile(rb"(?:" + before + rb")" + spelled, re.MULTILINE | re.IGNORECASE)
