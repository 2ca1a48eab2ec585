"""Other spellings of the same code that upstream gave landed lines: rewritten as they landed.

Each rewriting keeps what the file does, wherever in the file it is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from patchq.engine.judge.landing.conditions.nesting import column_of
from patchq.engine.judge.landing.quotes import quoted_alike
from patchq.engine.languages.tokens import KEYWORDS, Family, family

_ANNOTATED = re.compile(
    rb"([ \t]*)([A-Za-z_][\w.]*)[ \t]*:[ \t]*[A-Za-z_][\w. \t|,\[\]]*?[ \t]*=[ \t]*(?!=)(.*)"
)
_SCOPE = re.compile(rb"[ \t]*(?:async[ \t]+)?(?:def\b|class\b)")
_PLAIN_CLASS = re.compile(rb"[ \t]*class[ \t]+\w+[ \t]*(?:\([ \t]*\))?[ \t]*:")
_HEAD = re.compile(rb"(?:else\s+)?(?:if|for|while)\b\s*\(.*\)\Z|else\Z")
_STATEMENT = re.compile(
    rb"(?!(?:if|for|while|do|else|switch|case|default|const|let|var|class|try)\b)[A-Za-z_*+(-][^;{}]*;"
)
_NAMED = re.compile(rb"(\s*)- name:.*")
_ACTS = re.compile(rb"(\s+)((?:run|uses):.*)")

Lines = Sequence[bytes]


def spelled_alike(path: str, *texts: bytes) -> Sequence[bytes]:
    """Versions of a file with the last one written like the one before it, if it spells the same
    otherwise (all of them in one kind of quotes, if they differ by that); else none."""
    quoted = quoted_alike(path, *texts)
    *before, then, now = quoted or texts
    rewrite = _rewriting(path)
    written = rewrite and b"\n".join(rewrite(then.split(b"\n"), now.split(b"\n")))
    if written is None or written == now:
        return quoted
    return (*before, then, written)


def _rewriting(path: str) -> Callable[[Lines, Lines], Iterator[bytes]] | None:
    kind = family(path)
    if kind is Family.PYTHON:
        return _without_annotations
    if kind is Family.C:
        return _braced_alike
    return _without_step_names if _is_workflow(path) else None


def _is_workflow(path: str) -> bool:
    """Whether GitHub reads a file, in which the name of a step is only shown."""
    file = PurePosixPath(path)
    return path.startswith(".github/workflows/") or file.name in ("action.yml", "action.yaml")


def _without_annotations(then: Lines, now: Lines) -> Iterator[bytes]:
    """Assignments of Python without the annotations that they had not.

    In a class they are kept if it has decorators or bases, which may read them (a dataclass).
    """
    known = frozenset(then)
    for number, line in enumerate(now):
        match = _ANNOTATED.fullmatch(line) if line not in known else None
        plain = b"%s%s = %s" % match.groups() if match else line
        is_same = match and plain in known and match[2] not in KEYWORDS
        yield plain if is_same and _is_unread(now, number) else line


def _is_unread(lines: Lines, number: int) -> bool:
    """Whether nothing reads the annotation of an assignment on a line."""
    indent = column_of(lines[number])
    for at in range(number - 1, -1, -1):
        if indent and lines[at].strip() and column_of(lines[at]) < indent:
            indent = column_of(lines[at])
            if _SCOPE.match(lines[at]):
                above = (each.strip()[:1] for each in reversed(lines[:at]))
                is_decorated = next((b in b"@)" for b in above if b not in (b"", b"#")), False)
                is_class = b"class" in lines[at].split()[:1]
                return not is_class or (
                    not is_decorated and _PLAIN_CLASS.match(lines[at]) is not None
                )
    return True


def _braced_alike(then: Lines, now: Lines) -> Iterator[bytes]:
    """Code of C and its like with braces around a single statement as they were."""
    bare, old = [line.strip() for line in now], [line.strip() for line in then]
    pairs, known = set(pairwise(old)), frozenset(old)
    fresh = set(bare) - known
    if bare.count(b"{") == old.count(b"{") and not any(map(_opens, fresh)):
        yield from now
        return
    braced = {
        (_head(old[at]), old[at + size - 2]) for at in range(len(old)) if (size := _braced(old, at))
    }
    number = 0
    while number < len(now):
        indent = now[number][: column_of(now[number])]
        size = _braced(bare, number)
        head, last = _head(bare[number]), number + (size - 2 if size else 1)
        body = bare[last] if last < len(bare) else b""
        is_braced, is_pair = (head, body) in braced, (head, body) in pairs
        if size and not is_braced and is_pair:
            yield from (indent + head, now[last])
        elif size and not is_braced and b"%s %s" % (head, body) in known:
            yield b"%s%s %s" % (indent, head, body)
        elif bare[number] == head and not size and is_braced and not is_pair:
            yield from (indent + head + b" {", now[last], indent + b"}")
            size = 2
        else:
            yield now[number]
            size = 1
        number += size


def _braced(lines: Lines, at: int) -> int:
    """The number of the (stripped) lines from ``at`` on that are a head, one statement and the
    braces around it; 0 if they are something else."""
    opened = lines[at].endswith(b"{")
    size = 3 if opened else 4
    if at + size > len(lines) or lines[at + size - 1] != b"}":
        return 0
    is_block = opened or lines[at + 1] == b"{"
    is_one = is_block and _opens(lines[at]) and _STATEMENT.fullmatch(lines[at + size - 2])
    return size if is_one else 0


def _head(line: bytes) -> bytes:
    return line.removesuffix(b"{").rstrip()


def _opens(line: bytes) -> bool:
    """Whether a line is the head of a branch or loop."""
    head = _head(line)
    return _HEAD.match(head) is not None and head.count(b"(") == head.count(b")")


def _without_step_names(then: Lines, now: Lines) -> Iterator[bytes]:
    """A workflow without the names of the steps that had none."""
    known, lines = frozenset(then), iter(enumerate(now))
    for number, line in lines:
        named = _NAMED.fullmatch(line) if line not in known else None
        below = _ACTS.fullmatch(now[number + 1]) if named and number + 1 < len(now) else None
        if named and below and below[1] == named[1] + b"  ":
            first = b"%s- %s" % (named[1], below[2])
            if first in known:
                yield first
                next(lines)
                continue
        yield line
