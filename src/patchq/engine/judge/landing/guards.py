"""The conditions that a line stands under, as they are written.

How many there are (``languages/flow.py``) does not tell one that became narrower, was turned round
or is never met any more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from patchq.engine.languages.live import CONDITION

_BRANCH = re.compile(rb"[}\s]*(?:if|el(?:se\s*)?if|elsif|else|while|until)\b", re.IGNORECASE)
_OTHERWISE = re.compile(rb"[}\s]*el(?:s|if)", re.IGNORECASE)
_GOES_ON = re.compile(rb"(?:&&|\|\||\\|\band|\bor|\bnot)$")
_REMARK = re.compile(rb"(?:\s//|\s#|/\*).*")
_FRAME = re.compile(
    rb"^[}\s]*(?:#\s*)?(?:elif|elseif|else\s*if|elsif|if|while|until)\b|(?::|\{|;?\s*then|;?\s*do)$",
    re.IGNORECASE,
)
_AND, _OR = re.compile(rb"\band\b", re.IGNORECASE), re.compile(rb"\bor\b", re.IGNORECASE)
_NOT = b"\0"
"""Before the condition of a branch that was not taken."""
_MOST_LINES = 12


def conditions_on(lines: Sequence[bytes], number: int, heads: Iterable[int]) -> frozenset[bytes]:
    """The conditions on line ``number``: those of its ``heads``, the lines that it stands below,
    and of the branches before these, and those of the preprocessor."""
    found = set[bytes]()
    for branches in (*(_branches(lines, head) for head in heads), *_directives(lines, number)):
        conditions = [_condition(lines, at) for at in branches]
        found.update((*conditions[:1], *(_NOT + condition for condition in conditions[1:])))
    return frozenset(found)


def is_narrowed(before: frozenset[bytes], now: frozenset[bytes]) -> bool:
    """Whether there is a condition now that was not there, nor is one made wider."""
    gone = before - now
    return any(not any(_is_wider(old, new) for old in gone) for new in now - before)


def _branches(lines: Sequence[bytes], head: int) -> Iterator[int]:
    """The line that begins a branch, and those of the branches before it."""
    if not _BRANCH.match(lines[head]):
        return
    yield head
    column = _column(lines[head])
    for at in range(head - 1, -1, -1):
        if not _OTHERWISE.match(lines[head]) or (lines[at].strip() and _column(lines[at]) < column):
            return
        if _column(lines[at]) == column and _BRANCH.match(lines[at]):
            yield at
            head = at


def _directives(lines: Sequence[bytes], number: int) -> Iterator[list[int]]:
    """The directives that begin the part a line is in, and the parts before it, for each of the
    preprocessor's conditions, from the inside out."""
    closed, branches = 0, list[int]()
    for at in range(number - 1, -1, -1):
        match = CONDITION.match(lines[at]) if b"#" in lines[at] else None
        if match is None:
            continue
        begins = match[1].startswith(b"if")
        if match[1] == b"endif" or closed:
            closed += (match[1] == b"endif") - begins
            continue
        branches.append(at)
        if begins:
            yield branches
            branches = []


def _condition(lines: Sequence[bytes], at: int) -> bytes:
    """A condition without spaces, remarks, its keyword, and brackets around all of it."""
    said = b""
    for line in lines[at : at + _MOST_LINES]:
        said = b" ".join((said, _REMARK.sub(b"", line.strip()).strip())).strip()
        if said.count(b"(") <= said.count(b")") and not _GOES_ON.search(said):
            break
    said = _FRAME.sub(b"", _FRAME.sub(b"", said).strip())
    said = _OR.sub(b"||", _AND.sub(b"&&", said))
    said = b"".join(said.split())
    said = said.replace(b",)", b")")
    while said[:1] == b"(" and said[-1:] == b")" and _is_one(said):
        said = said[1:-1]
    return said


def _is_one(said: bytes) -> bool:
    """Whether the first bracket closes with the last."""
    depth = 0
    for at, sign in enumerate(said):
        depth += {40: 1, 41: -1}.get(sign, 0)
        if not depth:
            return at == len(said) - 1
    return False


def _is_wider(old: bytes, new: bytes) -> bool:
    if old.startswith(_NOT) or new.startswith(_NOT):
        return False
    return new.startswith(old + b"||") or new.endswith(b"||" + old)


def _column(line: bytes) -> int:
    return len(line) - len(line.lstrip())
