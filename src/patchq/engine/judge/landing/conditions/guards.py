"""The conditions that a line is under, as text.

Counting them (``languages/flow.py``) does not show that one became narrower, was negated or is
always false now, that a loop has fewer items, or that an arm matches less.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from patchq.engine.judge.landing.conditions.arms import ALTERNATIVES, ANY_ERROR, arm_at
from patchq.engine.judge.landing.conditions.nesting import column_of
from patchq.engine.languages.live import Part
from patchq.engine.languages.tokens import Family

_BRANCH = re.compile(rb"[}\s]*(?:if|el(?:se\s*)?if|elsif|else|while|until)\b", re.IGNORECASE)
_OTHERWISE = re.compile(rb"[}\s]*el(?:s|if)", re.IGNORECASE)
_GOES_ON_WITH = re.compile(rb"\s*}\s*(?:else|catch)\b")
_GOES_ON = re.compile(rb"(?:&&|\|\||\\|\band|\bor|\bnot)$")
_REMARK = re.compile(rb"(?:\s//|\s#|/\*).*")
_FRAME = re.compile(
    rb"^[}\s]*(?:#\s*)?(?:elif|elseif|else\s*if|elsif|else|if|while|until)\b|(?::|\{|;?\s*then|;?\s*do)$",
    re.IGNORECASE,
)
_AND, _OR = re.compile(rb"\band\b", re.IGNORECASE), re.compile(rb"\bor\b", re.IGNORECASE)
_EQUAL = re.compile(rb"([A-Za-z_]\w*(?:(?:\.|->)\w+)*)==(?:(\"|')([^\"'\\&|]*)\2|(0|[1-9]\d*))")
"""A variable that is compared with a literal, as :func:`_condition` writes it."""
_NOT = b"\0"
"""The prefix of the condition of an earlier branch, which must be false."""
_MOST_LINES = 12
_LOOP = re.compile(
    rb"[}\s]*(?:async\s+)?for(?:each)?\b\s*(?=\(|.*(?:;|\b(?:in|range)\b))", re.IGNORECASE
)
_ITEM = re.compile(
    rb"[^;]*?(?:(?-i:\bIN\s+(?:LISTS|ITEMS))\b|\b(?:in|of)\b|=\s*range\b|(?<!:):(?![:=]))",
    re.IGNORECASE,
)
"""The loop variable, up to the items."""
_SETS = re.compile(rb"(?:[\w:]+[\s&*]+)*([A-Za-z_]\w*)\s*=(?!=)\s*([\w.>-]+)\s*;?")
_COUNTER = re.compile(rb"[^=;]*?(\w+)\s*:?=(?=.*;)")
_ALL_OF = re.compile(rb"(?:\w+\.)*(?:enumerate|tqdm|zip|sorted|reversed|list|tuple|iter)(?=[(])")
_VIEW = re.compile(rb"\.(?:items|keys|values|copy)\(\)\Z")
_EACH = b"\1"
"""The prefix of each item or collection that a loop iterates over."""


class Guards:
    """The conditions in a file; each is parsed once."""

    def __init__(self, lines: Sequence[bytes], kind: Family):
        self._lines = lines
        self._by_words = kind is Family.OTHER
        self._read: dict[Part, frozenset[bytes]] = {}
        self._arms: dict[int, frozenset[bytes]] = {}

    def on(self, number: int, heads: Iterable[int], parts: Iterable[Part]) -> frozenset[bytes]:
        """The conditions that a line is under: those of the lines that enclose it (``heads``), of
        earlier branches of the same statements, and of the preprocessor (``parts``)."""
        begun = {self._begun(number, head) for head in heads}
        every = (*(tuple(_branches(self._lines, head)) for head in begun), *parts)
        arms = (self._on_arm(head) for head in begun)
        return frozenset().union(*map(self._conditions, every), *arms)

    def _begun(self, number: int, head: int) -> int:
        """The line that begins the block around a line: not a ``{`` alone, but its statement; and
        the last branch (``} else {``) before the line if ``head`` begins several."""
        column = column_of(self._lines[head])
        if self._lines[head].strip() == b"{":
            for at in range(head - 1, max(head - _MOST_LINES, 0) - 1, -1):
                if self._lines[at].strip() and column_of(self._lines[at]) <= column:
                    return at if column_of(self._lines[at]) == column else head
        if self._lines[head].rstrip().endswith(b"{"):
            for at in range(number - 1, head, -1):
                if _GOES_ON_WITH.match(self._lines[at]) and column_of(self._lines[at]) == column:
                    return at
        return head

    def _on_arm(self, head: int) -> frozenset[bytes]:
        """The conditions of the arm that a line begins: its subject, its patterns, and those of
        earlier arms, negated."""
        if head not in self._arms:
            arm = arm_at(self._lines, head)
            own = () if arm is None else (arm.subject, ALTERNATIVES.join((b"", *sorted(arm.takes))))
            before = () if arm is None else (_NOT + b"case " + each for each in arm.taken_before)
            self._arms[head] = frozenset((*own, *before))
        return self._arms[head]

    def _conditions(self, branches: Part) -> frozenset[bytes]:
        if branches not in self._read:
            said = [_condition(self._lines, at, by_words=self._by_words) for at in branches]
            before = (each for each in said[1:] if not _is_apart(said[0], each))
            self._read[branches] = frozenset((*said[:1], *(_NOT + each for each in before)))
        return self._read[branches]


def _is_apart(one: bytes, other: bytes) -> bool:
    """Whether two conditions compare the same variable with different literals: if one holds, the
    other cannot, whichever is asked first."""
    sides = [
        {match[1]: match.groups()[2:] for part in parts if (match := _EQUAL.fullmatch(part))}
        for parts in (said.split(b"&&") for said in (one, other) if b"||" not in said)
    ]
    if len(sides) < 2:
        return False
    own, others = sides
    return any(
        own[name] != others[name] and own[name].index(None) == others[name].index(None)
        for name in own.keys() & others.keys()
    )


def is_narrowed(before: frozenset[bytes], now: frozenset[bytes]) -> bool:
    """Whether a condition of ``now`` is neither one of ``before`` nor wider than one of these."""
    gone = before - now
    return any(not any(_is_wider(old, new) for old in gone) for new in now - before)


def _branches(lines: Sequence[bytes], head: int) -> Iterator[int]:
    """The line that begins a branch, and those of the earlier branches of the statement."""
    if not (_BRANCH.match(lines[head]) or _LOOP.match(lines[head])):
        return
    yield head
    column = column_of(lines[head])
    for at in range(head - 1, -1, -1):
        if not _OTHERWISE.match(lines[head]) or _ends(lines[at], column):
            return
        if column_of(lines[at]) == column and _BRANCH.match(lines[at]):
            yield at
            head = at


def _condition(lines: Sequence[bytes], at: int, *, by_words: bool) -> bytes:
    """The text of a condition without spaces, comments, keyword and enclosing brackets."""
    said = b""
    for line in lines[at : at + _MOST_LINES]:
        said = b" ".join((said, _REMARK.sub(b"", line.strip()).strip())).strip()
        if said.count(b"(") <= said.count(b")") and not _GOES_ON.search(said):
            break
    said = _FRAME.sub(b"", _FRAME.sub(b"", said).strip())
    if loop := _LOOP.match(said):
        gone_through = list(_gone_through(said[loop.end() :], by_words=by_words))
        if len(gone_through) == 1 and (named := _value_above(lines, at, gone_through[0])):
            gone_through = list(_collections(b"".join(named.split())))
        return _EACH + _EACH.join(gone_through)
    said = _OR.sub(b"||", _AND.sub(b"&&", said))
    return _unwrapped(b"".join(said.split()).replace(b",)", b")"))


def _value_above(lines: Sequence[bytes], at: int, name: bytes) -> bytes:
    """What the line right above sets a variable to, empty if it does not."""
    if at == 0 or column_of(lines[at - 1]) != column_of(lines[at]):
        return b""
    match = _SETS.fullmatch(_REMARK.sub(b"", lines[at - 1].strip()).strip())
    return match[2] if match and match[1] == name else b""


def _gone_through(said: bytes, *, by_words: bool) -> Iterable[bytes]:
    """What a loop iterates over, without the loop variable: collections, literal items, or the
    head of a counting loop with the counter as ``@``."""
    said = _unwrapped(said.strip())
    if count := _COUNTER.match(said):
        said = re.sub(rb"\b" + count[1] + rb"\b", b"@", said[count.start(1) :])
        return [b"".join(said.split()).replace(b"++@", b"@++")]
    said = _ITEM.sub(b"", said, count=1)
    return said.split() if by_words else _collections(b"".join(said.split()))


def _collections(said: bytes) -> Iterator[bytes]:
    """The collections that an expression iterates over completely, whatever they are passed to."""
    said = _unwrapped(_VIEW.sub(b"", said))
    call = _ALL_OF.match(said)
    if call and _is_one(said[call.end() :]):
        said = said[call.end() + 1 : -1]
    elif said[:1] == b"[" and said.find(b"]") == len(said) - 1:
        said = said[1:-1]
    found = [each for each in _split(said) if each]
    if found == [said] and not call:
        yield said
    else:
        yield from chain.from_iterable(map(_collections, found))


def _split(said: bytes) -> Iterator[bytes]:
    """Split at the commas outside of brackets."""
    depth = start = 0
    for at, sign in enumerate(said):
        depth += (sign in b"([{") - (sign in b")]}")
        if sign == ord(",") and not depth:
            yield said[start:at]
            start = at + 1
    yield said[start:]


def _unwrapped(said: bytes) -> bytes:
    """The text without brackets that enclose all of it."""
    while said[:1] == b"(" and said[-1:] == b")" and _is_one(said):
        said = said[1:-1].strip()
    return said


def _is_one(said: bytes) -> bool:
    """Whether the first bracket is closed by the last character."""
    depth = 0
    for at, sign in enumerate(said):
        depth += {40: 1, 41: -1}.get(sign, 0)
        if not depth:
            return at == len(said) - 1
    return False


def _is_wider(old: bytes, new: bytes) -> bool:
    if old.startswith(_NOT) or new.startswith(_NOT):
        return False
    if old.startswith(_EACH) and new.startswith(_EACH):
        return set(old.split(_EACH)) <= set(new.split(_EACH))
    if old.startswith(ALTERNATIVES) and new.startswith(ALTERNATIVES):
        taken = set(new.split(ALTERNATIVES))
        return ANY_ERROR in taken or set(old.split(ALTERNATIVES)) <= taken
    return new.startswith(old + b"||") or new.endswith(b"||" + old)


def _ends(line: bytes, column: int) -> bool:
    """Whether a line ends a block of that column; a comment or directive (``#``) does not."""
    return bool(line.strip()) and column_of(line) < column and not line.lstrip().startswith(b"#")
