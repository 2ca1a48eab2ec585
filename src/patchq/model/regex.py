"""Regular expressions from files, which anyone may have written: matched in linear time.

They are RE2's (https://github.com/google/re2/wiki/Syntax): Python's own without backreferences and
look-around, which are what makes a pattern hang.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

MOST_BYTES = 2000
"""How long a pattern may be: reading one takes time in proportion to its length squared."""

_SPECIAL = re.compile(rb"[\x21-\x2f:-@\[-^`{-~]")
_WHOLE_TEXT = re.compile(rb"\\[Az]")


def matches_a_line(pattern: bytes, content: bytes) -> bool:
    """Whether ``pattern`` is found in a line of ``content``, without the line's ending."""
    if _WHOLE_TEXT.search(pattern):  # what it means of a line is not what it means of a text
        search = compile_regex(pattern).search
        return any(search(line.removesuffix(b"\r")) for line in content.split(b"\n"))
    text = content.replace(b"\r\n", b"\n").removesuffix(b"\r")
    return compile_regex(b"(?m)" + pattern, in_lines=True).search(text) is not None


def encoded(text: str) -> bytes:
    """Text as it stands in files, other bytes included."""
    return text.encode("utf-8", "surrogateescape")


@lru_cache(maxsize=1024)
def compile_regex(pattern: bytes, *, in_lines: bool = False) -> Any:
    """``pattern`` compiled, for bytes; it has ``search``, ``finditer`` and ``groups`` as in ``re``.

    ``in_lines``: nothing of it matches a newline. Raises ValueError that says what is wrong.
    """
    if len(pattern) > MOST_BYTES:
        raise ValueError(f"it is longer than {MOST_BYTES} bytes")
    re2, options = _re2()
    options.never_nl = in_lines
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise ValueError(text) from error


_WORD_MEMORY = 64 << 20
"""So many bytes may the automaton for the words of a long series take."""


class WordSet:
    """Finds which of many words a text holds, each with no word character beside it.

    Each has to begin and end with a word character. All are looked for at once.
    """

    def __init__(self, words: Iterable[bytes]):
        re2, options = _re2()
        options.max_mem = _WORD_MEMORY
        self._words = tuple(words)
        self._set = re2.Set.SearchSet(options)
        for word in self._words:
            self._set.Add(rb"\b%b\b" % _SPECIAL.sub(rb"\\\g<0>", word))
        self._set.Compile()

    def within(self, text: bytes) -> list[bytes]:
        """The words that ``text`` holds."""
        return [self._words[number] for number in self._set.Match(text) or ()]


def _re2() -> tuple[Any, Any]:
    try:
        import re2  # 20 ms; only where a pattern is used
    except ImportError as error:
        raise ValueError(
            "google-re2 is not installed (it is among patchq's requirements: install them again)"
        ) from error

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # a byte is a character
    options.log_errors = False
    return re2, options
