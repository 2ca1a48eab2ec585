"""Conditions of C, C++ and CUDA: preprocessor lines that name a capability macro."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from patchq.engine.languages.conditions import Condition, truth
from patchq.engine.languages.live import DIRECTIVE

_DIRECTIVE = re.compile(DIRECTIVE + rb"(.*)$", re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/|//.*")
_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))")
_SUFFIX = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b")


def macro_conditions(content: bytes, macros: Mapping[str, int]) -> tuple[Condition, ...]:
    """The preprocessor lines that name one of ``macros``, in order.

    A macro that is not among them is unknown, defined or not.
    """
    joined = re.sub(rb"\\\r?\n", b"  ", content)
    found = []
    for match in _DIRECTIVE.finditer(joined):
        text = _COMMENT.sub("", match[2].decode("utf-8", "replace")).strip()
        if macros.keys().isdisjoint(re.findall(r"\w+", text)):
            continue
        word = match[1].decode()
        line = joined.count(b"\n", 0, match.start()) + 1
        shown = f"#{word} {text}"
        found.append(Condition("", line, shown, _directive(word, text, macros), end=line))
    return tuple(found)


def _directive(word: str, text: str, macros: Mapping[str, int]) -> bool | None:
    if word.endswith("def"):
        return not word.endswith("ndef") if text in macros else None
    text = _DEFINED.sub(lambda m: "1" if (m[1] or m[2]) in macros else "__unknown__", text)
    text = _SUFFIX.sub(r"\1", text)
    text = text.replace("&&", " and ").replace("||", " or ")
    text = re.sub(r"!(?!=)", " not ", text)
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return truth(node, {name: ast.Constant(value) for name, value in macros.items()})
