"""What upstream's evaluation may put into a report or a manifest: short, and marked if it was read.

A project can make a target, a flag or a definition of what ``file(READ)`` gave it, which then
stands in no line of its CMake files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import sha256

from patchq.errors import Where
from patchq.model.verification import Build, Flag, Remark

LIMIT = 1000
"""The most characters of one value; only a beginning of a longer one is shown."""

_SHOWN = 200
_SEPARATORS = re.compile(r"""[\s;"'()\[\]]+""")
_MOST_WORDS = 10_000


def bounded(text: str) -> str:
    """``text``, or its beginning, its length and its digest: two long values stay two.

    >>> bounded("x" * 1001)[195:]
    'xxxxx… (1001 characters, sha256 cbe4a2e86e808c9b)'
    """
    if len(text) <= LIMIT:
        return text
    digest = sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
    return f"{text[:_SHOWN]}… ({len(text)} characters, sha256 {digest})"


def bounded_build(build: Build) -> Build:
    """``build`` with no value longer than :data:`LIMIT`."""

    def flags(items: tuple[Flag, ...]) -> tuple[Flag, ...]:
        return tuple(replace(item, text=bounded(item.text)) for item in items)

    def remarks(items: tuple[Remark, ...]) -> tuple[Remark, ...]:
        return tuple(replace(item, text=bounded(item.text)) for item in items)

    return replace(
        build,
        targets=tuple(
            replace(
                target,
                name=bounded(target.name),
                groups=tuple(
                    replace(
                        group,
                        sources=tuple(map(bounded, group.sources)),
                        flags=flags(group.flags),
                        definitions=flags(group.definitions),
                        archs=tuple(map(bounded, group.archs)),
                    )
                    for group in target.groups
                ),
            )
            for target in build.targets
        ),
        fetched=tuple(
            replace(
                item,
                name=bounded(item.name),
                url=bounded(item.url),
                digest=item.digest and bounded(item.digest),
                revision=item.revision and bounded(item.revision),
            )
            for item in build.fetched
        ),
        defaults=tuple((bounded(name), bounded(value)) for name, value in build.defaults),
        problems=remarks(build.problems),
        notes=remarks(build.notes),
    )


def read_marks(build: Build, contents: Mapping[str, str], code: str) -> tuple[Remark, ...]:
    """Remarks on the files that ``file(READ)`` read, and on each value that seems to come of them.

    ``contents`` are those of the files, ``code`` is all of the project's CMake code: a value that
    does not stand there, and has a word of a file in it, came from that file.
    """
    text = "read by the project: what is built depends on its content"
    remarks = [Remark(text, Where(path)) for path in contents]
    for path, content in contents.items():
        words = {word for word in _SEPARATORS.split(content)[:_MOST_WORDS] if word}
        for value, where in _values(build):
            if value not in code and any(word in value for word in words):
                remarks.append(Remark(f"{value}: from what was read of {path}", where))
    return tuple(dict.fromkeys(remarks))


def _values(build: Build) -> Iterator[tuple[str, Where | None]]:
    for target in build.targets:
        yield target.name, target.where
        for group in target.groups:
            yield from ((source, target.where) for source in group.sources)
            yield from ((flag.text, flag.where) for flag in (*group.flags, *group.definitions))
