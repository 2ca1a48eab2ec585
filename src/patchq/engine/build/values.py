"""What upstream's evaluation may put into a report or a manifest: short, and marked if it was read.

A project can make a target, a flag or a definition of what ``file(READ)`` gave it, which then
stands in no line of its CMake files. Places of this machine are shown as variables of CMake.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from patchq.errors import Where
from patchq.model.verification import Build, Flag, Remark

LIMIT = 1000
"""The most characters of one value; only a beginning of a longer one is shown."""

_SHOWN = 200
_SEPARATORS = re.compile(r"""[\s;"'()\[\]]+""")
_MOST_WORDS = 10_000
_PUBLIC = 3  # /usr/share is everybody's


def bounded(text: str) -> str:
    """``text``, or its beginning, its length and its digest: two long values stay two.

    >>> bounded("x" * 1001)[195:]
    'xxxxx… (1001 characters, sha256 cbe4a2e86e808c9b)'
    """
    if len(text) <= LIMIT:
        return text
    digest = sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
    return f"{text[:_SHOWN]}… ({len(text)} characters, sha256 {digest})"


def impersonal(places: Mapping[Path, str]) -> Callable[[str], str]:
    """What shows ``places``, and those above that may be private, by the variables' names.

    >>> shown = impersonal({Path("/home/me/tmp/x/project"): "CMAKE_SOURCE_DIR"})
    >>> shown("-I/home/me/tmp/x/project/include -I/home/me/tmp -I/home")
    '-I${CMAKE_SOURCE_DIR}/include -I${CMAKE_SOURCE_DIR}/../.. -I/home'
    """
    names: dict[str, str] = {}
    for place, variable in places.items():
        up = [place, *(parent for parent in place.parents if len(parent.parts) > _PUBLIC)]
        for steps, above in enumerate(up):
            names.setdefault(str(above), f"${{{variable}}}{'/..' * steps}")
    longest = sorted(names, key=len, reverse=True)
    found = re.compile("|".join(map(re.escape, longest)))
    return lambda text: found.sub(lambda match: names[match[0]], text)


def bounded_build(build: Build, shown: Callable[[str], str], place: str) -> Build:
    """``build`` with texts as they are ``shown``, and none longer than :data:`LIMIT`.

    What still has ``place`` in it, the name of the directory of the evaluation, is a problem.
    """
    found = _shown_build(build, lambda text: bounded(shown(text)))
    told = [
        Remark(f"{value}: depends on the place where it is evaluated", where)
        for value, where in _values(found)
        if place in value
    ]
    found = replace(found, problems=(*found.problems, *dict.fromkeys(told)))
    return _shown_build(found, lambda text: text.replace(place, "…"))


def _shown_build(build: Build, shown: Callable[[str], str]) -> Build:
    def flags(items: tuple[Flag, ...]) -> tuple[Flag, ...]:
        return tuple(replace(item, text=shown(item.text)) for item in items)

    def remarks(items: tuple[Remark, ...]) -> tuple[Remark, ...]:
        return tuple(replace(item, text=shown(item.text)) for item in items)

    return replace(
        build,
        targets=tuple(
            replace(
                target,
                name=shown(target.name),
                groups=tuple(
                    replace(
                        group,
                        sources=tuple(map(shown, group.sources)),
                        flags=flags(group.flags),
                        definitions=flags(group.definitions),
                        archs=tuple(map(shown, group.archs)),
                    )
                    for group in target.groups
                ),
            )
            for target in build.targets
        ),
        fetched=tuple(
            replace(
                item,
                name=shown(item.name),
                url=shown(item.url),
                digest=item.digest and shown(item.digest),
                revision=item.revision and shown(item.revision),
            )
            for item in build.fetched
        ),
        defaults=tuple((shown(name), shown(value)) for name, value in build.defaults),
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
