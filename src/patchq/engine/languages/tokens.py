"""Source as a sequence of tokens, without comments, docstrings, layout and (on request) names.

No parser is needed: any text gives tokens, also a part of a file or an unknown language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from pathlib import PurePosixPath


class Family(Enum):
    """Languages that are tokenized the same way."""

    PYTHON = "python"
    C = "c"  # C, C++, CUDA, Rust, Go, JavaScript: // and /* */
    OTHER = "other"  # CMake, shell, YAML, TOML, prose


_C = (
    ".c .cc .cpp .cxx .cu .cuh .h .hh .hpp .hxx .inc .inl .ipp .m .mm .cl .metal "
    ".l .ll .lex .y .yy .tcc .hip .rs .go .js .jsx .ts .tsx .java .kt .swift .proto .css .scss"
)
_FAMILIES = {
    **dict.fromkeys((".py", ".pyi", ".pyx", ".pxd", ".ipynb"), Family.PYTHON),
    **dict.fromkeys(_C.split(), Family.C),
}

_STRING = rb"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
_TOKEN = rb"[A-Za-z_]\w*|\d[\w.]*|" + _STRING + rb"|[^\s\w]"
_SKIP = {Family.C: rb"//[^\n\\]*(?:\\[\s\S][^\n\\]*)*|/\*(?:[^*]|\*(?!/))*\*/|"}
_PATTERNS = {
    family: re.compile(_SKIP.get(family, rb"#[^\n]*|") + b"(" + _TOKEN + b")") for family in Family
}
_ANY_TOKEN = re.compile(_TOKEN)
C_ASIDE = rb"(?s:" + _SKIP[Family.C] + _STRING + b")"
"""A comment of C, or a string."""
_C_COMMENT = re.compile(C_ASIDE)
_BRACKET = re.compile(rb"#[^\n]*|" + _STRING + rb"|([()\[\]{}])")
_NO_CODE = re.compile(rb"\"(?:\\.|[^\"\\])*\"|//.*|/\*.*?(?:\*/|$)")
NAME, STRING = "i", "s"
"""The shapes of a name and of a string."""
TRIPLE = re.compile(rb"(\"\"\"|''')[\s\S]*?\1")
"""A multi-line string."""
OPENING, CLOSING = frozenset({b"(", b"[", b"{"}), frozenset({b")", b"]", b"}"})
"""Brackets."""
_PREFIX = re.compile(rb"[ \t]*[rRbBuUfF]{0,2}")

KEYWORDS = frozenset(
    b"and as assert async await break case catch class const continue def default del do elif else "
    b"enum except finally for foreach from function global if import in is lambda let macro match "
    b"namespace new nonlocal not operator or pass private public raise return sizeof static struct "
    b"switch template this throw try typedef typename union until using virtual void while with "
    b"yield None True False nullptr true false self cls fi then done esac endif endforeach "
    b"endfunction endmacro endwhile set option list fn pub impl mut func var".split()
)
"""Keywords and common words of all languages: they do not tell one piece of code from another."""


@dataclass(frozen=True)
class Tokens:
    """The tokens of a text, each with its (0-based) line."""

    texts: tuple[bytes, ...]
    lines: tuple[int, ...]

    @cached_property
    def names(self) -> frozenset[bytes]:
        """The names that are no keywords."""
        return frozenset(text for text in self.texts if _is_name(text))

    @cached_property
    def shapes(self) -> str:
        """One character for each token: the same for all names, all numbers, and all strings."""
        return "".join(map(_shape, self.texts))


_PROSE = frozenset(
    [
        "README",
        "CHANGES",
        "CHANGELOG",
        "NEWS",
        "HISTORY",
        "AUTHORS",
        "TODO",
        "INSTALL",
        "LICENSE",
        "COPYING",
    ]
)
_TEMPLATES = frozenset({".in", ".jinja", ".jinja2", ".j2", ".tmpl", ".tpl", ".template", ".mako"})


def family(path: str) -> Family:
    """The family of the file ``path``; a template has that of the file it is made into."""
    file = PurePosixPath(path)
    suffix = PurePosixPath(file.stem).suffix if file.suffix in _TEMPLATES else file.suffix
    return _FAMILIES.get(suffix, Family.OTHER)


def is_template(path: str) -> bool:
    """Whether the file ``path`` is a template for the file of its name without the suffix."""
    return PurePosixPath(path).suffix in _TEMPLATES


def is_prose(path: str) -> bool:
    """Whether the file ``path`` is documentation, which no program reads."""
    file = PurePosixPath(path)
    return file.suffix in (".md", ".mdx", ".rst", ".adoc") or file.stem in _PROSE


def tokenize(kind: Family, text: bytes) -> Tokens:
    """The tokens of ``text``."""
    tokens_in = _PATTERNS[kind].findall
    if kind is Family.PYTHON:
        text = _without_docstrings(text)
    elif kind is Family.C:
        text = _C_COMMENT.sub(_blanked, text)
        tokens_in = _ANY_TOKEN.findall  # what still looks like a comment is in a string
    texts: list[bytes] = []
    lines: list[int] = []
    for number, line in enumerate(text.split(b"\n")):  # no token spans lines
        found = tokens_in(line)
        if found and not found[-1]:
            found.pop()  # a comment
        texts += found
        lines += [number] * len(found)
    return Tokens(tuple(texts), tuple(lines))


def coded_lines(kind: Family, text: bytes) -> list[bytes]:
    """The stripped lines of ``text``, as :func:`tokenize` reads them; empty if without tokens.

    Comments after code on a line of Python are kept.
    """
    if kind is Family.C:
        text = _C_COMMENT.sub(_blanked, text)
        return [line.strip() for line in text.split(b"\n")]
    if kind is Family.PYTHON:
        text = _without_docstrings(text)
    # no token spans lines, and anything but white space begins one
    lines = map(bytes.strip, text.split(b"\n"))
    return [b"" if line[:1] == b"#" else line for line in lines]


def _blanked(match: re.Match[bytes]) -> bytes:
    """A space with the line ends of a comment; a string unchanged."""
    return b" " + b"\n" * match[0].count(b"\n") if match[0][:1] == b"/" else match[0]


def only_code(line: bytes) -> bytes:
    """A line of C without its strings and comments, also one that the next line ends."""
    return _NO_CODE.sub(b"", line)


def brackets(line: bytes) -> Iterator[bytes]:
    """The brackets in a line of Python that are in no string or comment."""
    return filter(None, _BRACKET.findall(line))


def _without_docstrings(text: bytes) -> bytes:
    """``text`` with triple-quoted strings that begin a line blanked, line ends kept."""
    parts: list[bytes] = []
    position = 0
    for match in TRIPLE.finditer(text):
        start = text.rfind(b"\n", 0, match.start()) + 1
        if _PREFIX.fullmatch(text, start, match.start()):
            parts += [text[position : match.start()], b"\n" * match[0].count(b"\n")]
            position = match.end()
    return b"".join([*parts, text[position:]])


_ESCAPE = re.compile(rb"\\[abfnrtv]")
_WORD = re.compile(
    rb"0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]{2,}|[A-Z]{2,}"
)
_SAID_ANYWHERE = frozenset(word.lower() for word in KEYWORDS) | frozenset(
    b"int char str bool float long unsigned auto string dict tuple type null size len value data "
    b"std include define ifdef endif".split()
)
_LEAST_NUMBER = 10
_OF_LANGUAGE = re.compile(
    rb"\b(?:(?:thread|block)Idx|(?:block|grid)Dim|warpSize|__syncthreads|__syncwarp"
    rb"|__(?:device|host|shared|constant|restrict|forceinline|launch_bounds)__)\b"
)
"""What CUDA gives each kernel: it says nothing of what one does, and no other language has it."""
_MATHEMATICS = {
    before + name + after: name
    for name in b"abs max min mod exp log sqrt rsqrt pow sin cos tanh rint round floor ceil".split()
    for before, after in ((b"f", b""), (b"f", b"f"), (b"", b"f"))
}
"""Functions that each language has, in C with a sign of the type (``fmaxf``)."""


def words(text: bytes) -> list[bytes]:
    """The words that make up the names, strings and comments of ``text``, in lower case, and its
    numbers by value; without keywords and small numbers. They are alike in all languages."""
    found: list[bytes] = []
    if b"Idx" in text:
        text = _OF_LANGUAGE.sub(b" ", text)
    for word in _WORD.findall(_ESCAPE.sub(b" ", text)):
        if not word[:1].isdigit():
            found.append(_MATHEMATICS.get(word, word.lower()))
        elif b"." in word:
            found.append(word)
        elif (number := int(word, 16 if word[:2].lower() == b"0x" else 10)) >= _LEAST_NUMBER:
            found.append(b"%d" % number)
    return [word for word in found if word not in _SAID_ANYWHERE]


def _is_name(token: bytes) -> bool:
    first = token[:1]
    return (first.isalpha() or first == b"_") and token not in KEYWORDS


_KEYWORD_SHAPES = {word: chr(number) for number, word in enumerate(sorted(KEYWORDS), 0x100)}


@lru_cache(maxsize=1 << 15)
def _shape(token: bytes) -> str:
    """The shape of a token; empty for an empty token, which stands for a comment."""
    if token in _KEYWORD_SHAPES:
        return _KEYWORD_SHAPES[token]
    if _is_name(token):
        return NAME
    if token[:1].isdigit():
        return "0"
    return STRING if len(token) > 1 else token.decode("latin-1")


def shapes_in(kind: Family, text: bytes) -> str:
    """The shapes of the tokens of ``text``, docstrings included."""
    return "".join(map(_shape, _PATTERNS[kind].findall(text)))


def parameters(tokens: Tokens) -> tuple[bytes, ...]:
    """The tokens of the first list in parentheses, without a first ``self`` or ``cls``."""
    texts = tokens.texts
    first = next((at + 1 for at, text in enumerate(texts) if text == b"("), len(texts))
    depth = 1
    for end in range(first, len(texts)):
        depth += {b"(": 1, b")": -1}.get(texts[end], 0)
        if not depth:
            found = texts[first:end]
            return found[2:] if found[:1] in ((b"self",), (b"cls",)) else found
    return ()


def defines_with(kind: Family, text: bytes, wanted: tuple[bytes, ...]) -> bool:
    """Whether ``text`` has a function with just these :func:`parameters`."""
    before = rb"\0def" if kind is Family.PYTHON else rb"\0[\w*&>]+"
    head = before + rb"\0\w+\0\(\0(?:(?:self|cls)\0,\0)?"
    row = b"\0" + b"\0".join(tokenize(kind, text).texts) + b"\0"
    return bool(re.search(head + re.escape(b"\0".join(wanted)) + rb"\0\)\0[:{-]", row))
