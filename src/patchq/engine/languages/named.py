"""Where a text defines a name. Many files are asked, so a pattern is tried before a parser."""

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


def definitions(path: str, content: bytes, name: str, kind: Family) -> tuple[str, ...]:
    """The qualified names of the definitions of ``name``, a name of the family ``kind``, in a file.

    ``name`` itself if the file is not parsed or binds it in another way.
    """
    if may_define(path, content, name) is None:
        foreign = family(path) is not kind and _foreign(kind, name).search(content)
        return (name,) if foreign else ()
    shown = outline(path, content)
    if shown is None:
        return (name,)
    found = tuple(each.name for each in shown.definitions if bare(each.name) == name)
    if found or family(path) is Family.C:
        return found or ((name,) if _bound_in_c(name).search(content) else ())
    return (name,)


def binding(name: str) -> re.Pattern[bytes]:
    """A pattern for lines that may bind ``name`` other than by a definition: by an assignment, or
    as a string; not for plain calls and arguments."""
    word = re.escape(name.encode("utf-8", "surrogateescape"))
    return re.compile(
        rb"^[ \t]*(?:\w+[.])*" + word + rb"[ \t]*(?::[^=\n(]*)?=(?!=)|[\"']" + word + rb"[\"']",
        re.MULTILINE,
    )


@cache
def _pattern(kind: Family, name: str) -> re.Pattern[bytes]:
    word = re.escape(name.encode("utf-8", "surrogateescape"))
    pattern = {
        Family.PYTHON: rb"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+%b\b|"
        rb"^%b[ \t]*(?::[^=\n]+)?=[^=]",
        Family.C: rb"\b%b\s*[(<{:]|#[ \t]*define[ \t]+%b\b|\(\s*\*\s*%b\s*\)\s*\(",
        Family.OTHER: rb"(?i:\b(?:function|macro|add_library|add_executable|add_custom_target|set|"
        rb"option)\s*\(\s*)%b\b|^%b[ \t]*(?:\(\)|=|:)",
    }[kind]
    return re.compile(pattern.replace(b"%b", word), re.MULTILINE)


@cache
def _foreign(kind: Family, name: str) -> re.Pattern[bytes]:
    """A pattern for a definition in the syntax of ``kind``, in a text of another language."""
    word = re.escape(name.encode("utf-8", "surrogateescape"))
    pattern = {
        Family.PYTHON: rb"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+%b\b",
        Family.C: rb"^(?:[A-Za-z_][\w \t*&:<>,]*[ \t*&])?%b\s*\([^;{]*\)\s*\{",
        Family.OTHER: rb"(?i:\b(?:function|macro)\s*\(\s*)%b\b",
    }[kind]
    return re.compile(pattern.replace(b"%b", word), re.MULTILINE)


@cache
def _bound_in_c(name: str) -> re.Pattern[bytes]:
    """A pattern for a macro or a pointer to a function."""
    word = re.escape(name.encode("utf-8", "surrogateescape"))
    return re.compile(rb"#[ \t]*define[ \t]+" + word + rb"\b|\(\s*\*\s*" + word + rb"\s*\)\s*\(")
