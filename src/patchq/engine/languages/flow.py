"""On how many conditions each line of a text depends.

Braces, indentation and the words that open and close blocks tell it, as people read them. A number
says little by itself; a line that depends on more of them than it did may no longer run.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate

from patchq.engine.languages.live import CONDITION, code_lines
from patchq.engine.languages.tokens import CLOSING, OPENING, Family, brackets, family, tokenize

NEVER = 1_000
"""Added for a line that a jump before it keeps from being reached."""

_DIRECTIVE = re.compile(rb"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_DEFINED = re.compile(rb"[ \t]*#[ \t]*define[ \t]+(\w+)")
_NARROWED = re.compile(rb"\b(?:if|and|when)\b|&&")
_GUARDS = frozenset(
    b"if else for while switch do try catch case default foreach when match select".split()
)
_JUMPS = frozenset(b"return goto break continue throw raise exit abort panic".split())
_GUARD = re.compile(
    rb"[}\s-]*(?:async\s+)?(?:el(?:se\s*)?if|if|else|elsif|for|foreach|while|until|do|with|try|"
    rb"case|switch|match|when|except|catch|finally)\b"
)
_JUMP = re.compile(rb"\s*(?:(?:return|raise|continue|break|exit)\b|sys\.exit\()")
_END = re.compile(rb"\s*(?:[)}]|fi\b|done\b|esac\b|el(?:se|if)\b|;;|end)")
_CLOSERS = {
    b"if": (b"endif", b"fi"),
    b"foreach": (b"endforeach",),
    b"while": (b"endwhile", b"done"),
    b"for": (b"done",),
    b"until": (b"done",),
    b"case": (b"esac",),
    b"function": (b"endfunction",),
    b"macro": (b"endmacro",),
}
_OPENS = re.compile(
    rb"\s*(?:(if|foreach|while|for|until|case)\b|(function|macro)\s*\()(?!.*:$)", re.IGNORECASE
)
_CLOSES = re.compile(
    rb"\s*(?:;;\s*)?(end(?:if|foreach|while|function|macro)|fi|done|esac)\b", re.IGNORECASE
)
_CLOSED = re.compile(rb"[;\s](?:fi|done|esac)\b")
"""A block that begins on this line ends there."""


@lru_cache(maxsize=64)
def conditions(path: str, text: bytes) -> tuple[int, ...]:
    """On how many conditions each line depends: those it stands below, and those that it makes.

    A loop, a handler and a lock count as conditions do. :data:`NEVER` more if it is not reached.
    """
    kind = family(path)
    lines = text.split(b"\n")
    if kind is Family.C:
        below = _by_braces(text)
        parts = _parts(lines)
        below = [one + part for one, part in zip(below, parts, strict=True)]
    else:
        inside = _in_brackets(code_lines(path, text)) if kind is Family.PYTHON else frozenset()
        below = list(_by_indentation(lines, inside))
        if kind is Family.OTHER:
            below = [one + more for one, more in zip(below, _by_words(lines), strict=True)]
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    for match in _NARROWED.finditer(text):
        below[bisect_right(starts, match.start()) - 1] += 1
    return tuple(below)


def _parts(lines: list[bytes]) -> Iterator[int]:
    """How many parts of the preprocessor each line is in, but for the guard of a header."""
    parts: list[bool] = []
    for line, below in zip(lines, [*lines[1:], b""], strict=True):
        match = CONDITION.match(line)
        if match is None:
            yield sum(parts)
            continue
        if match[1] == b"endif":
            del parts[-1:]
        elif match[1].startswith(b"if"):
            defined = _DEFINED.match(below)
            parts.append(defined is None or match[1] != b"ifndef" or defined[1] != match[3])
        yield sum(parts)


@dataclass
class _Block:
    """A pair of brackets that is open: on how many conditions what it holds depends, and what has
    been read of the statement at hand."""

    opened_by: bytes
    guards: int
    is_dead: bool = False
    words: list[bytes] = field(default_factory=list)

    @property
    def guarding(self) -> int:
        """The conditions on what comes next in this statement."""
        return sum(word in _GUARDS for word in self.words)

    @property
    def now(self) -> int:
        """On how many conditions a line depends that begins here."""
        # a line that goes on with a statement depends on how that begins
        return self.guards + self.guarding + bool(self.words) + NEVER * self.is_dead

    def end_statement(self) -> None:
        jumps = bool(self.words) and self.words[0] in _JUMPS
        self.is_dead = self.is_dead or (jumps and self.opened_by in (b"{", b""))
        self.words.clear()

    def end_label(self) -> None:
        """A case or another place that is jumped to."""
        if self.words[:1] in ([b"case"], [b"default"]) or len(self.words) == 1:
            self.is_dead = False
            self.words.clear()


def _by_braces(text: bytes) -> list[int]:
    tokens = tokenize(Family.C, text)
    counts = [0] * (text.count(b"\n") + 1)
    directives = _directives(text)
    open_ = [_Block(b"", 0)]
    last = -1
    for token, line in zip(tokens.texts, tokens.lines, strict=True):
        if line in directives:
            continue
        block = open_[-1]
        if line != last:
            counts[line] = block.now
            last = line
        if token in OPENING:
            open_.append(_Block(token, block.guards + block.guarding, block.is_dead))
        elif token in CLOSING:
            if len(open_) > 1:
                open_.pop()
            if token == b"}":
                open_[-1].words.clear()
            else:
                open_[-1].words.append(token)
        elif token == b";":
            block.end_statement()
        elif token == b",":
            block.words = [word for word in block.words if word in _GUARDS]
        elif token == b":":
            block.end_label()
        else:
            block.words.append(token)
    return counts


def _directives(text: bytes) -> set[int]:
    """The lines of the preprocessor."""
    found: set[int] = set()
    line = position = 0
    for match in _DIRECTIVE.finditer(text):
        line += text.count(b"\n", position, match.start())
        position = match.start()
        found.update(range(line, line + match[0].count(b"\n") + 1))
    return found


def _in_brackets(lines: list[bytes]) -> frozenset[int]:
    """The lines of Python that go on with what a bracket opened."""
    inside: set[int] = set()
    depth, last = 0, -1
    for number, line in enumerate(lines):
        if not line:
            continue
        if depth > 0:
            inside.update(range(last + 1, number + 1))
        last = number
        for bracket in brackets(line):
            depth = max(depth + (1 if bracket in OPENING else -1), 0)
    return frozenset(inside)


def _by_indentation(lines: list[bytes], inside: frozenset[int]) -> Iterator[int]:
    around: list[tuple[int, int]] = []  # indentation of what is open, and how many are by then
    below = 0
    dead: int | None = None
    for number, line in enumerate(lines):
        said = line.strip()
        if not said or said.startswith(b"#") or number in inside:
            yield below
            continue
        indent = len(line) - len(line.lstrip())
        if dead is not None and (indent < dead or _END.match(line)):
            dead = None
        while around and around[-1][0] >= indent:
            around.pop()
        guards = around[-1][1] if around else 0
        below = guards + NEVER * (dead is not None)
        around.append((indent, guards + (_GUARD.match(line) is not None)))
        if dead is None and _JUMP.match(line):
            dead = indent
        yield below


def _by_words(lines: list[bytes]) -> Sequence[int]:
    """The blocks of CMake and of shells, however they are indented; none if they do not match."""
    counts: list[int] = []
    open_: list[bytes] = []
    for line in lines:
        match = _CLOSES.match(line)
        if match and not (open_ and match[1].lower() in _CLOSERS[open_.pop()]):
            return [0] * len(lines)
        counts.append(len(open_))
        if (match := _OPENS.match(line)) and not _CLOSED.search(line):
            open_.append((match[1] or match[2]).lower())
    return counts if not open_ else [0] * len(lines)
