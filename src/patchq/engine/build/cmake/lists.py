"""CMake files as they are laid out: with nothing in them that bypasses the stand-ins.

``cmake_language`` runs text and calls commands by computed names; being a word of the language it
cannot be replaced by a definition. The originals of replaced commands have names with two
underscores. Wherever one of them, or a command of the stand-ins, is called, the name becomes one
that fails, with the file and the line, if that call is reached. Lines stay where they are.
"""

from __future__ import annotations

import re
from functools import cache

REFUSED = "patchq_refused_"

BEHIND = (
    "cmake_language",
    "__cmake_policy",
    "__file",
    "__get_filename_component",
    "__get_property",
    "__include",
    "__set_property",
)
"""The commands that get behind the stand-ins."""

_BEHIND = re.compile("patchq_\\w*|" + "|".join(BEHIND), re.IGNORECASE | re.ASCII)
_CALL = re.compile(rb"(?:%s)[ \t]*\(" % _BEHIND.pattern.encode(), re.IGNORECASE)

# Source/LexerParser/cmListFileLexer.in.l of CMake: the tokens of a file, the longest one first. A
# call is an identifier with a parenthesis behind it, outside of all parentheses.
_PLAIN = rb"""(?:[^ \0\t\r\n()#"\[=\\]|\\[^\0\n])"""
_VARIABLE = rb"\$\(\w*\)"
_LEGACY = rb"(?:%s|%s|\"(?:%s|%s|[ \t\[=])*\")" % (_VARIABLE, _PLAIN, _VARIABLE, _PLAIN)
_TOKEN = re.compile(
    rb"""
    \#?\[(?P<signs>=*)\[ .*? (?:\](?P=signs)\]|\Z)    # bracket argument or comment
    | \#[^\n]*
    | (?:%(variable)s|%(plain)s|=|\[=*%(legacy)s) (?:%(legacy)s|[\[=])*    # word
    | "(?:[^"\\]|\\.)*(?:"|\Z)
    | (?P<parenthesis>[()])
    | .
    """
    % {b"variable": _VARIABLE, b"plain": _PLAIN, b"legacy": _LEGACY},
    re.VERBOSE | re.DOTALL,
)


def harmless(content: bytes) -> bytes:
    """``content`` with each call of a command that bypasses the stand-ins made to fail.

    >>> harmless(b"if(WIN32)\\n  __file (WRITE x)\\nendif() # __file()\\n")
    b'if(WIN32)\\n  patchq_refused___file (WRITE x)\\nendif() # __file()\\n'
    """
    if not _CALL.search(content):
        return content
    parts, depth, done = [], 0, 0
    for token in _TOKEN.finditer(content):
        if parenthesis := token["parenthesis"]:
            depth = depth + 1 if parenthesis == b"(" else max(depth - 1, 0)
        elif depth == 0 and _CALL.match(content, token.start()):
            parts += [content[done : token.start()], REFUSED.encode()]
            done = token.start()
    return b"".join([*parts, content[done:]])


@cache
def gets_behind(command: str) -> bool:
    """Whether a call of ``command`` bypasses the stand-ins.

    What :func:`harmless` made of it only fails.
    """
    return bool(_BEHIND.fullmatch(command)) and not command.startswith(REFUSED)
