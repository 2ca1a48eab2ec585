"""The number of conditions that each line of a text is under.

It is told by braces, indentation and the words that open and close blocks, without a parser. Only
its change matters: a line that is under more conditions than before may no longer run.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from patchq.engine.languages.cmake_text import NotCMakeError, blocks, is_cmake
from patchq.engine.languages.live import code_lines, parts
from patchq.engine.languages.tokens import CLOSING, OPENING, Family, brackets, family, tokenize
from patchq.recent import kept_for

NEVER = 1_000
"""Added for a line that is not reached because of a jump before it."""

_DIRECTIVE = re.compile(rb"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_NARROWED = re.compile(rb"\b(?:if|and|when)\b|&&")
_GUARDS = frozenset(
    b"if else for while switch do try catch case default foreach when match select".split()
)
_JUMPS = frozenset(b"return goto break continue throw raise exit abort panic".split())
_GUARD = re.compile(
    rb"[}\s-]*(?:async\s+)?(?:el(?:se\s*)?if|if|else|elsif|for|foreach|while|until|do|with|try|"
    rb"case|switch|match|when|except|catch|finally)\b"
)
_JUMP = re.compile(
    rb"\s*(?:(?:return|raise|continue|break|exit)\b(?!.*;;)|sys\.exit\(|exec[ \t]+(?![\d<>{&])\S)"
)
_LATE_JUMP = re.compile(rb"(?!" + _GUARD.pattern + rb")[^&|{}()]*;\s*(?:return|exit)\b(?!.*;;)")
"""A jump after another command on a line of a shell."""
_END = re.compile(rb"\s*(?:[)}]|fi\b|done\b|esac\b|el(?:se|if)\b|;;|end)")
_OTHERWISE = re.compile(rb"\s*(?:el(?:se|if)|elseif)\b|\s*;;", re.IGNORECASE)
_CLOSED_BY = {
    b"if": b"fi",
    b"for": b"done",
    b"while": b"done",
    b"until": b"done",
    b"case": b"esac",
    **dict.fromkeys((b"ifeq", b"ifneq", b"ifdef", b"ifndef"), b"endif"),
}
_WORD = re.compile(
    rb"\s*(?:;;\s*)?(?:(?P<closes>fi|done|esac|endif)\b|"
    rb"(?P<opens>if|for|while|until|case|ifn?eq|ifn?def)\b(?!.*:$)(?!.*[;\s](?:fi|done|esac)\b))"
)
"""A word that opens or closes a block of a shell or of make; a block on one line does not count."""
_SHELLS = re.compile(rb"#![^\n]*\b(?:ba|da|k|z)?sh\b")
_GROUP = re.compile(
    rb"(?:^|(?<=\s))#[^\n]*|\\.|\$?'[^'\n]*'|\"(?:\\.|[^\"\\\n])*\"|(&&|\|\||[;|](?=\s)|[(){}])"
)
"""A comment or string of a shell, or an operator that joins or groups commands."""
_GOES_ON = re.compile(rb"(?:&&|\|\|)\s*\\?\s*\Z")


@kept_for(8 << 20)
def conditions(path: str, text: bytes) -> tuple[int, ...]:
    """The number of conditions that each line is under, including those that it begins itself.

    Loops, handlers and locks count as conditions. :data:`NEVER` is added if a line is not reached.
    """
    kind = family(path)
    lines = text.split(b"\n")
    if kind is Family.C:
        below = _by_braces(text)
        below = [one + len(around) for one, around in zip(below, parts(text), strict=True)]
    else:
        inside = _in_brackets(code_lines(path, text)) if kind is Family.PYTHON else frozenset()
        known = blocks_of(path, text) if kind is Family.OTHER else Blocks()
        below = list(_by_indentation(lines, inside, known))
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    for match in _NARROWED.finditer(text):
        below[bisect_right(starts, match.start()) - 1] += 1
    return tuple(below)


@dataclass
class _Brackets:
    """An open bracket: the number of conditions that its content is under, and what has been read
    of the current statement."""

    opened_by: bytes
    guards: int
    is_dead: bool = False
    words: list[bytes] = field(default_factory=list)

    @property
    def guarding(self) -> int:
        """The number of conditions on the rest of this statement."""
        return sum(word in _GUARDS for word in self.words)

    @property
    def now(self) -> int:
        """The number of conditions that a line which begins here is under."""
        # a continuation line is under the conditions of its statement
        return self.guards + self.guarding + bool(self.words) + NEVER * self.is_dead

    def end_statement(self) -> None:
        jumps = bool(self.words) and self.words[0] in _JUMPS
        self.is_dead = self.is_dead or (jumps and self.opened_by in (b"{", b""))
        self.words.clear()

    def end_label(self) -> None:
        """End a label: a case, or a target of a jump."""
        if self.words[:1] in ([b"case"], [b"default"]) or len(self.words) == 1:
            self.is_dead = False
            self.words.clear()


def _by_braces(text: bytes) -> list[int]:
    tokens = tokenize(Family.C, text)
    counts = [0] * (text.count(b"\n") + 1)
    directives = _directives(text)
    open_ = [_Brackets(b"", 0)]
    last = -1
    for token, line in zip(tokens.texts, tokens.lines, strict=True):
        if line in directives:
            continue
        block = open_[-1]
        if line != last:
            counts[line] = block.now
            last = line
        if token in OPENING:
            called_back = token == b"{" and block.opened_by == b"("
            guards = block.guards + block.guarding + called_back
            open_.append(_Brackets(token, guards, block.is_dead))
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
    """The lines that belong to preprocessor directives."""
    found: set[int] = set()
    line = position = 0
    for match in _DIRECTIVE.finditer(text):
        line += text.count(b"\n", position, match.start())
        position = match.start()
        found.update(range(line, line + match[0].count(b"\n") + 1))
    return found


def _in_brackets(lines: list[bytes]) -> frozenset[int]:
    """The lines of Python that begin inside brackets."""
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


def _by_indentation(lines: list[bytes], inside: frozenset[int], blocks: Blocks) -> Iterator[int]:
    """The number of conditions by indentation, besides those of ``blocks``."""
    depths, guarding = blocks.counts(len(lines))
    around: list[tuple[int, int]] = []  # indentation and number of conditions
    below = 0
    dead: tuple[int, int] | None = None
    for number, line in enumerate(lines):
        said = line.strip()
        if not said or said.startswith(b"#") or number in inside:
            yield below
            continue
        indent, depth = len(line) - len(line.lstrip()), depths[number]
        if dead is not None and (
            depth < dead[1] or (depth and indent < dead[0]) or _OTHERWISE.match(line)
            if blocks.are_all
            else indent < dead[0] or _END.match(line)
        ):
            dead = None
        while around and around[-1][0] >= indent:
            around.pop()
        guards = around[-1][1] if around else 0
        below = guards + NEVER * (dead is not None)
        around.append((indent, guards + (_GUARD.match(line) is not None)))
        if dead is None and (_JUMP.match(line) or (blocks.are_all and _LATE_JUMP.match(line))):
            dead = indent, depth
        yield below + guarding[number]


@dataclass(frozen=True)
class _Block:
    """A block: the lines that open and close it, and whether it is conditional."""

    first: int
    last: int
    guards: bool = True


@dataclass(frozen=True)
class Blocks:
    """The blocks of a text; ``are_all`` says whether no other blocks are told by indentation."""

    found: Sequence[_Block] = ()
    are_all: bool = False

    def counts(self, count: int) -> tuple[list[int], list[int]]:
        """For each of ``count`` lines, the number of blocks and of conditional blocks around it."""
        depths, guarding = [0] * (count + 1), [0] * (count + 1)
        for block in self.found:
            for number in range(block.first + 1, block.last):
                depths[number] += 1
                guarding[number] += block.guards
        return depths, guarding

    def around(self, number: int) -> tuple[int, ...]:
        """The first lines of the blocks around a line."""
        return tuple(sorted(each.first for each in self.found if each.first < number < each.last))

    def end(self, first: int) -> int:
        """The last line of the block that begins on a line; that line if none does."""
        return max((each.last for each in self.found if each.first == first), default=first)


@kept_for(4 << 20)
def blocks_of(path: str, text: bytes) -> Blocks:
    """The blocks of CMake, make and shells; none if opening and closing words do not match."""
    lines = text.split(b"\n")
    if is_cmake(path):
        try:
            found = [each for each in blocks(text) if each.opened.name != "block"]
        except NotCMakeError:
            return Blocks()
        return Blocks([_Block(b.opened.first - 1, b.closed.last - 1) for b in found], are_all=True)
    words = _by_words(lines)
    if words is None or not is_shell(path, text):
        return Blocks(words or ())
    groups = _by_groups(lines)
    return Blocks(words) if groups is None else Blocks([*words, *groups], are_all=True)


def is_shell(path: str, text: bytes) -> bool:
    """Whether a file is a shell script."""
    return path.endswith((".sh", ".bash", ".zsh", ".ksh")) or _SHELLS.match(text) is not None


def _by_words(lines: list[bytes]) -> list[_Block] | None:
    found: list[_Block] = []
    open_: list[tuple[bytes, int]] = []
    for number, line in enumerate(lines):
        match = _WORD.match(line)
        if match and match["opens"]:
            open_.append((match["opens"], number))
        elif match:
            if not open_ or _CLOSED_BY[open_[-1][0]] != match["closes"]:
                return None
            found.append(_Block(open_.pop()[1], number))
    return None if open_ else found


def _by_groups(lines: list[bytes]) -> list[_Block] | None:
    """The groups, subshells and functions of a shell.

    A group is conditional if it follows ``&&`` or ``||``; functions and subshells are taken to be.
    Lists of words and substitutions are no groups of commands.
    """
    found: list[_Block] = []
    open_: list[tuple[bytes, int, bool]] = []
    for number, line in enumerate(lines):
        joined = False
        for match in _GROUP.finditer(line):
            sign = match[1]
            if sign in (b"{", b"("):
                before = line[: match.start()].rstrip()
                is_list = sign == b"(" and line[match.start() - 1 : match.start()] in (b"$", b"=")
                guards = joined or bool(before.endswith(b")")) or (sign == b"(" and not is_list)
                open_.append((sign, number, guards))
            elif sign == b")" and (not open_ or open_[-1][0] != b"("):
                continue  # after a pattern of case
            elif sign in (b"}", b")"):
                if not open_ or open_[-1][0] != {b"}": b"{", b")": b"("}[sign]:
                    return None
                _, first, guards = open_.pop()
                if first < number:
                    found.append(_Block(first, number, guards))
            elif sign:
                joined = sign in (b"&&", b"||")
        if _GOES_ON.search(line):
            found.append(_Block(number, number + 2))
    return None if open_ else found
