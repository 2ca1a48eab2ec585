"""The line that encloses each line of a text, by indentation."""

from __future__ import annotations

from collections.abc import Iterable

_OPENS_NOTHING = (b")", b"]", b"}", b"#")


def nesting(lines: Iterable[bytes]) -> tuple[int, ...]:
    """For each line, the number of the line that encloses it: the next above with less indentation.

    -1 if there is none, and for blank lines. A comment (``#``) encloses nothing; a line that begins
    with a closing bracket does not either, but the line that opened the bracket.
    """
    found: list[int] = []
    open_: list[tuple[int, int]] = []  # indentation and number, from the outside in
    for number, line in enumerate(lines):
        if not line.strip():
            found.append(-1)
            continue
        indent = indent_of(line)
        if line.lstrip().startswith(_OPENS_NOTHING):
            around = (at for column, at in reversed(open_) if column < indent)
            found.append(next(around, -1))
            continue
        while open_ and open_[-1][0] >= indent:
            open_.pop()
        found.append(open_[-1][1] if open_ else -1)
        open_.append((indent, number))
    return tuple(found)


def indent_of(line: bytes) -> int:
    """The column at which the key or statement of a line begins; of a list item, after its dash."""
    said = line.lstrip()
    return len(line) - len(said) + (2 if said.startswith(b"- ") else 0)


def column_of(line: bytes) -> int:
    """The column of the first character of a line that is no white space."""
    return len(line) - len(line.lstrip())
