"""Conditions on a tree: ``path-missing P``, ``contains P REGEX``, ``arch TARGET LIBRARY has ARCH``.

They stand in the vendor fields ``X-Retire-When``, ``X-Expect`` and ``X-Verify``.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum

from patchq.errors import InputError, Where
from patchq.model.regex import compile_regex, matches_a_line

_WORD = re.compile(r"""(?:[^\s'"\\]|\\.|'[^']*'|"(?:\\.|[^"\\])*")+""", re.DOTALL)

_SHOWN = 100

ARCH = re.compile(r"(sm|compute)_\d+[af]?")
"""An architecture as nvcc names it."""


class PredicateKind(Enum):
    """What a predicate asks of a tree."""

    PATH_MISSING = "path-missing"
    PATH_EXISTS = "path-exists"
    CONTAINS = "contains"
    LACKS = "lacks"
    GATE = "gate"
    ARCH = "arch"
    ALWAYS = "always"


_OPERANDS = {
    PredicateKind.PATH_MISSING: ("PATH",),
    PredicateKind.PATH_EXISTS: ("PATH",),
    PredicateKind.CONTAINS: ("PATH", "REGEX"),
    PredicateKind.LACKS: ("PATH", "REGEX"),
    PredicateKind.GATE: ("PATH", "FUNCTION", "TARGET", "admits|excludes"),
    PredicateKind.ARCH: ("TARGET", "LIBRARY", "has|only", "ARCH"),
    PredicateKind.ALWAYS: (),
}
_WITHOUT_PATH = (PredicateKind.ARCH, PredicateKind.ALWAYS)


@dataclass(frozen=True)
class Predicate:
    """A condition; ``text`` is how it was written.

    ``operands`` are those of a gate (function, target, and ``admits`` or ``excludes``) or of an
    arch (target, libraries as globs with commas between, ``has`` or ``only``, architecture).
    """

    kind: PredicateKind
    path: str | None
    pattern: bytes | None
    text: str
    operands: tuple[str, ...] = ()

    @property
    def target(self) -> str | None:
        """The target that a gate or an arch names."""
        position = {PredicateKind.GATE: 1, PredicateKind.ARCH: 0}.get(self.kind)
        return None if position is None else self.operands[position]

    def holds_on(self, content: bytes | None) -> bool:
        """Whether it holds where the path has ``content``, None if the path is missing.

        The regex is searched line by line, without the line's ending. A missing file neither
        contains nor lacks anything: a retirement must not come from a file that merely moved.
        """
        match self.kind:
            case PredicateKind.ALWAYS:
                return True
            case PredicateKind.PATH_MISSING:
                return content is None
            case PredicateKind.PATH_EXISTS:
                return content is not None
            case PredicateKind.CONTAINS:
                return content is not None and self._matches(content)
            case PredicateKind.LACKS:
                return content is not None and not self._matches(content)
            case PredicateKind.GATE | PredicateKind.ARCH:
                raise AssertionError("evaluated by patchq.engine.predicates")

    def _matches(self, content: bytes) -> bool:
        assert self.pattern is not None
        return matches_a_line(self.pattern, content)


def parse_predicate(text: str, where: Where | None = None) -> Predicate:
    """Read a predicate.

    Words are quoted as in a shell, except that a REGEX without quotes keeps its backslashes.
    Raises :class:`InputError` that says which part is wrong.
    """
    words = _words(text, where)
    kind = _kind(words[0] if words else "", where)
    expected, operands = _OPERANDS[kind], words[1:]
    usage = " ".join((kind.value, *expected))
    if len(operands) < len(expected):
        missing = expected[len(operands)]
        raise InputError(f"{kind.value} lacks its {missing}", where=where, hint=f"Write: {usage}")
    if len(operands) > len(expected):
        raise InputError(
            f"{kind.value} has words too many: {' '.join(operands[len(expected) :])}",
            where=where,
            hint=_hint_for_extra(kind, usage, operands),
        )
    if kind is PredicateKind.ARCH:
        return Predicate(kind, None, None, text, _arch_operands(operands, usage, where))
    path = _path(operands[0], where) if operands else None
    if kind is PredicateKind.GATE:
        if operands[3] not in ("admits", "excludes"):
            raise InputError(
                f"a gate admits or excludes, not {operands[3]!r}",
                where=where,
                hint=f"Write: {usage}",
            )
        return Predicate(kind, path, None, text, tuple(operands[1:]))
    pattern = _pattern(operands[1], where) if len(operands) > 1 else None
    return Predicate(kind, path, pattern, text)


def path_span(text: str) -> tuple[int, int] | None:
    """Where the path stands in a predicate's text; None for a predicate without one."""
    words = list(_WORD.finditer(text))
    if len(words) < 2 or words[0].group() in [kind.value for kind in _WITHOUT_PATH]:
        return None
    return words[1].span()


def _arch_operands(operands: list[str], usage: str, where: Where | None) -> tuple[str, ...]:
    target, library, relation, arch = (shlex.split(word)[0] for word in operands)
    if relation not in ("has", "only"):
        raise InputError(
            f"a library has an architecture, or only that one; not {relation!r}",
            where=where,
            hint=f"Write: {usage}",
        )
    if not ARCH.fullmatch(arch):
        raise InputError(
            f"{arch!r} is not an architecture",
            where=where,
            hint="It is one such as sm_90a, or compute_90 for PTX.",
        )
    return target, library, relation, arch


def _words(text: str, where: Where | None) -> list[str]:
    if _WORD.sub("", text).strip():
        raise InputError(
            f"unbalanced quotes in {text!r}",
            where=where,
            hint="Quote as in a shell; put a regex that holds quotes in the other kind of quotes.",
        )
    return _WORD.findall(text)


def _kind(word: str, where: Where | None) -> PredicateKind:
    names = [kind.value for kind in PredicateKind]
    if word in names:
        return PredicateKind(word)
    near = get_close_matches(word, names, 1)
    raise InputError(
        f"unknown predicate {word!r}" if word else "empty predicate",
        where=where,
        hint=f"Did you mean {near[0]}?" if near else f"Known are: {', '.join(names)}.",
    )


def _hint_for_extra(kind: PredicateKind, usage: str, operands: list[str]) -> str:
    if len(_OPERANDS[kind]) == 2:
        return f"Quote the regex: {kind.value} {operands[0]} {shlex.quote(' '.join(operands[1:]))}"
    if operands and _OPERANDS[kind]:
        return f"Quote a path with spaces: {kind.value} {shlex.quote(' '.join(operands))}"
    return f"Write: {usage}"


def _path(word: str, where: Where | None) -> str:
    path = shlex.split(word)[0]
    if not path or path.startswith("/") or ".." in path.split("/"):
        raise InputError(
            f"{path!r} is not a path inside the tree",
            where=where,
            hint="Give it from the root of the upstream tree, without a leading slash.",
        )
    return path


def _pattern(word: str, where: Where | None) -> bytes:
    quoted = "'" in word or '"' in word
    pattern = (shlex.split(word)[0] if quoted else word).encode("utf-8", "surrogateescape")
    try:
        compile_regex(pattern)
    except ValueError as error:
        shown = pattern if len(pattern) <= _SHOWN else pattern[:_SHOWN] + b"..."
        raise InputError(
            f"bad regex {shown.decode(errors='replace')!r}: {error}",
            where=where,
            hint="It is a regular expression as RE2 has them, without look-around and "
            "backreferences; escape ( ) [ ] . + * ? to mean themselves.",
        ) from error
    return pattern
