"""Where a text defines a name: asked of many files, so by a pattern first and a parser last."""

from __future__ import annotations

import re
from functools import cache

from patchq.engine.languages.outline import outline
from patchq.engine.languages.tokens import Family, family

_BEFORE_ARGUMENTS = re.compile(r"<.*", re.DOTALL)
_PARTS = re.compile(r"\.|::")


def bare(name: str) -> str:
    """The last part of a qualified name, without template arguments."""
    return _PARTS.split(_BEFORE_ARGUMENTS.sub("", name))[-1].lstrip("~")


def tail(name: str) -> tuple[str, ...]:
    """The last two parts of a qualified name: those of a method with its class."""
    return tuple(_PARTS.split(_BEFORE_ARGUMENTS.sub("", name))[-2:])


def may_define(path: str, content: bytes, name: str) -> int | None:
    """The (0-based) line that seems to define ``name`` (as :func:`bare` gives it), None if none."""
    match = _pattern(family(path), name).search(content)
    return content.count(b"\n", 0, match.start()) if match else None


def definitions(path: str, content: bytes, name: str) -> tuple[str, ...]:
    """The qualified names under which a file defines ``name``.

    ``name`` itself, for a file that is not read by a parser or that binds it in another way.
    """
    if may_define(path, content, name) is None:
        return ()
    shown = outline(path, content)
    if shown is None:
        return (name,)
    found = tuple(each.name for each in shown.definitions if bare(each.name) == name)
    if found or family(path) is Family.C:
        return found or ((name,) if _macro(name).search(content) else ())
    return (name,)


@cache
def _pattern(kind: Family, name: str) -> re.Pattern[bytes]:
    word = re.escape(name.encode("utf-8", "surrogateescape"))
    pattern = {
        Family.PYTHON: rb"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+%b\b|"
        rb"^%b[ \t]*(?::[^=\n]+)?=[^=]",
        Family.C: rb"\b%b\s*[(<{:]|#[ \t]*define[ \t]+%b\b",
        Family.OTHER: rb"(?i:\b(?:function|macro|add_library|add_executable|add_custom_target|set|"
        rb"option)\s*\(\s*)%b\b|^%b[ \t]*(?:\(\)|=|:)",
    }[kind]
    return re.compile(pattern.replace(b"%b", word), re.MULTILINE)


@cache
def _macro(name: str) -> re.Pattern[bytes]:
    return re.compile(rb"#[ \t]*define[ \t]+" + re.escape(name.encode()) + rb"\b")
